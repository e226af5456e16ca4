package jobs

import (
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/overlay"
)

// startRanksStep is what a node is at that has not started all its ranks.
const startRanksStep bootstrap.Phase = "start ranks"

// Started reports whether all ranks of the job's start run here and below, or never will.
func (j *Job) Started() bool {
	return j.starting != nil && (!j.starting.here() || j.starting.started.Done())
}

// Progress adds how far this node's ranks are.
func (j *Job) Progress(p *overlay.Progress) {
	if w := j.starting; w != nil {
		p.Ranks = w.own.Ranks
		if w.unborn > 0 {
			p.Wait(j.node.Self().Index, time.Since(j.launched), startRanksStep)
		}
	}
}
