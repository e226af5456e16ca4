package tlslink

import (
	"container/list"
	"net/netip"
	"slices"
	"time"
)

// handshakes bounds those under way at a time: all at once would be slow for each.
const handshakes = 64

// crowdedPatience is the time that an unexpected peer has for a proof while others wait
// for a hand.
const crowdedPatience = time.Second

// hands bounds the handshakes under way. No address has all of them, so that callers
// from it who say something, but no proof, hold no others up.
type hands struct {
	expected map[netip.Addr]bool // as of places
	taken    []*peer             // the oldest first
	lines    map[netip.Addr]*list.Element
	order    list.List // of *line, in the order in which they came
}

// callerLine holds the peers of an address that have spoken.
type callerLine struct {
	addr    netip.Addr
	has     int     // hands
	waiting []*peer // for one, the oldest first
}

func newHands(expected map[netip.Addr]bool) *hands {
	return &hands{expected: expected, lines: map[netip.Addr]*list.Element{}}
}

// share returns the number of hands that an address may have: so many that others find
// some.
func (h *hands) share(a netip.Addr) int {
	if h.expected[a] {
		return handshakes * 3 / 4
	}
	return handshakes / 4
}

// wait has a peer wait for a hand.
func (h *hands) wait(x *peer) {
	e := h.lines[x.source()]
	if e == nil {
		e = h.order.PushBack(&callerLine{addr: x.source()})
		h.lines[x.source()] = e
	}
	l := e.Value.(*callerLine)
	l.waiting = append(l.waiting, x)
}

// leave takes from a peer the hand that it has or waits for, if any.
func (h *hands) leave(x *peer) {
	e := h.lines[x.source()]
	if e == nil {
		return
	}
	l := e.Value.(*callerLine)
	if i := slices.Index(h.taken, x); i >= 0 {
		h.taken = slices.Delete(h.taken, i, i+1)
		l.has--
	} else if i := slices.Index(l.waiting, x); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		close(x.turn)
	}
	if l.has == 0 && len(l.waiting) == 0 {
		h.order.Remove(e)
		delete(h.lines, l.addr)
	}
}

// turn gives hands to waiting peers, first to the address that has fewest.
func (h *hands) turn(now time.Time) {
	for len(h.taken) < handshakes {
		l := h.next()
		if l == nil {
			return
		}
		x := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.has++
		h.taken = append(h.taken, x)
		x.began = now
		close(x.turn)
	}
}

// next returns the line that has fewest hands of those that may have one more; nil if
// there is none.
func (h *hands) next() (next *callerLine) {
	for e := h.order.Front(); e != nil && (next == nil || next.has > 0); e = e.Next() {
		l := e.Value.(*callerLine)
		if len(l.waiting) > 0 && l.has < h.share(l.addr) && (next == nil || l.has < next.has) {
			next = l
		}
	}
	return next
}

// wanted tells whether somebody waits for a hand.
func (h *hands) wanted() bool {
	for e := h.order.Front(); e != nil; e = e.Next() {
		if len(e.Value.(*callerLine).waiting) > 0 {
			return true
		}
	}
	return false
}

// slow returns the peers that have had a hand for too long, if others wait for one.
func (h *hands) slow(now time.Time) (slow []*peer) {
	if !h.wanted() {
		return nil
	}
	for _, x := range h.taken {
		if x.why == nil && !h.expected[x.source()] && now.Sub(x.began) >= crowdedPatience {
			slow = append(slow, x)
		}
	}
	return slow
}
