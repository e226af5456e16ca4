package unix

import (
	"os"
	"syscall"
)

// ForRanks are the signals that mean nothing to golaunch, and so are passed on to ranks
// by the process of its that gets them.
var ForRanks = []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU}

// RealTime lists the real-time signals that a program of Go can take. The C library has
// the first two for itself, and Go leaves it a third, which is its SIGRTMIN.
func RealTime() (list []os.Signal) {
	const first, last = 35, 64
	for s := syscall.Signal(first); s <= last; s++ {
		list = append(list, s)
	}
	return list
}
