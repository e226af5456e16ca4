package unix

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Close closes fd. The descriptor is free afterwards even after an error, so there is
// none to handle and no repetition.
func Close(fd int) { _ = unix.Close(fd) }

// CloseOnExec marks fd as not inherited by programs started from here.
func CloseOnExec(fd int) { unix.CloseOnExec(fd) }

// CloseOnExecFrom keeps descriptors from first on from programs started from here:
// those that this process was itself started with, as its starter forgot them, are
// meant.
func CloseOnExecFrom(first int) error {
	if unix.CloseRange(uint(first), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			CloseOnExec(fd)
		}
	}
	return nil
}

// ReadFile is os.ReadFile for the kernel's small files, as in /proc. It does not
// set the runtime's poller up, which a process that waits by other means would
// have for nothing.
func ReadFile(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer Close(fd)
	var text []byte
	for {
		text = slices.Grow(text, 4096)
		n, err := Read(fd, text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		}
	}
}

// errNotRegular is OpenRegular's for a directory, a device, a pipe or a socket.
var errNotRegular = errors.New("not a regular file")

// OpenRegular opens a regular file for reading, relative to dir, which may be a
// symbolic link. It opens no device, and waits for no pipe's other end.
func OpenRegular(dir, name string) (*os.File, error) {
	if !filepath.IsAbs(name) {
		name = dir + "/" + name // not Join, which takes dir's name for where it is
	}
	refuse := func(err error) (*os.File, error) { return nil, &os.PathError{Op: "open", Path: name, Err: err} }
	found, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0) // an open without an effect on the file
	if err != nil {
		return refuse(err)
	}
	defer Close(found)
	var st unix.Stat_t
	switch err := unix.Fstat(found, &st); {
	case err != nil:
		return refuse(err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return refuse(errNotRegular)
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(found), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return refuse(err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// SetNonblock makes reads and writes on fd's open file, which duplicates share,
// return EAGAIN rather than wait.
func SetNonblock(fd int) error {
	if err := unix.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("fcntl: descriptor %d: %w", fd, err)
	}
	return nil
}

// Dup returns another descriptor of fd's open file.
func Dup(fd int) (int, error) {
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("fcntl: duplicate of descriptor %d: %w", fd, err)
	}
	return again, nil
}

// DupTo makes number a descriptor of fd's open file that programs started from here
// inherit. It takes no number that is taken.
func DupTo(fd, number int) error {
	got, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, number)
	if err == nil && got != number {
		Close(got)
		err = unix.EBUSY
	}
	if err != nil {
		return fmt.Errorf("fcntl: duplicate of descriptor %d as %d: %w", fd, number, err)
	}
	return nil
}

// Pipe returns a blocking pipe.
func Pipe() (r, w int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, fmt.Errorf("pipe2: %w", err)
	}
	return p[0], p[1], nil
}

// SetPipeSize has a pipe hold size bytes, or a page if that is more. A pipe of
// one page takes more only when all in it was read.
func SetPipeSize(fd, size int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size); err != nil {
		return fmt.Errorf("fcntl: size of pipe %d: %w", fd, err)
	}
	return nil
}

// Unread returns how many bytes are in a pipe, of which fd is either end.
func Unread(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCINQ) }

// UnreadAtMost returns how many bytes may be in a pipe, or a pseudo-terminal, of which
// fd is the end to read from. A pseudo-terminal tells only of bytes that have come to
// its master: the kernel holds up to 64 KiB on the way there (tty_buffer.c), and 4 KiB
// at it (n_tty.c).
func UnreadAtMost(fd int) (int, error) {
	const held = 64<<10 + 4<<10
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
		return held, nil
	}
	return Unread(fd)
}

// StreamPair returns a pair of connected, blocking stream sockets.
func StreamPair() (a, b int, err error) { return pair(unix.SOCK_STREAM) }

// PacketPair returns a pair of connected, blocking sockets that keep message
// boundaries and report the end of the other side (SOCK_SEQPACKET).
func PacketPair() (a, b int, err error) { return pair(unix.SOCK_SEQPACKET) }

func pair(kind int) (a, b int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("socketpair: %w", err)
	}
	return p[0], p[1], nil
}

// IsPacketSocket reports whether fd is a local socket as PacketPair makes them.
func IsPacketSocket(fd int) bool { return isLocal(fd, unix.SOCK_SEQPACKET) }

// IsStreamSocket reports whether fd is a local socket as StreamPair makes them.
func IsStreamSocket(fd int) bool { return isLocal(fd, unix.SOCK_STREAM) }

func isLocal(fd, want int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != want {
		return false
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	return err == nil && domain == unix.AF_UNIX
}

// EAGAIN says that Read or Write would have to wait.
const EAGAIN = syscall.EAGAIN

// Read reads from fd into p, which must not be empty, and returns io.EOF at the
// end of file. Other errors are bare syscall.Errno values, because EAGAIN, the
// usual one, should cost nothing.
func Read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Write writes to fd as much of p as fits, and returns the number of bytes. Errors are
// bare syscall.Errno values: EAGAIN where nothing fits now, EPIPE where nobody reads
// any more.
func Write(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Write(fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		}
		return n, nil
	}
}
