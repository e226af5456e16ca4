package report

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Offset is the lead of a node's clock over its parent's at one moment. The truth is at
// most Within away from Ahead.
type Offset struct {
	At     time.Time     `cbor:"1,keyasint"` // of the node's clock
	Ahead  time.Duration `cbor:"2,keyasint"`
	Within time.Duration `cbor:"3,keyasint"`
}

// Trip is one round trip over a link: two times of the parent's clock around
// two of the child's, in nanoseconds since 1970.
type Trip struct {
	Sent     int64 // by the parent
	Received int64 // by the child
	Answered int64 // by the child
	Back     int64 // at the parent
}

// Bounds narrows the offset of a child's clock down, trip by trip: nothing
// arrives before it was sent, in either direction, however long it takes. The
// zero value knows nothing yet.
type Bounds struct {
	low, high time.Duration
	at        int64
	trips     int
}

// Add takes a trip in. One that cannot be (a clock was set back on the way) is
// left out; one that contradicts those before begins anew.
func (b *Bounds) Add(t Trip) {
	low, high := time.Duration(t.Answered-t.Back), time.Duration(t.Received-t.Sent)
	if low > high {
		return
	}
	if b.trips > 0 && max(low, b.low) <= min(high, b.high) {
		low, high = max(low, b.low), min(high, b.high)
	}
	b.low, b.high, b.at = low, high, t.Answered
	b.trips++
}

// Offset returns the middle of the offsets that the trips leave possible; ok is false
// where there were none.
func (b *Bounds) Offset() (o Offset, ok bool) {
	width := b.high - b.low
	return Offset{At: time.Unix(0, b.at), Ahead: b.low + width/2, Within: (width + 1) / 2}, b.trips > 0
}

// Clock turns the times of a node into times of the launcher's clock.
type Clock struct {
	links [][]Offset // the node's own first, then those of the nodes above it
}

// Clocks finds the Clock of every node that has told its parent's.
func Clocks(nodes []Node) map[job.HostIndex]Clock {
	byHost := make(map[job.HostIndex]*Node, len(nodes))
	for i := range nodes {
		byHost[nodes[i].Host] = &nodes[i]
	}
	found := make(map[job.HostIndex]Clock, len(nodes))
	for i := range nodes {
		var c Clock
		for n := &nodes[i]; len(c.links) < len(nodes); { // no further: the nodes told may be no tree
			c.links = append(c.links, n.trace().Clock)
			if n.Parent == job.NoHost {
				break
			}
			above := byHost[n.Parent]
			if above == nil { // lost: nobody knows its clock
				c.links = append(c.links, nil)
				break
			}
			n = above
		}
		found[nodes[i].Host] = c
	}
	return found
}

// Launcher returns the time of the launcher's clock at t of the node's.
func (c Clock) Launcher(t time.Time) time.Time {
	for _, link := range c.links {
		t = t.Add(-ahead(link, t))
	}
	return t
}

// Ahead returns the lead of the node's clock over the launcher's at t of its own, and
// Within the bound of its error: the sum over the links between.
func (c Clock) Ahead(t time.Time) time.Duration { return t.Sub(c.Launcher(t)) }

// Within returns the most that Ahead can be wrong; known is false where no trip was
// made over one of the links.
func (c Clock) Within() (sum time.Duration, known bool) {
	known = true
	for _, link := range c.links {
		var most time.Duration
		for _, o := range link {
			most = max(most, o.Within)
		}
		known = known && len(link) > 0
		sum += most
	}
	return sum, known
}

// ahead returns the offset of a link at t of the child's clock: the nearest that was
// measured, and between two of them one on a straight line.
func ahead(link []Offset, t time.Time) time.Duration {
	for i, o := range link {
		if !t.After(o.At) || i == len(link)-1 {
			if i == 0 || t.After(o.At) {
				return o.Ahead
			}
			before := link[i-1]
			span := o.At.Sub(before.At)
			if span <= 0 {
				return o.Ahead
			}
			return before.Ahead + time.Duration(float64(o.Ahead-before.Ahead)*(float64(t.Sub(before.At))/float64(span)))
		}
	}
	return 0
}
