package jobs

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// reporting tells the launcher of a job's failures.
type reporting struct {
	j    *Job
	told overlay.Failures
}

// fail reports a failure, unless golaunch has told the ranks to end, which brings
// failures with it.
func (fl *reporting) fail(f job.Failure) {
	if !fl.j.end.Killed() {
		fl.report(f)
	}
}

// report tells the launcher of a failure, which has happened now unless it says
// when.
func (fl *reporting) report(f job.Failure) {
	now := unix.Monotonic()
	if f.Clock == 0 && f.Rank >= 0 {
		f.Clock = now
	}
	if f.Clock > 0 {
		f.Age = max(0, now-f.Clock)
	}
	f.Said, f.Text = now, overlay.Cut(f.Text)
	fl.pass(f)
}

// pass passes a failure on, unless the same was told before.
func (fl *reporting) pass(f job.Failure) {
	f.Age = min(f.Age, overlay.MaxAge)
	if fl.told.First(f) {
		fl.j.node.Up(link.Control, overlay.KindFailure, overlay.Encode(f))
	}
}

// nodeFailed reports what this node can't go on without.
func (fl *reporting) nodeFailed(phase string, err error) {
	fl.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: fl.j.node.Self().Index, Phase: phase, Text: err.Error()})
}
