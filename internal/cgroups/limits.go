package cgroups

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/unix"
)

// Limits are the limits that a process shares with all others in its cgroups: the
// least that any of them does. 0 is no limit.
type Limits struct {
	Memory    uint64  `json:"memory"`    // bytes
	Processes uint64  `json:"processes"` // threads, too
	CPUs      float64 `json:"cpus"`
}

// Own returns those of this process, as far as they can be read: of what is above
// its container's cgroup a container shows nothing.
func Own() Limits {
	mounts, err := unix.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Limits{}
	}
	member, err := unix.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Limits{}
	}
	return limits(string(mounts), string(member))
}

// limits is Own, given the texts of /proc/self/mountinfo and
// /proc/self/cgroup. The kernel has each controller in one of the versions.
func limits(mountinfo, member string) Limits {
	least := func(limit float64, at func(dir string) float64, controllers ...string) float64 {
		for _, controller := range controllers {
			point, dir, err := Dir(mountinfo, member, controller)
			if err != nil {
				continue
			}
			for ; Within(dir, point); dir = filepath.Dir(dir) {
				limit = min(limit, at(dir))
				if dir == point {
					break
				}
			}
		}
		return limit
	}
	none := math.Inf(1)
	l := Limits{
		Memory: wholeLimit(least(none, func(dir string) float64 {
			return min(wordOf(dir, "memory.max", 0), wordOf(dir, "memory.limit_in_bytes", 0))
		}, "", "memory")),
		Processes: wholeLimit(least(none, func(dir string) float64 { return wordOf(dir, "pids.max", 0) }, "", "pids")),
	}
	cpus := least(none, func(dir string) float64 {
		return min(share(wordOf(dir, "cpu.max", 0), wordOf(dir, "cpu.max", 1)), share(wordOf(dir, "cpu.cfs_quota_us", 0), wordOf(dir, "cpu.cfs_period_us", 0)))
	}, "", "cpu")
	if !math.IsInf(cpus, 1) {
		l.CPUs = cpus
	}
	return l
}

// wholeLimit returns a limit as a number of things; 0 where there is none.
func wholeLimit(limit float64) uint64 {
	const most = 1 << 62 // version 1 has this and more for none
	if limit >= most {
		return 0
	}
	return uint64(limit)
}

// share converts a quota of time in each period to CPUs; infinite where either is.
func share(quota, period float64) float64 {
	if math.IsInf(period, 1) || period == 0 {
		return math.Inf(1)
	}
	return quota / period
}

// wordOf returns a word of a file of a cgroup, by its place, as a number; infinite
// where it is none, as "max" of version 2 and the -1 of version 1.
func wordOf(dir, file string, at int) float64 {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if words := strings.Fields(string(text)); err == nil && at < len(words) {
		if n, err := strconv.ParseUint(words[at], 10, 64); err == nil {
			return float64(n)
		}
	}
	return math.Inf(1)
}
