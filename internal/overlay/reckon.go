package overlay

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// When a failure happened on a node below is known by the age that it is told with, and
// by how long that was on its way: an agent, an sshd and a link that share processors
// with ranks take milliseconds more or less from one message to the next. So each
// parent measures how far its children's monotonic clocks are ahead of its own while
// nothing is wrong, and reads the time of a failure off the child's clock. No clock
// needs to be set.

const (
	reckonings  = 8                // round trips at first, one after the other
	reckonEvery = 10 * time.Second // from one to the next after that
	// drift is the most that two monotonic clocks are taken to part, as a share of the
	// time: knowledge of a child's clock is worth less as time goes by.
	drift = 100e-6
)

// reckoning bounds the lead of a child's monotonic clock over this node's: between low
// and high, as of at, by this node's clock. Nothing arrives before it was sent, in
// either direction, however long it takes.
type reckoning struct {
	low, high, at time.Duration
	trips         int
	begun         bool // a ping is out, or will be
}

// widened returns the bounds at a later time.
func (r reckoning) widened(now time.Duration) (low, high time.Duration) {
	by := time.Duration(float64(max(0, now-r.at)) * drift)
	return r.low - by, r.high + by
}

// trip takes a round trip in: the times around it by this node's clock, and two between
// them by the child's. An impossible one is left out, and older bounds that contradict
// it are forgotten.
func (r *reckoning) trip(sent, heard, said, back time.Duration) {
	low, high := said-back, heard-sent+time.Duration(float64(max(0, back-sent))*drift) // as of back
	if low > high {
		return
	}
	if l, h := r.widened(back); r.trips > 0 && max(l, low) <= min(h, high) {
		low, high = max(l, low), min(h, high)
	}
	r.low, r.high, r.at = low, high, back
	r.trips++
}

// age returns the time since an event that a child has reported, at said by its own
// clock, to be so old; the report has arrived here at arrival.
func (r reckoning) age(old, said, arrival, now time.Duration) time.Duration {
	least := now - arrival + old // it was on its way for no time
	low, high := r.widened(now)
	low = max(low, said-arrival)
	if r.trips == 0 || said == 0 || low > high {
		return least
	}
	return max(least, now-(said-old-(low+(high-low)/2)))
}

// reckon begins to measure a child's clock, and goes on with it for as long as there is
// a link.
func (f *Subtree) reckon(slot tree.Slot) {
	if r := &f.children[slot].reckoning; !r.begun {
		r.begun = true
		reckonPing(f.children[slot].edge)
	}
}

// reckonPing may be called from any goroutine, while no such ping is out.
func reckonPing(e *Edge) {
	now := unix.Monotonic()
	e.asked.Store(int64(now))
	e.Send(link.Control, tree.Header{Kind: KindPing, To: tree.Neighbor, From: tree.Launcher}, Encode(Ping{Clock: now}))
}

// reckoned takes a child's answer, which has arrived here so long ago. One that answers no
// ping that is out would have this node ping at once, or later, and so without end.
func (f *Subtree) reckoned(slot tree.Slot, p Pong, ago time.Duration) error {
	k := &f.children[slot]
	edge := k.edge
	if !edge.asked.CompareAndSwap(int64(p.Clock), 0) {
		return errUnasked
	}
	k.reckoning.trip(p.Clock, p.Heard, p.Said, unix.Monotonic()-ago)
	if k.reckoning.trips < reckonings {
		reckonPing(edge)
		return nil
	}
	time.AfterFunc(reckonEvery, func() { reckonPing(edge) }) // to a link that has ended nothing is sent
	return nil
}

// Age returns the time since a failure that a child told, now by the monotonic clock.
func (f *Subtree) Age(m Message, x job.Failure) (age, now time.Duration) {
	now = unix.Monotonic()
	var r reckoning
	if int(m.From) < len(f.children) {
		r = f.children[m.From].reckoning
	}
	return r.age(x.Age, x.Said, now-m.Residence(), now), now
}
