package jobs

import (
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/overlay"
)

// startRanksStep is what a node is at that has not started all its ranks.
const startRanksStep bootstrap.Phase = "start ranks"

// Starts reports whether ranks of the job's start, here or below, have yet to run.
func (j *Job) Starts() bool {
	return !j.end.Killed() && (j.starting == nil || j.starting.here() && !j.starting.started.Done())
}

// Progress adds how far this node's ranks are.
func (j *Job) Progress(p *overlay.Progress) {
	if w := j.starting; w != nil {
		p.Ranks += w.own.Ranks
		if w.unborn > 0 {
			p.Wait(j.node.Self().Index, time.Since(j.launched), startRanksStep)
		}
	}
}
