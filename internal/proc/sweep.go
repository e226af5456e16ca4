package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/cgroups"
	"github.com/golaunch/golaunch/internal/unix"
)

const (
	// sweepPause is the time between two scans of the process table.
	sweepPause = 5 * time.Millisecond
	// childRounds bounds the rounds of listing and killing children between them.
	childRounds = 64
)

// SweepOptions say what belongs to a job.
type SweepOptions struct {
	// JobID selects the processes whose environment carries GOLAUNCH_JOB with this value, or
	// with this value, a dot and more: those of the tree's jobs. It must not be empty.
	JobID string
	// Cgroup, if not empty, is a cgroup v2 directory whose processes are ended
	// and which is removed.
	Cgroup string
	// Descendants says that every descendant of this process belongs to the job,
	// except those for which Keep, if not nil, returns true, and theirs. Those
	// that have become this process's own children are reaped.
	Descendants bool
	Keep        func(pid int) bool
}

// Sweep kills (SIGKILL) everything of a job on this host that it can find, until
// two scans in a row find nothing, or ctx ends. It does not touch the process it
// runs in. The error names what is left.
//
// The agent calls it through Warden.Sweep when the warden is lost, and a sweep command
// where both have died. Without a cgroup, a process is missed only if it both cleared
// its environment and is no descendant.
func Sweep(ctx context.Context, o SweepOptions) error {
	if err := checkJobID(o.JobID); err != nil {
		return err
	}
	if o.Cgroup != "" {
		// Absent where the warden had come to removing it.
		if err := killCgroup(o.Cgroup); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("end the processes in %s: %w", o.Cgroup, err)
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var found map[int]bool
	groups := map[string]bool{}
	if o.Cgroup != "" {
		groups[o.Cgroup] = true
	}
	for empty := 0; empty < 2; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("job %s: still running: %s: %w", o.JobID, pidList(found), ctx.Err())
		}
		if o.Descendants {
			unix.KillChildren(childRounds, o.Keep, unix.ReapEach)
		}
		all, err := processes()
		if err != nil {
			return err
		}
		found = o.scan(all)
		for pid := range found {
			if dir := jobCgroup(pid, o.JobID); dir != "" && !groups[dir] {
				groups[dir] = true
				_ = killCgroup(dir) // its members are also killed one by one
			}
		}
		killAll(all, found)
		empty++
		if len(found) > 0 {
			empty = 0
		}
		timer.Reset(sweepPause)
	}
	for dir := range groups {
		if err := removeCgroup(dir); err != nil {
			return fmt.Errorf("job %s: all processes ended, but its cgroup stays: %w", o.JobID, err)
		}
	}
	return nil
}

// scan returns which of all belong to the job and are not dead.
func (o *SweepOptions) scan(all []process) map[int]bool {
	self := os.Getpid()
	found := map[int]bool{}
	if o.Descendants {
		found = descendants(all, self, o.Keep)
	}
	variable := jobVariable + "=" + o.JobID
	for _, p := range all {
		switch {
		case p.dead || p.pid == self:
			delete(found, p.pid)
		case !found[p.pid] && (o.Keep == nil || !o.Keep(p.pid)) && carries(p.pid, variable):
			found[p.pid] = true
		}
	}
	return found
}

// killAll kills the found ones, and their process groups as a whole: a signal to
// a group reaches also a member that is being forked. Groups of this process's
// own session, where strangers may be, are left out.
func killAll(all []process, found map[int]bool) {
	session := unix.Session()
	groups := map[int]bool{}
	for _, p := range all {
		if !found[p.pid] {
			continue
		}
		if p.group > 1 && p.session != session && !groups[p.group] {
			groups[p.group] = true
			_ = syscall.Kill(-p.group, syscall.SIGKILL)
		}
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // ended already, or not permitted: the next scan tells
	}
}

// jobCgroup returns the directory of the cgroup that a warden of the job made
// and that pid is in or below, or "".
func jobCgroup(pid int, jobID string) string {
	member, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	_, dir, err := cgroups.Dir(string(mounts), string(member), "")
	if err != nil {
		return ""
	}
	for ; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if strings.HasPrefix(filepath.Base(dir), cgroupPrefix(jobID)) {
			return dir
		}
	}
	return ""
}

// allCgroups begins the names of all jobs' cgroups.
const allCgroups = "golaunch-job-"

// cgroupPrefix begins the names of one job's cgroups; the warden's pid follows.
func cgroupPrefix(jobID string) string { return allCgroups + jobID + "-" }

// cgroupName is the name of the cgroup that the warden of a job makes.
func cgroupName(jobID string, warden int) string { return cgroupPrefix(jobID) + strconv.Itoa(warden) }

// pidList names some processes for a message.
func pidList(found map[int]bool) string {
	const most = 8
	var list []string
	for pid := range found {
		list = append(list, strconv.Itoa(pid))
	}
	slices.Sort(list)
	if len(list) == 0 {
		return "unknown processes"
	}
	more := ""
	if len(list) > most {
		more = fmt.Sprintf(" and %d more", len(list)-most)
		list = list[:most]
	}
	return "pid " + strings.Join(list, ", ") + more
}

// checkJobID refuses what cannot be a word of an environment, a command line
// and a directory name.
func checkJobID(id string) error {
	ok := id != "" && len(id) <= 64 && strings.IndexFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) < 0
	if !ok {
		return fmt.Errorf("job id %q: want 1 to 64 of letters, digits, '-', '_' and '.'", id)
	}
	return nil
}
