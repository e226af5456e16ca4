package jobs

import (
	"time"

	"github.com/golaunch/golaunch/internal/report"
)

// tracing is what only --trace wants to know, beside what is kept anyway.
type tracing struct {
	files      report.Step
	fences     []report.Fence
	fencesLeft int
}

// fenceEntered notes that a local rank has entered a fence.
func (ac *accounts) fenceEntered(w *world) {
	if !ac.j.node.Common().Trace {
		return
	}
	w.fence.Last = ac.j.node.Now()
	if w.fence.First.IsZero() {
		w.fence.First = w.fence.Last
	}
}

// fenceReleased notes that a fence is complete.
func (ac *accounts) fenceReleased(w *world) {
	if !ac.j.node.Common().Trace {
		return
	}
	w.fence.Number++
	f := w.fence
	w.fence.First = time.Time{}
	if len(ac.tracing.fences) == report.MaxFences {
		ac.tracing.fencesLeft++
		return
	}
	f.World, f.Released = w.id, ac.j.node.Now()
	ac.tracing.fences = append(ac.tracing.fences, f)
}

// traced is what --trace gets of this node.
func (ac *accounts) traced() *report.NodeTrace {
	t := &report.NodeTrace{
		Begin: ac.j.node.Startup().Begun, Starts: ac.j.node.Subtree().Starts(),
		Fences: ac.tracing.fences, FencesLeft: ac.tracing.fencesLeft,
	}
	step := func(s report.Step, track, name string) {
		if !s.Begin.IsZero() && !s.End.IsZero() {
			s.Track, s.Name = track, name
			t.Steps = append(t.Steps, s)
		}
	}
	step(ac.j.node.Startup().Warden, report.TrackWarden, "start warden")
	step(ac.tracing.files, report.TrackFiles, "receive files")
	var spawned, ended report.Step
	for _, w := range ac.j.worlds {
		if w.spawned { // whenever that was
			continue
		}
		for _, r := range w.ranks {
			include(&spawned, r.record.Start)
			include(&ended, r.record.End)
		}
	}
	step(spawned, report.TrackSpawn, "spawn ranks")
	step(ended, report.TrackExit, "exits")
	return t
}

// include widens a step to a moment, if that has come.
func include(s *report.Step, at time.Time) {
	if at.IsZero() {
		return
	}
	if s.Count++; s.Begin.IsZero() || at.Before(s.Begin) {
		s.Begin = at
	}
	if at.After(s.End) {
		s.End = at
	}
}
