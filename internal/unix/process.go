package unix

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Subreaper makes orphaned descendants of this process its children, instead of
// init's, for the rest of its life (PR_SET_CHILD_SUBREAPER, Linux 3.4).
func Subreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: become a subreaper: %w", err)
	}
	return nil
}

// HeedSignals undoes that the starter of this process ignores SIGHUP, SIGINT and the
// signals of job control. The runtime leaves those as they are unless it is to catch
// them, and programs started from here would ignore them, too: all others are as at
// first there. It is for processes that catch none of the five.
func HeedSignals() error {
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		var action [4]uint64 // the kernel's struct sigaction, all of it 0: SIG_DFL
		const maskSize = 8
		if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0); errno != 0 {
			return fmt.Errorf("sigaction: %v: %w", sig, errno)
		}
	}
	return nil
}

// Raise has a signal that nobody catches act on this process before it returns: one that
// stops has stopped it then, and SIGCONT let it go on.
func Raise(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), sig) // to oneself it does not fail
}

// Umask returns this process's file mode creation mask. There is no call that
// only reads it, so it is cleared for an instant: call it before other
// goroutines create files.
func Umask() int {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	return mask
}

// SetUmask replaces the file mode creation mask.
func SetUmask(mask int) { unix.Umask(mask) }

// Executable reports whether this process may execute the file, relative to
// the working directory, with its effective ids. A nil error does not promise
// that it has a format the kernel knows.
func Executable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// MayWrite reports whether this process may write to the file, or in the directory,
// with its effective ids.
func MayWrite(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
}

// Reap collects one child that has ended, of any if pid is -1, without waiting.
// It returns pid 0 where none has ended, and syscall.ECHILD where there is no
// child at all. Only the owner of all children may pass -1.
func Reap(pid int) (int, syscall.WaitStatus, syscall.Rusage, error) {
	var ws syscall.WaitStatus
	var ru syscall.Rusage
	for {
		got, err := syscall.Wait4(pid, &ws, syscall.WNOHANG, &ru)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, 0, syscall.Rusage{}, fmt.Errorf("wait4: %w", err)
		}
		return got, ws, ru, nil
	}
}

// Session returns the session that this process belongs to.
func Session() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return -1 // cannot happen: the calling process exists
	}
	return sid
}

// Foreground reports whether this process may read from f: always, unless f is
// the terminal that controls its session and another process group has it.
func Foreground(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return true
	}
	group, own := 0, unix.Getpgrp()
	err = conn.Control(func(fd uintptr) {
		if group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err != nil {
			group = own // no terminal, or not ours
		}
	})
	return err != nil || group == own
}

// OwnsTerminal reports whether this process belongs to the foreground of the terminal
// that controls its session, to which typed input goes.
func OwnsTerminal() bool {
	f, err := openTerminal()
	if err != nil {
		return false // there is none
	}
	defer f.Close()
	return Foreground(f)
}

// HasTerminal reports whether a terminal controls this process's session.
func HasTerminal() bool {
	f, err := openTerminal()
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// openTerminal opens the terminal that controls this process's session.
func openTerminal() (*os.File, error) {
	return os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	yes := false
	err = conn.Control(func(fd uintptr) {
		_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		yes = err == nil
	})
	return err == nil && yes
}

// Columns returns the width of the terminal f, in characters; 0 where it is unknown.
func Columns(f *os.File) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	columns := 0
	_ = conn.Control(func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			columns = int(size.Col)
		}
	})
	return columns
}

// Writable reports whether f takes bytes now: a terminal that the user has
// stopped does not.
func Writable(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	ready := 0
	_ = conn.Control(func(fd uintptr) {
		ready, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 0)
	})
	return ready > 0
}

// PeerPID returns the process that made the other end of a local socket, or its pair;
// 0 if that is not known.
func PeerPID(fd int) int {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(c.Pid)
}
