package unix

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Call is a connection of TCP that was taken at a listener, and whose its other end is.
type Call struct {
	FD   int            // nonblocking and close-on-exec; its receiver closes it
	Peer netip.AddrPort // the other end
	// UID is the user who owns the other end, or -1 where that can't be seen: it was closed,
	// or is on another machine or in another network namespace.
	UID int
	// Here says that the other end was opened on this machine, by its address: nobody owns it
	// any more, then, if its owner can't be seen.
	Here bool

	own netip.AddrPort // this end
}

const (
	// tableCalls is the number of calls that are taken for one reading of the kernel's
	// table of sockets, which takes milliseconds on a machine with much memory.
	tableCalls = 1024
	// tableRest is the factor by which the listener is left alone longer after that.
	tableRest = 4
	// exhaustedRest is the time that it is left alone when descriptors have run out.
	exhaustedRest = 100 * time.Millisecond
)

// TakeCalls takes the connections that wait at a nonblocking listener of TCP, most of
// them at most, and looks up the callers together: it asks the kernel for each
// (sock_diag(7)), or, where that can't be had, reads the kernel's table once for many
// more of them. There are no calls, and no error, where nobody waits.
//
// The listener is to be left alone for rest: descriptors have run out, of which err tells, or
// the table was read, which takes longer than to call. With calls an error means that
// nobody's owner could be looked up.
func TakeCalls(listener, most int) (calls []Call, rest time.Duration, err error) {
	own, err := localAddr(listener)
	if err != nil {
		return nil, 0, err
	}
	calls, err = appendCalls(nil, listener, own, most)
	if len(calls) == 0 {
		if IsExhausted(err) {
			rest = exhaustedRest
		}
		return nil, rest, err
	}
	if diagOwners(own, calls) == nil {
		return calls, 0, nil
	}
	calls, _ = appendCalls(calls, listener, own, tableCalls) // it takes the others next
	began := time.Now()
	if err = tableOwners(calls); err != nil {
		for i := range calls {
			calls[i].Here = false
		}
	}
	return calls, tableRest * time.Since(began), err
}

// appendCalls takes calls until there are most of them, nobody waits, or half of all
// descriptors have been used, as others need some. The error is that of the next call,
// but for these ends.
func appendCalls(calls []Call, listener int, own netip.AddrPort, most int) ([]Call, error) {
	half := OpenFiles() / 2
	for len(calls) < most {
		fd, peer, err := TryAccept(listener)
		if err == EAGAIN {
			return calls, nil
		}
		if err != nil {
			return calls, fmt.Errorf("take a connection: %w", err)
		}
		c := Call{FD: fd, Peer: peer, UID: -1, own: own}
		if own.Addr().IsUnspecified() {
			if c.own, err = localAddr(fd); err != nil {
				Close(fd)
				return calls, err
			}
		}
		c.Here = peer.Addr().IsLoopback() || peer.Addr().WithZone("") == c.own.Addr().WithZone("")
		calls = append(calls, c)
		if len(calls) >= diagBatch && uint64(fd) >= half {
			break
		}
	}
	return calls, nil
}

// localAddr returns the address of a socket.
func localAddr(fd int) (netip.AddrPort, error) {
	a, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("getsockname: %w", err)
	}
	return addrPort(a), nil
}

// Conn makes a call a net.Conn, without keep-alives. The descriptor is gone in any case.
func (c Call) Conn() (net.Conn, error) {
	f := os.NewFile(uintptr(c.FD), "call")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlive(false) // it may be closed by now, as reading will show
	}
	return conn, nil
}

// Listener is a listener of TCP at which calls are taken many at a time. Close and
// Addr may be called at any time.
type Listener struct {
	file   *os.File
	addr   net.Addr
	closed atomic.Bool
}

// NewListener takes a listener over.
func NewListener(l *net.TCPListener) (*Listener, error) {
	defer func() { _ = l.Close() }() // the file listens from now on
	f, err := l.File()
	if err != nil {
		return nil, err
	}
	return &Listener{file: f, addr: l.Addr()}, nil
}

// Addr returns its address.
func (l *Listener) Addr() net.Addr { return l.addr }

// Close ends listening, and a Take that waits.
func (l *Listener) Close() {
	l.closed.Store(true)
	l.file.Close()
}

// Take waits until somebody calls, and is TakeCalls then. It returns os.ErrClosed once
// the listener is closed.
func (l *Listener) Take(most int) (calls []Call, rest time.Duration, err error) {
	raw, err := l.file.SyscallConn()
	if err == nil {
		ended := raw.Read(func(fd uintptr) bool {
			calls, rest, err = TakeCalls(int(fd), most)
			return len(calls) > 0 || err != nil
		})
		err = cmp.Or(err, ended)
	}
	if len(calls) == 0 && l.closed.Load() {
		return nil, 0, os.ErrClosed
	}
	return calls, rest, err
}

// HungUp says whether the other end of a socket has been closed, or shut for writing:
// nothing more comes than the bytes that wait.
func HungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	for {
		if n, err := unix.Poll(p, 0); err != unix.EINTR {
			return err == nil && n > 0
		}
	}
}

// AwaitInput waits until a connection of TCP has something to read, its end included, or its
// read deadline has passed.
func AwaitInput(c net.Conn) error {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("wait for input: %T is no connection of TCP", c)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err != unix.EAGAIN && err != unix.EINTR
	})
}
