package jobs

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
)

// owners tells whose a process is.
type owners struct {
	j         *Job
	byPID     map[int]*rank // those that run; see ranks.started
	ownerless []ownerless   // processes of which the warden may have yet to tell
}

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
func (o *owners) withRank(pid int, do func(*rank)) {
	switch id, known, notYet := o.ownerOf(pid); {
	case o.j.end.Killed():
		do(nil)
	case known:
		do(o.j.ranks.of(id.World, id.Rank))
	case notYet && len(o.ownerless) < mostOwnerless:
		o.ownerless = append(o.ownerless, ownerless{pid, do})
	default:
		do(nil)
	}
}

// RankOf finds the local rank that a process is.
func (j *Job) RankOf(pid int) (r job.RankID, is bool) {
	if owner := j.owners.byPID[pid]; owner != nil {
		return owner.id(), true
	}
	return r, false
}

// born goes on with what has waited for word of a process, which is a rank.
func (o *owners) born(pid int) {
	o.j.serving.door.Born(pid)
	o.find(func(of int) bool { return of == pid })
}

// allBorn goes on with what has waited for word of any, as no rank of some world is unborn.
func (o *owners) allBorn() {
	o.j.serving.door.AllBorn()
	o.find(func(int) bool { return true })
}

func (o *owners) find(due func(pid int) bool) {
	waiting := o.ownerless
	o.ownerless = nil
	for _, x := range waiting {
		if due(x.pid) {
			o.withRank(x.pid, x.do)
		} else {
			o.ownerless = append(o.ownerless, x)
		}
	}
}

// ownerOf says which rank of this node a process belongs to, where that can be told;
// notYet, where it may be one of those of which the warden has yet to tell.
func (o *owners) ownerOf(pid int) (r job.RankID, known, notYet bool) {
	owner := o.byPID[proc.Leader(pid, func(pid int) bool { return o.byPID[pid] != nil })]
	if owner != nil {
		return owner.id(), true, false
	}
	for _, w := range o.j.worlds {
		notYet = notYet || w.unborn > 0
	}
	return r, false, notYet
}
