package client

import (
	"os"
	"syscall"
	"time"
)

// call sends the other end of a new socket to the agent, over the descriptor
// that the ranks of a node share, and with it the first bytes.
func call(shared int, hello []byte) (*os.File, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	defer syscall.Close(pair[1])
	for {
		err = syscall.Sendmsg(shared, hello, syscall.UnixRights(pair[1]), nil, syscall.MSG_NOSIGNAL)
		switch err {
		case nil:
			return os.NewFile(uintptr(pair[0]), "golaunch"), nil
		case syscall.EINTR:
		case syscall.EAGAIN, syscall.ETOOMANYREFS: // others call, too
			time.Sleep(time.Millisecond) //nolint:forbidigo // the kernel tells nobody when there is room
		default:
			syscall.Close(pair[0])
			return nil, os.NewSyscallError("sendmsg", err)
		}
	}
}
