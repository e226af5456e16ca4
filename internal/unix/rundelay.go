package unix

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// RunDelay returns the time that the calling thread was ready to run so far and did
// not, for want of a processor: its growth during a wait is the delay of the wake-up. A
// caller has to be locked to its thread. ok is false where the kernel does not count
// that, or there is no descriptor to read it.
func RunDelay() (d time.Duration, ok bool) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/schedstat", unix.Gettid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer Close(fd)
	buf := make([]byte, 96)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return 0, false
	}
	// Nanoseconds on a processor, nanoseconds that it waited for one, turns.
	f := bytes.Fields(buf[:n])
	if len(f) < 2 {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(f[1]), 10, 64)
	return time.Duration(ns), err == nil
}
