package proc

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	ownunix "github.com/golaunch/golaunch/internal/unix"
)

// limit sets the warden's own limits, which ranks inherit; the launcher, a program of the
// same kind, lived with them. The user is told once of those that are lower than the
// launcher's: always of what programs come up against, else with -v. A lower hard limit alone
// changes nothing for most programs.
func (s *spawner) limit(j *wardenJob, limits []Rlimit, out *outbox) {
	var lower [2][]string // by level
	for _, want := range limits {
		got, err := ownunix.SetRlimit(want)
		switch {
		case err != nil:
			out.add(wireEvent{Kind: evNote, Job: j.number, Text: fmt.Sprintf("ranks run with this host's limit: %v", err)})
		case got.Cur < want.Cur:
			level := 1
			if matters(got) {
				level = 0
			}
			lower[level] = append(lower[level], fmt.Sprintf("%s %s of %s", ownunix.ResourceName(got.Resource), amount(got.Cur), amount(want.Cur)))
		}
	}
	for level, each := range lower {
		text := strings.Join(each, ", ")
		if text != "" && text != j.told[level] {
			out.add(wireEvent{Kind: evNote, Job: j.number, Code: level, Text: "ranks get " + text + ": this host's hard limits are lower than golaunch's"})
			j.told[level] = text
		}
	}
}

// fewFiles are open files with which programs run into the limit: below what systems give
// every login.
const fewFiles = 1024

// matters tells whether programs come up against a limit that is lower than the
// launcher's: not against one for what few use, as real-time priorities.
func matters(l Rlimit) bool {
	switch l.Resource {
	case unix.RLIMIT_AS, unix.RLIMIT_CPU, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_NPROC, unix.RLIMIT_STACK:
		return true
	case unix.RLIMIT_NOFILE:
		return l.Cur < fewFiles
	case unix.RLIMIT_MEMLOCK: // adapters for RDMA need it
		adapters, err := os.ReadDir("/sys/class/infiniband")
		return err == nil && len(adapters) > 0
	}
	return false
}

// amount is a limit as ulimit shows it.
func amount(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
