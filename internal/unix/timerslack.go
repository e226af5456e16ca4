package unix

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CoarseTimers is the timer slack (how late the kernel may end a sleep) of processes
// for which a millisecond does not matter. As long as anything runs in a Go process,
// one thread of the runtime's sleeps for 20 microseconds at a time to look after the
// others. The kernel adds 50 to each sleep by default; on nodes that are virtual
// machines the interrupts that end them are a fifth of a short-lived process's cost.
// That thread is started before anything of ours, so that a slack can only be
// inherited.
const CoarseTimers = time.Millisecond

// DefaultTimerSlack returns the timer slack that this process was forked with. Only the
// process's first thread knows it: call it from an init function, which that thread
// runs.
func DefaultTimerSlack() time.Duration {
	now, err := timerSlack()
	if err != nil {
		return 0 // before Linux 2.6.28
	}
	_ = SetTimerSlack(0)
	slack, _ := timerSlack()
	_ = SetTimerSlack(now)
	return slack
}

func timerSlack() (time.Duration, error) {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return time.Duration(slack), err
}

// SetTimerSlack sets the timer slack of the calling thread, which threads and processes
// made by it inherit; 0 restores its first one.
func SetTimerSlack(slack time.Duration) error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		return fmt.Errorf("prctl: timer slack %v: %w", slack, err)
	}
	return nil
}
