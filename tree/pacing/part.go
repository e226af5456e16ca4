package pacing

import (
	"slices"
	"time"
)

// HedgeAfter is the time that a silent host is waited for until others are tried beside
// it.
const HedgeAfter = 2 * time.Second

// Part decides which hosts of one part of a host list are tried, until one has joined,
// which then starts the rest. A head that fails is replaced at once by the next; one
// that stays silent is hedged by the next 1, 2, 4, ... hosts, each time HedgeAfter
// after the last of them was begun with, so that a dead rack costs about two connect
// timeouts. Those in place of others that failed do not put the next hedge off: they
// may well have failed by silence.
//
// Methods return how many further hosts are to be tried now: those from Next
// on, before the call.
type Part struct {
	heads   int
	next    int
	hedge   int
	pending []int
	joined  bool
}

// NewPart returns a part of which the first heads hosts may start the others.
func NewPart(heads int) Part { return Part{heads: heads, hedge: 1} }

// Begin tries the first head.
func (p *Part) Begin() int { return p.try(1) }

// Silent is called when HedgeAfter is over since the last try began: when it had
// a permit of the window, for one that waits for that is not silent.
func (p *Part) Silent() int {
	if p.joined {
		return 0
	}
	n := p.try(p.hedge)
	p.hedge = min(2*p.hedge, p.heads)
	return n
}

// Hedging reports whether the part has been silent once.
func (p *Part) Hedging() bool { return p.hedge > 1 }

// Failed takes note that host i will not join.
func (p *Part) Failed(i int) int {
	p.settle(i)
	if p.joined {
		return 0
	}
	return p.try(1)
}

// Join takes note that host i has joined, and reports whether it is the first
// to do so.
func (p *Part) Join(i int) (first bool) {
	p.settle(i)
	first = !p.joined
	p.joined = true
	return first
}

// Next returns the first host that has not been tried.
func (p *Part) Next() int { return p.next }

// Pending returns the hosts of which nothing was heard yet, in order.
func (p *Part) Pending() []int { return p.pending }

// Done reports whether every host that was tried has joined or failed.
func (p *Part) Done() bool { return len(p.pending) == 0 }

func (p *Part) try(n int) int {
	n = min(n, p.heads-p.next)
	for range n {
		p.pending = append(p.pending, p.next)
		p.next++
	}
	return n
}

func (p *Part) settle(i int) {
	p.pending = slices.DeleteFunc(p.pending, func(j int) bool { return i == j })
}
