package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// Minimal is minimal routing of a dragonfly [Kim]: within the group to a router with a
// cable to the destination's group, through that, and within that group. Of
// several such cables one on a shortest route is taken, which one the destination
// decides. Where routers are in rows, a message goes along its row first, then
// along the column.
//
// Messages are on lane 1 in the destination's group and on lane 0 before, so that
// there is no credit loop.
type Minimal struct {
	fly   *topology.Dragonfly
	graph *topology.Graph
	local []topology.Link // [(group*A+from)*A+to]: the first link of the way within a group
	far   []uint8         // [from*A+to]: links of the way within a group
}

// NewMinimal is minimal routing for a graph that has a dragonfly's family, lacks no
// cable within a group, and has at least one between each two groups. The error names a
// missing part.
func NewMinimal(g *topology.Graph) (*Minimal, error) {
	f, ok := g.Family().(*topology.Dragonfly)
	if !ok {
		return nil, fmt.Errorf("minimal routing needs a dragonfly")
	}
	m := &Minimal{fly: f, graph: g, local: make([]topology.Link, f.G*f.A*f.A), far: make([]uint8, f.A*f.A)}
	for group := range f.G {
		for to := range f.G {
			if to != group && len(f.Gates(group, to)) == 0 {
				return nil, fmt.Errorf("minimal routing: no cable between groups %d and %d", group, to)
			}
		}
		for r := range f.A {
			n := f.Switch(group, r)
			if n == topology.NoNode {
				return nil, fmt.Errorf("minimal routing: router %d of group %d is missing", r, group)
			}
			direct := m.local[(group*f.A+r)*f.A:][:f.A]
			for s := range direct {
				direct[s] = topology.NoLink
			}
			for _, p := range g.Ports(n) {
				if !g.IsHost(p.Peer) && f.Group(p.Peer) == group {
					direct[f.Router(p.Peer)] = p.Out
				}
			}
			for s := range f.A {
				via := m.via(r, s)
				if direct[s] = direct[via]; direct[s] == topology.NoLink && s != r {
					return nil, fmt.Errorf("minimal routing: no cable from %s to router %d of its group", g.Name(n), via)
				}
				switch {
				case s == r:
				case via == s:
					m.far[r*f.A+s] = 1
				default:
					m.far[r*f.A+s] = 2
				}
			}
		}
	}
	return m, nil
}

// via returns the next router on the way within a group: s itself if it is in r's row
// or column, else the one that is in r's row and in s's column.
func (m *Minimal) via(r, s int) int {
	row := m.fly.A / max(1, m.fly.Chassis)
	if r/row == s/row || r%row == s%row {
		return s
	}
	return r/row*row + s%row
}

// Graph returns the network.
func (m *Minimal) Graph() *topology.Graph { return m.graph }

// String is "minimal".
func (m *Minimal) String() string { return "minimal" }

// Lanes is 2.
func (m *Minimal) Lanes() int { return 2 }

// Next returns the step from a node toward a host.
func (m *Minimal) Next(at, dst topology.Node) (Step, bool) {
	g := m.graph
	last := g.Leaf(dst)
	switch {
	case last == topology.NoNode:
		return Step{}, false
	case g.IsHost(at):
		return anyLink(g, at, g.Leaf(at), int(dst))
	case at == last:
		s, ok := anyLink(g, at, dst, int(dst))
		s.Lane = 1
		return s, ok
	}
	link := m.toward(at, last, int(dst))
	var lane uint8
	if m.fly.Group(at) == m.fly.Group(last) {
		lane = 1
	}
	return Step{Link: link, Lane: lane}, link != topology.NoLink
}

// toward returns the link from a router to another; pick chooses among shortest ways.
func (m *Minimal) toward(at, to topology.Node, pick int) topology.Link {
	f := m.fly
	group, r := f.Group(at), f.Router(at)
	if f.Group(to) == group {
		return m.local[(group*f.A+r)*f.A+f.Router(to)]
	}
	gates := f.Gates(group, f.Group(to))
	// Of equally long ways, one by a nearer gate is better: a message that changed
	// its mind could otherwise go along a column first and then along a row.
	length := func(gate topology.Link) int {
		out, in := f.Router(m.graph.From(gate).Node), f.Router(m.graph.To(gate).Node)
		far := int(m.far[r*f.A+out])
		return 4*(far+int(m.far[in*f.A+f.Router(to)])) + far
	}
	least, count := length(gates[0]), 1
	for _, gate := range gates[1:] {
		switch l := length(gate); {
		case l < least:
			least, count = l, 1
		case l == least:
			count++
		}
	}
	pick %= count
	for _, gate := range gates {
		if length(gate) != least {
			continue
		}
		if pick--; pick >= 0 {
			continue
		}
		if out := f.Router(m.graph.From(gate).Node); out != r {
			return m.local[(group*f.A+r)*f.A+out]
		}
		return gate
	}
	return topology.NoLink
}

// Append appends the route between two hosts.
func (m *Minimal) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	return Walk(m, steps, src, dst)
}
