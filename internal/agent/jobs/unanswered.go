package jobs

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// MPI libraries wait for ever, in silence, for connections between hosts that do not
// reach one another: in MPI_Init, or in the first message. With what else ranks wait in,
// the agent looks at connections that its ranks have begun and nobody answers.

// attempt names such a connection of a rank's.
type attempt struct {
	rank string
	from netip.Addr
	to   netip.AddrPort
}

// mayConnect reports a local rank past its first fence, and so with the addresses of the
// others.
func (s *stalls) mayConnect() bool {
	for _, w := range s.j.worlds {
		if !w.killed && w.connects() && slices.ContainsFunc(w.ranks, func(r *rank) bool { return !r.Exited }) {
			return true
		}
	}
	return false
}

func (w *world) connects() bool { return w.fences > 0 || w.servers.pmix.Fenced() }

// lookForAttempts has them looked for, beside the event loop: it may take a while.
func (s *stalls) lookForAttempts() {
	var pids []int
	for _, w := range s.j.worlds {
		for _, r := range w.ranks {
			if w.connects() && r.PID > 0 && !r.Exited {
				pids = append(pids, r.PID)
			}
		}
	}
	go func() { // ends with the look
		found, err := proc.Attempts(pids)
		if err != nil {
			found = nil
		}
		s.j.node.Post(func() { s.attemptsSeen(found) })
	}()
}

// attemptsSeen counts for how many looks each connection was there, and has the launcher
// told of those that last.
func (s *stalls) attemptsSeen(of map[int][]unix.Attempt) {
	if s.j.end.Killed() || s.j.node.End().Leaving() {
		s.attempts = nil
		return
	}
	ages, due := map[attempt]int{}, false
	for _, w := range s.j.worlds {
		for _, r := range w.ranks {
			for _, c := range of[r.PID] {
				x := attempt{w.named(fmt.Sprintf("rank %d", r.Number)), c.From.Addr(), c.To}
				if _, twice := ages[x]; !twice {
					ages[x] = s.attempts[x] + 1
					due = due || ages[x] == looksToStall+1
				}
			}
		}
	}
	s.attempts = ages
	if due {
		s.tell()
	}
}

// ownAttempts adds to an answer those that last, or all that there are now.
func (s *stalls) ownAttempts(own *overlay.Waits, now bool) {
	for _, x := range slices.SortedFunc(maps.Keys(s.attempts), attempt.compare) {
		if !now && s.attempts[x] <= looksToStall {
			continue
		}
		if own.Attempts == own.Living*overlay.MostAttempts {
			return
		}
		if own.Attempts++; len(own.Unanswered) < overlay.MostExamples {
			own.Unanswered = append(own.Unanswered, overlay.CutWait(fmt.Sprintf("%s on %s, %v to %v", x.rank, s.j.node.Self().Name, x.from, x.to)))
		}
	}
}

func (x attempt) compare(y attempt) int {
	return cmp.Or(cmp.Compare(x.rank, y.rank), x.from.Compare(y.from), x.to.Compare(y.to))
}
