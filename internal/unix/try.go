package unix

import (
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TryRead is Read for a descriptor that is known to be nonblocking. The runtime
// is not told of the system call, which is over at once: where many processes
// share a processor, its bookkeeping costs more than the call.
func TryRead(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
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

// TryWrite is Write for a descriptor that is known to be nonblocking; see
// TryRead.
func TryWrite(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, errno
		}
		return int(n), nil
	}
}

// tryEpollWait is epoll_wait without waiting; see TryRead.
func tryEpollWait(epfd int, events []unix.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
