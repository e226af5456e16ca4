package jobs

import (
	"errors"
	"os"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Phases of a job on a node, in their order.
const (
	phaseLaunch  = "launch received"
	phaseStarted = "ranks started"
	phaseEnded   = "ranks ended"
)

// accounts is what a job is to report at its end.
type accounts struct {
	j          *Job
	phases     []report.Phase // from the launch on
	tracing    tracing
	past       past        // what is to be reported of worlds that are over
	collection *collection // from the launcher's question on
}

// stamp notes that a phase is over, of no spawned world.
func (ac *accounts) stamp(w *world, phase string) {
	if !w.spawned {
		ac.add(phase)
	}
}

// add notes that a phase of the job is over.
func (ac *accounts) add(phase string) {
	ac.phases = append(ac.phases, report.Phase{Name: phase, End: ac.j.node.Now()})
}

// collection is the counters of this subtree on their way to the launcher.
type collection struct {
	gather answers[report.Collected]
	timed  map[tree.Slot]bool // children whose clock is being measured
}

// collect asks the children for their counters and adds this agent's.
func (ac *accounts) collect() error {
	if ac.collection != nil {
		return errors.New("asked twice for the counters")
	}
	s := &collection{timed: map[tree.Slot]bool{}}
	s.gather.Merge = (*report.Collected).Merge
	s.gather.Expect(1)
	for slot := range ac.j.node.Subtree().Children {
		s.gather.awaits(slot)
		if ac.j.node.Common().Trace {
			s.gather.Expect(1)
			s.timed[slot] = true
			ac.j.node.Subtree().Ping(slot)
		}
	}
	ac.collection = s
	ac.j.profiling.tellAll(func(int) bool { return true }) // before what the launcher waits for
	ac.tellIf(s.gather.Add(ac.counted()))
	return nil
}

// collected takes a child's counters.
func (ac *accounts) collected(slot tree.Slot, c report.Collected) error {
	if ac.collection == nil || !ac.collection.gather.owed[slot] {
		return errors.New("counters that nobody asked for")
	}
	c.Below(ac.j.node.Self().Index)
	ac.tellIf(ac.collection.gather.take(slot, c))
	return nil
}

// skip does without the counters of a child that was lost.
func (ac *accounts) skip(slot tree.Slot) {
	if ac.collection != nil {
		ac.tellIf(ac.collection.gather.without(slot))
	}
	ac.timed(slot)
}

// timed goes on when a child's clock is measured, or never will be.
func (ac *accounts) timed(slot tree.Slot) {
	if ac.collection != nil && ac.collection.timed[slot] {
		delete(ac.collection.timed, slot)
		ac.tellIf(ac.collection.gather.Skip())
	}
}

func (ac *accounts) tellIf(complete bool) {
	if complete {
		all := ac.collection.gather.Value()
		ac.j.node.Subtree().TellClocks(all.Nodes, 1)
		ac.j.node.Up(link.Service, overlay.KindCollected, overlay.Encode(all))
	}
}

// counted is what this agent itself has to report: as much as the launcher has
// wanted from the beginning.
func (ac *accounts) counted() report.Collected {
	counters := ac.counters()
	own := report.Collected{Levels: []report.Level{report.One(counters)}}
	if !ac.j.node.Common().Entries && !ac.j.node.Common().Trace {
		return own
	}
	own.Nodes = []report.Node{{Host: ac.j.node.Self().Index, Parent: job.NoHost, PID: os.Getpid(), Phases: slices.Concat(ac.j.node.Startup().Phases, ac.phases), Counters: counters}}
	ranks := ac.past.ranks
	for _, w := range ac.j.worlds {
		for _, r := range w.ranks {
			ranks = append(ranks, r.record)
		}
	}
	if ac.j.node.Common().Trace {
		own.Nodes[0].Trace = ac.traced()
	}
	if ac.j.node.Common().Entries {
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
	if w.servers.board == nil {
		return
	}
	s := w.servers.board.Stats()
	c[report.Puts] += s.Puts
	c[report.Gets] += s.Gets
	c[report.Hits] += s.Gets - s.Misses
	c[report.Misses] += s.Misses
	c[report.NotFound] += s.NotFound
	c[report.Evictions] += s.Evictions
	c[report.Resident] += uint64(s.Resident)
}

func (ac *accounts) counters() report.Counters {
	c := ac.past.counters
	for _, w := range ac.j.worlds {
		countBoard(&c, w)
	}
	for s := range link.NumStreams {
		sent, received := ac.j.node.Parent().Traffic(s)
		down, up := ac.j.node.Subtree().Traffic(s)
		sent.Add(down)
		received.Add(up)
		c.SetStream(int(s), sent, received)
	}
	cpu, memory := unix.SelfUsage()
	c[report.CPU], c[report.Memory] = uint64(cpu.Microseconds()), uint64(memory)
	return c
}

// recordStart notes that a rank runs.
func (r *rank) recordStart(e proc.Started) {
	r.record.PID, r.record.Start = e.PID, e.At
}

// recordEnd notes how a rank ended.
func (r *rank) recordEnd(e proc.Exited) {
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
