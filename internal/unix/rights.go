package unix

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// MaxRights is the largest number of descriptors one message can carry
// (unix(7), SCM_MAX_FD).
const MaxRights = 253

// ErrTruncated is returned by RecvRights when a message or its descriptors did
// not arrive whole.
var ErrTruncated = errors.New("message truncated")

// SendRights sends one message, which must not be empty, and with it copies of
// fds, which stay the caller's. It never waits: the error is syscall.EAGAIN
// where the receiver is behind, and syscall.ETOOMANYREFS where this user has too
// many descriptors on the way (both: try again later). The end of the
// receiver is syscall.EPIPE or syscall.ECONNRESET.
func SendRights(sock int, msg []byte, fds []int) error {
	if len(msg) == 0 || len(fds) > MaxRights {
		return fmt.Errorf("sendmsg: %d bytes, %d descriptors: %w", len(msg), len(fds), unix.EINVAL)
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for {
		_, err := unix.SendmsgN(sock, msg, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("sendmsg: %w", err)
		}
		return nil
	}
}

// Rights receives messages with descriptors. Its buffers are reused.
type Rights struct {
	msg []byte
	oob []byte

	// Sender is the process that has sent the last message received, where the kernel
	// was asked for it (PassSender) and this process can see it; else 0.
	Sender int
}

// NewRights returns a receiver of messages of at most size bytes.
func NewRights(size int) *Rights {
	return &Rights{msg: make([]byte, size), oob: make([]byte, unix.CmsgSpace(MaxRights*4)+unix.CmsgSpace(unix.SizeofUcred))}
}

// PassSender has the kernel say with each message received at a local socket which
// process has sent it (SO_PASSCRED).
func PassSender(sock int) error {
	if err := unix.SetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return fmt.Errorf("SO_PASSCRED: %w", err)
	}
	return nil
}

// Recv receives one message and the descriptors that came with it, which are the
// caller's from now on and close-on-exec. The message is valid until the next Recv. It
// never waits: the error is syscall.EAGAIN where there is no message, io.EOF where the
// sender is gone, and ErrTruncated where the message was longer than the buffer or this
// process has no room for the descriptors; descriptors that did arrive are closed then.
// Other programs may send empty messages.
func (r *Rights) Recv(sock int) (msg []byte, fds []int, err error) {
	var n, oobn, flags int
	for {
		n, oobn, flags, _, err = unix.Recvmsg(sock, r.msg, r.oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("recvmsg: %w", err)
	}
	r.Sender = 0
	if oobn > 0 {
		fds, err = r.parse(r.oob[:oobn])
	}
	switch {
	case err != nil:
	case flags&unix.MSG_TRUNC != 0:
		err = fmt.Errorf("recvmsg: more than %d bytes: %w", len(r.msg), ErrTruncated)
	case flags&unix.MSG_CTRUNC != 0:
		err = fmt.Errorf("recvmsg: no room for the descriptors sent (raise the limit of open files): %w", ErrTruncated)
	case n == 0 && len(fds) == 0 && HungUp(sock): // of an empty message recvmsg says the same
		err = io.EOF
	}
	if err != nil {
		for _, fd := range fds {
			Close(fd)
		}
		return nil, nil, err
	}
	return r.msg[:n], fds, nil
}

// parse returns the descriptors of all control messages, those found before an error
// with it, and notes who has sent them.
func (r *Rights) parse(oob []byte) (fds []int, err error) {
	cmsgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("recvmsg: control message: %w", err)
	}
	for i := range cmsgs {
		if who, err := unix.ParseUnixCredentials(&cmsgs[i]); err == nil {
			r.Sender = int(who.Pid)
		}
		if cmsgs[i].Header.Level != unix.SOL_SOCKET || cmsgs[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		got, err := unix.ParseUnixRights(&cmsgs[i])
		if err != nil {
			return fds, fmt.Errorf("recvmsg: descriptors: %w", err)
		}
		fds = append(fds, got...)
	}
	return fds, nil
}
