package agent

import (
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// progress is what this agent tells of a start-up that takes long, if the
// launcher shows it.
type progress struct {
	below  map[tree.Slot]overlay.Progress // nil unless it is shown
	launch time.Time                      // when it was received
}

// startRanksStep is what a node is at that has not started all its ranks.
const startRanksStep bootstrap.Phase = "start ranks"

// progressDue is the event of the time to tell.
type progressDue struct{}

// watchProgress begins to tell, if somebody wants to know.
func (a *Agent) watchProgress() {
	if a.common.Progress {
		a.progress.below = map[tree.Slot]overlay.Progress{}
		a.progressLater()
	}
}

func (a *Agent) progressLater() {
	time.AfterFunc(overlay.ProgressEvery, func() { a.inbox.Put(progressDue{}) })
}

// tellProgress tells the parent how far the subtree is, until all its ranks run.
func (a *Agent) tellProgress() {
	if a.end.Killed() || a.end.Leaving() || a.first != nil && (!a.first.here() || a.first.started.Done()) {
		return
	}
	p := overlay.Progress{Host: job.NoHost}
	if !a.self.Relay() {
		p.Nodes = 1
	}
	p.Merge(a.subtree.Slowest())
	if w := a.first; w != nil {
		p.Ranks = w.own.Ranks
		if w.unborn > 0 {
			p.Wait(a.self.Index, time.Since(a.progress.launch), startRanksStep)
		}
	}
	for _, part := range a.progress.below {
		p.Merge(part)
	}
	a.up(link.Control, overlay.KindProgress, overlay.Encode(p))
	a.progressLater()
}

// of takes what a child tells.
func (p *progress) of(slot tree.Slot, part overlay.Progress) {
	if p.below != nil {
		p.below[slot] = part
	}
}

// ready notes that everything below a child is up, or dead.
func (p *progress) ready(slot tree.Slot, r overlay.Ready) {
	p.of(slot, overlay.Progress{Nodes: len(r.Live), Host: job.NoHost})
}

// started notes that the ranks below a child run, or could not be started.
func (p *progress) started(w *world, slot tree.Slot, s overlay.Started) {
	if part, ok := p.below[slot]; ok && w.id == 0 {
		part.Ranks, part.Host = s.Ranks, job.NoHost
		p.below[slot] = part
	}
}
