package agent

import (
	"time"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// progress is what this agent tells of a start-up that takes long, if the
// launcher shows it.
type progress struct {
	n     *Agent
	below map[tree.Slot]overlay.Progress // nil unless it is shown
}

// progressDue is the event of the time to tell.
type progressDue struct{}

// watch begins to tell, if somebody wants to know.
func (pr *progress) watch() {
	if pr.n.common.Progress {
		pr.below = map[tree.Slot]overlay.Progress{}
		pr.later()
	}
}

func (pr *progress) later() {
	time.AfterFunc(overlay.ProgressEvery, func() { pr.n.inbox.Put(progressDue{}) })
}

// tell tells the parent how far the subtree is, until all its ranks run.
func (pr *progress) tell() {
	if pr.n.life.end.Leaving() || !pr.n.jobs.some((*jobs.Job).Starts) {
		return
	}
	p := overlay.Progress{Host: job.NoHost}
	if !pr.n.self.Relay() {
		p.Nodes = 1
	}
	p.Merge(pr.n.subtree.Slowest())
	for _, j := range pr.n.jobs.list() {
		j.Progress(&p)
	}
	for _, part := range pr.below {
		p.Merge(part)
	}
	pr.n.up(link.Control, overlay.KindProgress, job.TreeItself, overlay.Encode(p))
	pr.later()
}

// of takes what a child tells.
func (pr *progress) of(slot tree.Slot, part overlay.Progress) {
	if pr.below != nil {
		pr.below[slot] = part
	}
}

// ready notes that everything below a child is up, or dead.
func (pr *progress) ready(slot tree.Slot, r overlay.Ready) {
	pr.of(slot, overlay.Progress{Nodes: len(r.Live), Host: job.NoHost})
}

// started notes that the ranks below a child run, or could not be started.
func (pr *progress) started(slot tree.Slot, s overlay.Started) {
	if part, ok := pr.below[slot]; ok {
		part.Ranks, part.Host = s.Ranks, job.NoHost
		pr.below[slot] = part
	}
}
