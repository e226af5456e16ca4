package routing

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
)

// Cycle is a credit loop: on each of its steps, messages may hold that link's
// buffer on that lane while they wait for the next step's, on the last one for
// the first's. None may ever move.
type Cycle struct {
	graph *topology.Graph
	Steps []Step
}

// String shows the loop: "s0 -> s1 -> s2 -> s0 (lane 0)", with a lane behind each
// switch where there are several.
func (c *Cycle) String() string {
	var text strings.Builder
	one := true
	for _, s := range c.Steps {
		one = one && s.Lane == c.Steps[0].Lane
	}
	for _, s := range c.Steps {
		text.WriteString(c.graph.Name(c.graph.From(s.Link).Node))
		if text.WriteString(" -> "); !one {
			fmt.Fprintf(&text, "[lane %d] ", s.Lane)
		}
	}
	text.WriteString(c.graph.Name(c.graph.From(c.Steps[0].Link).Node))
	if one {
		fmt.Fprintf(&text, " (lane %d)", c.Steps[0].Lane)
	}
	return text.String()
}

// waits has, for each link between switches on each lane, the links that messages on it
// wait for next: a bit for each port of the link's end and each lane. A link from a
// host is the first of a route, which nothing waits for, one to a host the last, which
// waits for nothing: they are in no cycle.
type waits struct {
	g     *topology.Graph
	lanes int
	first []int32 // of each link: its first word, for lane 0
	words []int32 // of each link: how many for a lane; 0 for a link of a host
	bits  []uint64
	port  []int32 // of each link: which of its node's ports it leaves by
}

func newWaits(g *topology.Graph, lanes int) *waits {
	w := &waits{g: g, lanes: lanes, first: make([]int32, g.Links()), words: make([]int32, g.Links()), port: make([]int32, g.Links())}
	total := int32(0)
	for l := range topology.Link(g.Links()) {
		w.first[l] = total
		if !g.IsHost(g.From(l).Node) && !g.IsHost(g.To(l).Node) {
			w.words[l] = int32(len(g.Ports(g.To(l).Node))*lanes+63) / 64
		}
		total += w.words[l] * int32(lanes)
	}
	for n := range topology.Node(g.Nodes()) {
		for i, p := range g.Ports(n) {
			w.port[p.Out] = int32(i)
		}
	}
	w.bits = make([]uint64, total)
	return w
}

// add notes that a message goes from one step to another.
func (w *waits) add(from, to Step) {
	bit := w.port[to.Link]*int32(w.lanes) + int32(to.Lane)
	w.bits[w.first[from.Link]+w.words[from.Link]*int32(from.Lane)+bit/64] |= 1 << (bit % 64)
}

// next returns the lowest step after bit number from on that s waits for, and its
// number; false if there is none.
func (w *waits) next(s Step, from int) (Step, int, bool) {
	words := w.bits[w.first[s.Link]+w.words[s.Link]*int32(s.Lane):][:w.words[s.Link]]
	for i := from / 64; i < len(words); i++ {
		word := words[i]
		if i == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			bit := i*64 + bits.TrailingZeros64(word)
			p := w.g.Ports(w.g.To(s.Link).Node)[bit/w.lanes]
			return Step{p.Out, uint8(bit % w.lanes)}, bit, true
		}
	}
	return Step{}, 0, false
}

// CreditLoop looks for a cycle in the channel dependency graph [Dally and Seitz]
// of the routes between all hosts; nil if there is none, so that no messages can
// deadlock. Pairs without a route do not count. The routes of a ByDestination are
// followed host by host, where of other routers all pairs have to be.
func CreditLoop(r Router, loop topology.Loop) *Cycle {
	g := r.Graph()
	parts := min(16, max(1, g.Hosts()))
	seen := make([]*waits, parts)
	loop(parts, func(i int) {
		seen[i] = newWaits(g, r.Lanes())
		if d, ok := r.(ByDestination); ok {
			seen[i].addDestinations(d, i, parts)
		} else {
			seen[i].addPairs(r, i, parts)
		}
	})
	all := seen[0]
	for _, w := range seen[1:] {
		for i, b := range w.bits {
			all.bits[i] |= b
		}
	}
	return all.cycle()
}

// addPairs notes the waits on the routes from the hosts first, first+step, ... to all.
func (w *waits) addPairs(r Router, first, step int) {
	var route []Step
	for src := first; src < w.g.Hosts(); src += step {
		for dst := range w.g.AllHosts() {
			var err error
			if route, err = r.Append(route[:0], topology.Node(src), dst); err != nil {
				continue
			}
			for k := 2; k < len(route)-1; k++ {
				w.add(route[k-1], route[k])
			}
		}
	}
}

// cycle finds a cycle by going through the waits depth first.
func (w *waits) cycle() *Cycle {
	const (
		open = 1 + iota
		done
	)
	state := make([]uint8, w.g.Links()*w.lanes)
	at := func(s Step) *uint8 { return &state[int(s.Link)*w.lanes+int(s.Lane)] }
	var path []Step
	var from []int
	for i := range state {
		start := Step{topology.Link(i / w.lanes), uint8(i % w.lanes)}
		if *at(start) != 0 {
			continue
		}
		path, from = append(path[:0], start), append(from[:0], 0)
		*at(start) = open
		for len(path) > 0 {
			top := len(path) - 1
			next, bit, ok := w.next(path[top], from[top])
			if !ok {
				*at(path[top]) = done
				path, from = path[:top], from[:top]
				continue
			}
			from[top] = bit + 1
			switch *at(next) {
			case 0:
				*at(next) = open
				path, from = append(path, next), append(from, 0)
			case open:
				for path[0] != next {
					path = path[1:]
				}
				return &Cycle{w.g, path}
			}
		}
	}
	return nil
}
