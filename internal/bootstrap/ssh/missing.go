package sshboot

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

const (
	// lookAgain is the time between looks at a connection that nobody answers,
	// but of which it is not sure yet that nobody could have.
	lookAgain = time.Second
	// lateBy is the lateness of a timer from which on it is this machine that
	// is slow.
	lateBy = lookAgain / 2
)

// errUnanswered says that a host did not answer the first packet of a TCP
// connection.
var errUnanswered = errors.New("no answer")

// sockets are those with which one address is dialled: one, unless a name has
// several addresses.
type sockets struct {
	mu  sync.Mutex
	all []syscall.RawConn
}

// add is a net.Dialer's Control.
func (s *sockets) add(_, _ string, c syscall.RawConn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, c)
	return nil
}

// unanswered tells whether the kernel has sent the first packet of every connection at
// least twice and had no answer. The kernel's word counts: answers may not have reached
// us yet on a machine that has much to do.
func (s *sockets) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open, silent := 0, 0
	for _, c := range s.all {
		err := c.Control(func(fd uintptr) {
			if resent, waits := unix.Resent(int(fd)); waits && resent > 0 {
				silent++
			}
		})
		if err == nil {
			open++
		}
	}
	return open > 0 && silent == open
}

// watch calls stop when a connection has been unanswered for limit, or as soon after
// that as it is sure, and returns then or with ctx. After a look that comes late there
// is another: for that long nothing of this machine may have run, such as the part of
// the kernel that takes answers from the network.
func watch(ctx context.Context, limit time.Duration, now func() time.Time, unanswered func() bool, stop func()) {
	for wait := limit; ; wait = lookAgain {
		due := now().Add(wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if now().Sub(due) < lateBy && unanswered() {
			stop()
			return
		}
	}
}
