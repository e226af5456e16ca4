package unix

import (
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TryRecv reads from a socket and never waits: EAGAIN where nothing is there. It does
// not rely on the descriptor being nonblocking, which is an attribute of the open file:
// the giver of the socket may have kept a duplicate, and change it at any time. The
// runtime is not told of the system call, which is over at once: where many processes
// share a processor, its bookkeeping costs more than the call. Otherwise it is as Read.
func TryRecv(sock int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(sock), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		}
		return int(n), nil
	}
}

// TrySend is Write for a socket, and never waits; see TryRecv.
func TrySend(sock int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(sock), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, errno
		}
		return int(n), nil
	}
}

// tryEpollWait is epoll_wait without waiting; see TryRecv.
func tryEpollWait(epfd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
