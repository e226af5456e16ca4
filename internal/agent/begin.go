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
		j.Ranged()
	}
	a.jobs.begin(j)
	if a.life.end.WardenHere() {
		_ = a.life.warden.OpenJob(n) // a warden that is lost shows otherwise
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
