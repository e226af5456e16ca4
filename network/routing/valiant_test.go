package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// valiant is Valiant routing of a dragonfly [Kim]: a message between two groups goes to
// a third first, which the seed and the pair of hosts decide, and from there to
// its destination, both minimally; one within a group goes minimally. The lane is
// the number of groups that it has left.
type valiant struct {
	minimal *Minimal
	seed    uint64
}

// newValiant is Valiant routing on the graphs that NewMinimal takes.
func newValiant(g *topology.Graph, seed uint64) (*valiant, error) {
	m, err := NewMinimal(g)
	if err != nil {
		return nil, err
	}
	return &valiant{m, seed}, nil
}

// Graph is the network.
func (v *valiant) Graph() *topology.Graph { return v.minimal.graph }

// String is such as "valiant, seed 1".
func (v *valiant) String() string { return fmt.Sprintf("valiant, seed %d", v.seed) }

// Lanes is 3.
func (v *valiant) Lanes() int { return 3 }

// Append appends the route between two hosts.
func (v *valiant) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	m, g := v.minimal, v.minimal.graph
	first, last := g.Leaf(src), g.Leaf(dst)
	if first == topology.NoNode || last == topology.NoNode || src == dst {
		return Walk(m, steps, src, dst)
	}
	f := m.fly
	from, to := f.Group(first), f.Group(last)
	s, ok := anyLink(g, src, first, int(dst))
	if !ok {
		return steps, noRoute(g, src, dst, src)
	}
	steps = append(steps, s)
	at, lane := first, uint8(0)
	goTo := func(target topology.Node, done func() bool) bool {
		for !done() {
			link := m.toward(at, target, int(dst))
			if link == topology.NoLink {
				return false
			}
			steps = append(steps, Step{link, lane})
			next := g.To(link).Node
			if f.Group(next) != f.Group(at) {
				lane++
			}
			at = next
		}
		return true
	}
	if from != to && f.G > 2 {
		third := v.third(src, dst, from, to)
		if !goTo(f.Switch(third, int(dst)%f.A), func() bool { return f.Group(at) == third }) {
			return steps, noRoute(g, src, dst, at)
		}
	}
	if !goTo(last, func() bool { return at == last }) {
		return steps, noRoute(g, src, dst, at)
	}
	s, ok = anyLink(g, at, dst, int(dst))
	if !ok {
		return steps, noRoute(g, src, dst, at)
	}
	s.Lane = lane
	return append(steps, s), nil
}

// third is a group that is neither of two.
func (v *valiant) third(src, dst topology.Node, from, to int) int {
	x := topology.Mix(v.seed + topology.MixStep*(uint64(src)<<32^uint64(dst)+1))
	group := int(x % uint64(v.minimal.fly.G-2))
	for _, taken := range []int{min(from, to), max(from, to)} {
		if group >= taken {
			group++
		}
	}
	return group
}
