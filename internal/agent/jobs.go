package agent

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// begin makes a job of the node.
func (a *Agent) begin(n job.Number) (*jobs.Job, error) {
	j, err := jobs.New(ofJob{a, n}, n, &a.door)
	if err != nil {
		return nil, fmt.Errorf("begin job %d: %w", n, err)
	}
	if a.subtree != nil {
		a.subtree.Worlds.KnowJob(n)
		j.Ranged()
	}
	a.jobs.begin(j)
	if a.life.end.WardenHere() {
		_ = a.life.warden.OpenJob(n) // a warden that is lost shows otherwise
	}
	if a.life.bereft != nil {
		j.NodeLost(a.life.bereft)
	}
	return j, nil
}

// jobOf finds the job that a message of the parent is about, and begins it with the first one:
// streams overtake each other, so that this need not be its launch, nor come in the order of
// numbers. It returns nil for a job that is over, and for one that cannot begin, of which the
// launcher is told.
func (a *Agent) jobOf(n job.Number) *jobs.Job {
	if j := a.jobs.find(n); j != nil || a.jobs.over(n) {
		return j
	}
	j, err := a.begin(n)
	if err != nil {
		a.jobs.end(n)
		a.up(link.Control, overlay.KindFailure, n, overlay.Encode(job.Failure{
			Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: "start", Text: overlay.Cut(err.Error()), Said: unix.Monotonic(),
		}))
		return nil
	}
	return j
}

// jobOver ends a job here and below: all its ranks have ended, or are of no use to anybody.
// It is forgotten when the warden has told that nothing is left of it.
func (a *Agent) jobOver(n job.Number) {
	if a.jobs.over(n) {
		return
	}
	a.subtree.Broadcast(link.KVS, overlay.KindJobOver, n, nil)
	j := a.jobs.find(n)
	a.jobs.end(n)
	a.subtree.Worlds.ForgetJob(n)
	a.life.tearDown.forget(n)
	if j == nil {
		return
	}
	j.Do(j.End().KillOrdered(&a.life.end, 0))
	if a.life.end.WardenHere() {
		if err := a.life.warden.CloseJob(n); err != nil {
			a.life.wardenLost(err)
		}
		return
	}
	a.forget(j)
}

// forget lets go of a job that is over, once.
func (a *Agent) forget(j *jobs.Job) {
	if a.jobs.here(j.Number()) == nil {
		return
	}
	a.jobs.forget(j.Number())
	a.life.timers.forget(j.Number())
	delete(a.machine.files, j.Number())
	j.Leave()
	j.Close()
	a.disposals.Go(func() { // ends with the link to the parent, at the latest
		j.RemoveScratch() // where the warden has not
		j.Dispose()
	})
}
