package launcher

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// tearDown is the time that the tree has to end, and what came of it.
type tearDown struct {
	overlay.Deadline
	named    bool // somebody was cut off
	printing printing
}

// treeLate is the event that this time may be over.
type treeLate struct{}

// limitTearDown makes the clock of the tear-down.
func (r *run) limitTearDown() {
	r.tearDown.Deadline = overlay.NewDeadline(r.boot.common, 0, func() { r.inbox.Put(treeLate{}) })
}

// treeLate goes on without a root that owes something though its time is over.
func (r *run) treeLate() {
	switch t := &r.tearDown; {
	case r.over || !t.Passed():
	case r.worlds != nil && r.active():
		r.cutOff(overlay.OwesRanks)
		r.over = true
	case r.worlds != nil && !r.drained() && !r.decided && t.printing.moves():
		t.Later(stillPrints)
	case r.worlds != nil && !r.drained():
		r.cutOff(overlay.OwesOutput)
		r.over = true
	default: // of counters it has been waited for long enough
		r.over = true
	}
}

// outputStuck goes on without what output has not come of a job that was told to end and
// has: nobody reads it, or else an agent is silent.
func (r *run) outputStuck() {
	switch {
	case r.drained():
	case r.tearDown.printing.moves():
		r.report.say("nobody reads the output: what is left of it is dropped")
		r.over, r.left = true, true
	case !r.tearDown.Begun():
		r.tearDown.Killed(0)
	}
}

// cutOff ends the link to the root, which owes something, and tells the user, unless
// somebody below it is named already: it may have waited for that one.
func (r *run) cutOff(owed overlay.Owed) {
	var late []tree.Slot
	for slot := range r.subtree.Children {
		late = append(late, slot)
	}
	for _, slot := range late {
		if !r.tearDown.named {
			r.silent(overlay.Silent(r.subtree.Host(slot), owed))
		}
		r.subtree.Silence(slot)
		r.subtree.Leave(slot)
		r.subtree.Sweep(slot)
	}
}

// note takes a note that the root has passed on.
func (r *run) note(n overlay.Note) {
	if n.Silent && r.tearDown.Begun() {
		r.silent(n)
		return
	}
	r.noted(n)
}

// silent tells of a host whose agent was cut off. A further attempt does without it.
func (r *run) silent(n overlay.Note) {
	r.tearDown.named = true
	r.holds(n.Host)
	r.noted(n)
}

// holds notes which ranks a host holds that has failed.
func (r *run) holds(h job.HostIndex) {
	if _, known := r.heldBy[h]; known {
		return
	}
	if r.heldBy == nil {
		r.heldBy = map[job.HostIndex]string{}
	}
	r.heldBy[h] = r.ranksOn(h)
}

// endTree has the tree end, and goes on without who does not.
func (r *run) endTree() {
	r.tearDown.Ended()
	ctx, cancel := context.WithDeadline(context.Background(), r.tearDown.By())
	defer cancel()
	r.subtree.End(ctx)
	r.awaitRoot(ctx)
	r.cutOff(overlay.OwesEnd)
	r.tellNotes()
}

// awaitRoot waits until the root has ended its side, so that the agents are
// gone when golaunch is. The host of one that is lost meanwhile is swept.
func (r *run) awaitRoot(ctx context.Context) {
	for over := false; !over && r.subtree.Degree() > 0; {
		select {
		case <-r.woken:
		case <-ctx.Done():
			over = true
		}
		for _, e := range r.inbox.Take(nil) {
			r.handleEnding(e)
		}
	}
}

// handleEnding handles an event after END: the root's end, who was cut off below it, and
// that an agent was told to terminate, which is for the next attempt.
func (r *run) handleEnding(e overlay.Event) {
	switch e := e.(type) {
	case overlay.EdgeEnded:
		if r.subtree.Live(e.From) {
			r.subtree.Leave(e.From)
			if e.Err != nil {
				r.subtree.Sweep(e.From)
			}
		}
	case overlay.Message:
		if !r.subtree.Live(e.From) {
			return
		}
		switch e.Header.Kind {
		case overlay.KindNote:
			_ = take(e, r.note) // the link has judged it
		case overlay.KindDemand:
			r.demandedNext()
		}
	}
}

// stillPrints is for how long after the last output was printed more is expected.
const stillPrints = time.Second

// printing is whether output is printed: who reads it may be slow. It may be used from
// several goroutines.
type printing struct {
	now  atomic.Int32 // printers at work
	last atomic.Int64 // when one was, by the Unix clock in nanoseconds
}

// does carries out what prints something.
func (p *printing) does(write func() error) error {
	p.now.Add(1)
	defer func() {
		p.last.Store(time.Now().UnixNano())
		p.now.Add(-1)
	}()
	return write()
}

// moves reports whether output is printed, or was a moment ago.
func (p *printing) moves() bool {
	return p.now.Load() > 0 || time.Since(time.Unix(0, p.last.Load())) < stillPrints/2
}
