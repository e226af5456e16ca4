package netsim

import "math"

// near is the relative difference up to which two times or rates count as one: those
// equal by symmetry differ in the last digits.
const near = 1e-9

// flow is a message on its way.
type flow struct {
	over []int32 // links it takes, and the hosts' limits
	left float64 // bytes, at the time since
	rate float64 // bytes per second
	// since is the time at which the rate began, ends that at which the last byte
	// arrives if the rate stays.
	since, ends float64

	of      *play // play that it belongs to
	stage   int32
	message Message
	index   int // among the flows
	part    int // the last part of the network that it was found in
	settled bool
}

// shares divides the rates of links among flows, max–min fairly: no flow could get more
// without another getting less that has no more itself.
type shares struct {
	rate    []float64 // of each link and limit, bytes per second
	on      [][]*flow // on each
	flows   []*flow
	free    []*flow // to be used again
	changed []int32 // links that have gained or lost flows since divide

	// Of divide:
	part  int       // the number of the part
	found []int     // the last part that a link was found in
	heap  shareHeap // links of the part
	left  []float64 // rate that settled flows leave to others
	open  []int     // flows whose rate is not settled
	work  int64     // links of flows whose rates have been settled
}

func newShares(rate []float64) *shares {
	n := len(rate)
	return &shares{rate: rate, on: make([][]*flow, n), found: make([]int, n), left: make([]float64, n), open: make([]int, n)}
}

// add begins a flow whose links are set. It has no rate before divide.
func (s *shares) add(f *flow, now float64) {
	f.rate, f.since, f.ends, f.index = 0, now, math.Inf(1), len(s.flows)
	s.flows = append(s.flows, f)
	for _, l := range f.over {
		s.on[l] = append(s.on[l], f)
	}
	s.changed = append(s.changed, f.over...)
}

// remove ends a flow.
func (s *shares) remove(f *flow) {
	last := len(s.flows) - 1
	s.flows[f.index] = s.flows[last]
	s.flows[f.index].index = f.index
	s.flows = s.flows[:last]
	for _, l := range f.over {
		on := s.on[l]
		for i := range on {
			if on[i] == f {
				on[i] = on[len(on)-1]
				s.on[l] = on[:len(on)-1]
				break
			}
		}
	}
	s.changed = append(s.changed, f.over...)
	s.free = append(s.free, f)
}

// next returns the time at which the first flow ends, never if there is none.
func (s *shares) next() float64 {
	first := math.Inf(1)
	for _, f := range s.flows {
		first = min(first, f.ends)
	}
	return first
}

// divide settles the rates of the flows that share links, directly or by others, with
// those that came or went: link by link, the one with the least for each flow first.
// The share of each flow of a link only grows meanwhile, so the heap may hold a lower
// one.
func (s *shares) divide(now float64) {
	h := s.connected()
	level := 0.0
	for len(h) > 0 {
		l := h[0].link
		if s.open[l] == 0 {
			last := len(h) - 1
			h[0], h = h[last], h[:last]
			h.down(0)
			continue
		}
		each := s.left[l] / float64(s.open[l])
		if each > h[0].each {
			h[0].each = each
			h.down(0)
			continue
		}
		if each > level*(1+near) {
			level = each
		}
		for _, f := range s.on[l] {
			if !f.settled {
				f.settle(level, now)
				for _, o := range f.over {
					s.left[o] -= level
					s.open[o]--
				}
			}
		}
	}
}

// settle gives a flow its rate.
func (f *flow) settle(rate, now float64) {
	f.settled = true
	if rate == f.rate {
		return
	}
	f.left -= f.rate * (now - f.since)
	f.rate, f.since, f.ends = rate, now, now+max(0, f.left)/rate
}

// connected returns the links of flows that a change may matter to, as a heap. It
// makes these flows and links ready to be settled.
func (s *shares) connected() shareHeap {
	s.part++
	s.heap = s.heap[:0]
	find := func(links []int32) {
		for _, l := range links {
			if s.found[l] != s.part {
				s.found[l] = s.part
				s.heap = append(s.heap, linkShare{link: l})
			}
		}
	}
	find(s.changed)
	s.changed = s.changed[:0]
	for i := 0; i < len(s.heap); i++ {
		l := s.heap[i].link
		s.left[l], s.open[l] = s.rate[l], len(s.on[l])
		s.heap[i].each = s.rate[l] / float64(len(s.on[l]))
		for _, f := range s.on[l] {
			if f.part != s.part {
				f.part, f.settled = s.part, false
				s.work += int64(len(f.over))
				find(f.over)
			}
		}
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.heap.down(i)
	}
	return s.heap
}

// linkShare is a lower bound for the rate of each of a link's flows that have none yet.
type linkShare struct {
	each float64
	link int32
}

// shareHeap has the link with least for each flow first.
type shareHeap []linkShare

// down puts an element behind those that are less.
func (h shareHeap) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if least+1 < len(h) && h[least+1].each < h[least].each {
			least++
		}
		if h[i].each <= h[least].each {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
