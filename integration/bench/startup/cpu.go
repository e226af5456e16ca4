package startup

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// cpuTime returns the processor time of everything on the cluster's machines; of the
// whole machine if there is no cgroup v2 to tell.
func (f *field) cpuTime() (time.Duration, error) {
	if d, err := f.CPUTime(); err == nil {
		return d, nil
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return busy(string(stat))
}

// busy returns the busy time of all cores since boot, from /proc/stat.
func busy(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat: unexpected first line %q", line)
	}
	var ticks int64
	for i, word := range fields[1:9] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i != 3 && i != 4 { // idle, iowait
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// settled waits until the remains of a run, sshd's sessions above all, take no more
// processor time, a second at most; and returns the time then.
func (f *field) settled() (time.Duration, error) {
	const pause, quiet = 25 * time.Millisecond, 3 * time.Millisecond
	last, err := f.cpuTime()
	for i := 0; i < 40 && err == nil; i++ {
		time.Sleep(pause) //nolint:forbidigo // it samples
		var now time.Duration
		if now, err = f.cpuTime(); now-last < quiet {
			return now, err
		}
		last = now
	}
	return last, err
}
