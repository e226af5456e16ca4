package overlay

import (
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/tree"
)

// pings is the number of round trips that an offset is measured with.
const pings = 8

// Ping asks a child for the time of its clocks; the child's Pong echoes it.
type Ping struct {
	Sent  int64         `cbor:"1,keyasint,omitempty"` // for --trace: parent's clock, nanoseconds since 1970
	Clock time.Duration `cbor:"2,keyasint,omitempty"` // for the times of failures: parent's monotonic clock
}

// Pong is the answer to a Ping.
type Pong struct {
	Sent     int64 `cbor:"1,keyasint"`
	Received int64 `cbor:"2,keyasint"` // child's clock
	Answered int64 `cbor:"3,keyasint"` // child's clock

	Clock time.Duration `cbor:"4,keyasint,omitempty"`
	Heard time.Duration `cbor:"5,keyasint,omitempty"` // child's monotonic clock
	Said  time.Duration `cbor:"6,keyasint,omitempty"` // child's monotonic clock
}

var errUnasked = errors.New("a time that nobody asked for")

// pong: nobody else knows the time at a child.
func (o *Origin) pong(tree.Header, Pong) error { return nil }

// offset measures a child's clock.
type offset struct {
	left   int   // round trips still to make, one after the other
	sent   int64 // of the ping that is out while there are any
	bounds report.Bounds
	known  []report.Offset
}

// Ping begins to measure a child's clock, for --trace; Pong reports the end.
func (f *Subtree) Ping(slot tree.Slot) {
	o := &f.children[slot].offset
	o.left += pings
	if o.left == pings {
		o.bounds = report.Bounds{}
		f.ping(slot)
	}
}

func (f *Subtree) ping(slot tree.Slot) {
	sent := f.Now().UnixNano()
	f.children[slot].offset.sent = sent
	f.Send(slot, link.Control, KindPing, job.TreeItself, Encode(Ping{Sent: sent}))
}

// Pong takes a child's answer, which has arrived so long ago, and reports whether its
// clock is measured for --trace.
func (f *Subtree) Pong(slot tree.Slot, p Pong, ago time.Duration) (done bool, err error) {
	if p.Clock != 0 {
		return false, f.reckoned(slot, p, ago)
	}
	o := &f.children[slot].offset
	if o.left == 0 || p.Sent != o.sent {
		return false, errUnasked
	}
	o.bounds.Add(report.Trip{Sent: p.Sent, Received: p.Received, Answered: p.Answered, Back: f.Now().UnixNano()})
	if o.left--; o.left > 0 {
		f.ping(slot)
		return false, nil
	}
	if known, ok := o.bounds.Offset(); ok {
		o.known = append(o.known, known)
	}
	return true, nil
}

// TellClocks adds the offsets of the children's clocks to the records of their nodes:
// those of a level, 1 at an agent and 0 at the launcher.
func (f *Subtree) TellClocks(nodes []report.Node, level int) {
	for i := range nodes {
		if n := &nodes[i]; n.Level == level && n.Trace != nil {
			for slot := range f.children {
				if f.children[slot].host.Index == n.Host {
					n.Trace.Clock = append(n.Trace.Clock, f.children[slot].offset.known...)
				}
			}
		}
	}
}
