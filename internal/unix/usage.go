package unix

import (
	"time"

	"golang.org/x/sys/unix"
)

// SelfUsage returns the processor time that this process has taken, and the most
// memory that it ever held, in bytes.
func SelfUsage() (cpu time.Duration, memory int64) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0 // cannot be, for this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10 // the kernel counts KiB
}

// Monotonic returns the time on the node's monotonic clock, which all its processes
// share and which nobody sets. Only differences mean anything.
func Monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0 // cannot be, for this clock
	}
	return time.Duration(t.Nano())
}
