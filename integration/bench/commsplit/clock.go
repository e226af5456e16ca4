package commsplit

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpu returns the processor time of the calling thread so far. Unlike getrusage it is
// up to date to the nanosecond.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // the clock exists since Linux 2.6.12
	}
	return time.Duration(t.Nano())
}

// timed returns the processor time that do takes.
func timed(do func()) time.Duration {
	start := cpu()
	do()
	return cpu() - start
}
