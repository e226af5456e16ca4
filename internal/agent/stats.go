package agent

import (
	"errors"
	"os"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Phases of an agent, in their order.
const (
	phaseHello   = "agent up"
	phaseRange   = "range received"
	phaseReady   = "subtree up"
	phaseLaunch  = "launch received"
	phaseStarted = "ranks started"
	phaseEnded   = "ranks ended"
)

// stamp notes that a phase is over, if it is one of the first world (nil for what
// is of none).
func (a *Agent) stamp(w *world, phase string) {
	if w != nil && w.id > 0 {
		return
	}
	a.phases = append(a.phases, report.Phase{Name: phase, End: a.now()})
}

// collection is the counters of this subtree on their way to the launcher.
type collection struct {
	gather answers[report.Collected]
	timed  map[tree.Slot]bool // children whose clock is being measured
}

// collect asks the children for their counters and adds this agent's.
func (a *Agent) collect() error {
	if a.collection != nil {
		return errors.New("asked twice for the counters")
	}
	s := &collection{timed: map[tree.Slot]bool{}}
	s.gather.Merge = (*report.Collected).Merge
	s.gather.Expect(1)
	for slot := range a.subtree.Children {
		s.gather.awaits(slot)
		if a.common.Trace {
			s.gather.Expect(1)
			s.timed[slot] = true
			a.subtree.Ping(slot)
		}
	}
	a.collection = s
	a.tellProfiles(func(int) bool { return true }) // before what the launcher waits for
	a.collectedIf(s.gather.Add(a.counted()))
	return nil
}

// collected takes a child's counters.
func (a *Agent) collected(slot tree.Slot, c report.Collected) error {
	if a.collection == nil || !a.collection.gather.owed[slot] {
		return errors.New("counters that nobody asked for")
	}
	c.Below(a.self.Index)
	a.collectedIf(a.collection.gather.take(slot, c))
	return nil
}

// skipCollected does without the counters of a child that was lost.
func (a *Agent) skipCollected(slot tree.Slot) {
	if a.collection != nil {
		a.collectedIf(a.collection.gather.without(slot))
	}
	a.timed(slot)
}

// timed goes on when a child's clock is measured, or never will be.
func (a *Agent) timed(slot tree.Slot) {
	if a.collection != nil && a.collection.timed[slot] {
		delete(a.collection.timed, slot)
		a.collectedIf(a.collection.gather.Skip())
	}
}

func (a *Agent) collectedIf(complete bool) {
	if complete {
		all := a.collection.gather.Value()
		a.subtree.TellClocks(all.Nodes, 1)
		a.up(link.Service, overlay.KindCollected, overlay.Encode(all))
	}
}

// counted is what this agent itself has to report: as much as the launcher has
// wanted from the beginning.
func (a *Agent) counted() report.Collected {
	counters := a.counters()
	own := report.Collected{Levels: []report.Level{report.One(counters)}}
	if !a.common.Entries && !a.common.Trace {
		return own
	}
	own.Nodes = []report.Node{{Host: a.self.Index, Parent: job.NoHost, PID: os.Getpid(), Phases: a.phases, Counters: counters}}
	ranks := a.past.ranks
	for _, w := range a.worlds {
		for _, r := range w.ranks {
			ranks = append(ranks, r.record)
		}
	}
	if a.common.Trace {
		own.Nodes[0].Trace = a.traced(ranks)
	}
	if a.common.Entries {
		own.Ranks = ranks
	}
	return own
}

// past is what is to be reported of worlds that are over.
type past struct {
	ranks    []report.Rank
	counters report.Counters
}

// add takes a world in; records says whether somebody will ask for its ranks.
func (p *past) add(w *world, records bool) {
	if records {
		for _, r := range w.ranks {
			p.ranks = append(p.ranks, r.record)
		}
	}
	countBoard(&p.counters, w)
	p.counters[report.Resident] = 0 // it is let go of
}

// countBoard adds the numbers of a world's board to c.
func countBoard(c *report.Counters, w *world) {
	if w.board == nil {
		return
	}
	s := w.board.Stats()
	c[report.Puts] += s.Puts
	c[report.Gets] += s.Gets
	c[report.Hits] += s.Gets - s.Misses
	c[report.Misses] += s.Misses
	c[report.NotFound] += s.NotFound
	c[report.Evictions] += s.Evictions
	c[report.Resident] += uint64(s.Resident)
}

func (a *Agent) counters() report.Counters {
	c := a.past.counters
	for _, w := range a.worlds {
		countBoard(&c, w)
	}
	for s := range link.NumStreams {
		sent, received := a.parent.Traffic(s)
		down, up := a.subtree.Traffic(s)
		sent.Add(down)
		received.Add(up)
		c.SetStream(int(s), sent, received)
	}
	cpu, memory := unix.SelfUsage()
	c[report.CPU], c[report.Memory] = uint64(cpu.Microseconds()), uint64(memory)
	return c
}

// recordStart notes that a rank runs.
func (a *Agent) recordStart(r *rank, e proc.Started) {
	r.record.PID, r.record.Start = e.PID, e.At
}

// recordEnd notes how a rank ended.
func (a *Agent) recordEnd(r *rank, e proc.Exited) {
	if e.Status.Signaled() {
		r.record.Signal = int(e.Status.Signal())
	} else {
		r.record.ExitCode = e.Status.ExitStatus()
	}
	r.record.User, r.record.System, r.record.MaxRSS = e.Usage.User, e.Usage.System, e.Usage.MaxRSS
	r.record.End = e.At
}

// recordOutcome notes what a rank's end counts as.
func (r *rank) recordOutcome(d overlay.Done) {
	switch {
	case r.record.PID == 0:
		r.record.Outcome = report.NotStarted
	case d.Ended > 0:
		r.record.Outcome = report.Ended
	case d.Failed > 0:
		r.record.Outcome = report.Failed
	default:
		r.record.Outcome = report.Succeeded
	}
}
