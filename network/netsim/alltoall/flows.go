package alltoall

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
)

// MaxRanks bounds the ranks of TACS1 and TACS2: they keep the routes of all pairs.
const MaxRanks = 2048

// A flow is the message from one rank to another. Links[begin:end] of flows are the
// links of its route, and first is the first of them, or a link that is none.
type flow struct{ from, first, begin, end int32 }

// flows are those of all pairs that are still to be sent.
type flows struct {
	// to has the flows to each rank, those from farthest away last.
	to    [][]flow
	links []int32
	// left counts the flows left on each link, and on one behind the last that is none.
	left []int32
	// busiest is, for each rank, the link with most flows of those that lead there.
	busiest []int32
	count   int
}

// newFlows follows the routes of all pairs of ranks.
func newFlows(n *netsim.Network) (*flows, error) {
	ranks := n.Ranks()
	if ranks > MaxRanks {
		return nil, fmt.Errorf("%d hosts: schedules that avoid shared links are for at most %d", ranks, MaxRanks)
	}
	f := &flows{to: make([][]flow, ranks), left: make([]int32, n.Graph().Links()+1), busiest: make([]int32, ranks), count: ranks * max(0, ranks-1)}
	sources, targets := make([]several, len(f.left)), make([]several, len(f.left))
	var route []routing.Step
	for to := range int32(ranks) {
		f.to[to] = make([]flow, 0, ranks-1)
		for d := 1; d < ranks; d++ {
			from := (to + int32(ranks-d)) % int32(ranks)
			var err error
			if route, err = n.Route(route[:0], from, to); err != nil {
				return nil, fmt.Errorf("from rank %d to rank %d: %w", from, to, err)
			}
			begin := len(f.links)
			for _, step := range route {
				f.links = append(f.links, int32(step.Link))
				f.left[step.Link]++
				sources[step.Link].add(from)
				targets[step.Link].add(to)
			}
			f.to[to] = append(f.to[to], flow{from: from, begin: int32(begin), end: int32(len(f.links))})
		}
	}
	for to := range f.to {
		f.finish(to, sources, targets)
	}
	return f, nil
}

// finish puts the flows to a rank in order, and takes from their routes the links on
// which they can't meet others: a rank sends no more than one message in a stage,
// and receives no more than one.
func (f *flows) finish(to int, sources, targets []several) {
	list := f.to[to]
	slices.SortStableFunc(list, func(a, b flow) int { return cmp.Compare(a.end-a.begin, b.end-b.begin) })
	for i, one := range list {
		route := f.links[one.begin:one.end]
		for _, link := range route {
			if f.left[link] > f.left[f.busiest[to]] {
				f.busiest[to] = link
			}
		}
		route = slices.DeleteFunc(route, func(link int32) bool { return !sources[link].are || !targets[link].are })
		list[i].end = one.begin + int32(len(route))
		list[i].first = int32(len(f.left) - 1)
		if len(route) > 0 {
			list[i].first = route[0]
		}
	}
}

// several says whether it has been given several ranks.
type several struct {
	first     int32
	some, are bool
}

func (s *several) add(rank int32) {
	if !s.some {
		s.first, s.some = rank, true
	}
	s.are = s.are || s.first != rank
}

// take takes flow i to a rank away, for a stage whose links have that many messages.
func (f *flows) take(to int32, i int, on []int32) {
	for _, link := range f.links[f.to[to][i].begin:f.to[to][i].end] {
		on[link]++
		f.left[link]--
	}
	f.to[to] = slices.Delete(f.to[to], i, i+1)
	f.count--
}
