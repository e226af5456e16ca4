package agent

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
)

// ownerless is one who wants to know which rank a process belongs to, of which the warden may
// have yet to tell.
type ownerless struct {
	pid int
	do  func(*rank)
}

// mostOwnerless bounds how many wait: more than processes begin MPI at a time.
const mostOwnerless = 64 << 10

// withRank hands do the rank that a process belongs to, once that is known; nil for none, and
// where the job ends.
func (a *Agent) withRank(pid int, do func(*rank)) {
	switch id, known, notYet := a.ownerOf(pid); {
	case a.end.Killed():
		do(nil)
	case known:
		do(a.rankOf(id.World, id.Rank))
	case notYet && len(a.ownerless) < mostOwnerless:
		a.ownerless = append(a.ownerless, ownerless{pid, do})
	default:
		do(nil)
	}
}

// born goes on with what has waited for word of a process, which is a rank.
func (a *Agent) born(pid int) {
	a.door.Born(pid)
	a.findOwners(func(of int) bool { return of == pid })
}

// allBorn goes on with what has waited for word of any, as no rank of some world is unborn.
func (a *Agent) allBorn() {
	a.door.AllBorn()
	a.findOwners(func(int) bool { return true })
}

func (a *Agent) findOwners(due func(pid int) bool) {
	waiting := a.ownerless
	a.ownerless = nil
	for _, x := range waiting {
		if due(x.pid) {
			a.withRank(x.pid, x.do)
		} else {
			a.ownerless = append(a.ownerless, x)
		}
	}
}

// ownerOf says which rank of this node a process belongs to, where that can be told;
// notYet, where it may be one of those of which the warden has yet to tell.
func (a *Agent) ownerOf(pid int) (r job.RankID, known, notYet bool) {
	owner := a.byPID[proc.Leader(pid, func(pid int) bool { return a.byPID[pid] != nil })]
	if owner != nil {
		return owner.id(), true, false
	}
	for _, w := range a.worlds {
		notYet = notYet || w.unborn > 0
	}
	return r, false, notYet
}
