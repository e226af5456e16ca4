package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// DimensionOrder is the routing of tori and meshes that corrects one coordinate
// after the other, each the shorter way around; a tie goes upward.
//
// In a dimension that wraps a message is on lane 0 until it has gone through the
// cable from the last switch to the first (the dateline), and on lane 1 after
// that, or from the beginning if it does not go there: then no ring of the torus
// is a credit loop [Dally and Seitz].
type DimensionOrder struct {
	torus *topology.Torus
	graph *topology.Graph
	lanes int
	split bool            // ties go both ways
	place []int32         // [switch*dimensions+i]: coordinate i
	leaf  []topology.Node // of each host
}

// NewDimensionOrder is dimension order for a graph that has a torus' or mesh's
// family and a cable at each place between switches. The error names a place
// that has none.
func NewDimensionOrder(g *topology.Graph) (*DimensionOrder, error) {
	f, ok := g.Family().(*topology.Torus)
	if !ok {
		return nil, fmt.Errorf("dimension order needs a torus or mesh")
	}
	d := &DimensionOrder{torus: f, graph: g, lanes: 1}
	for n := range g.AllSwitches() {
		for i := range f.Dims {
			d.place = append(d.place, int32(f.Coordinate(n, i)))
		}
	}
	for h := range g.AllHosts() {
		d.leaf = append(d.leaf, g.Leaf(h))
	}
	switches := 1
	for i, n := range f.Dims {
		switches *= n
		if f.Wrap[i] && n > 2 {
			d.lanes = 2
		}
	}
	for x := range switches {
		n := f.Switch(x)
		if n == topology.NoNode {
			return nil, fmt.Errorf("dimension order: switch %d is missing", x)
		}
		for i, size := range f.Dims {
			c := d.coordinate(n, i)
			if size == 1 || !f.Wraps(i) && c == size-1 {
				continue
			}
			if len(d.torus.Step(n, i, true)) == 0 {
				return nil, fmt.Errorf("dimension order: %s has no cable upward in dimension %d", g.Name(n), i)
			}
		}
	}
	return d, nil
}

// NewSplitDimensionOrder is dimension order that uses both ways around where they
// are equally long: a tie goes upward from an even coordinate and downward from
// an odd one. Messages to the other side of a ring then load it half as much, as
// [Sack 3.3.1] has them do.
func NewSplitDimensionOrder(g *topology.Graph) (*DimensionOrder, error) {
	d, err := NewDimensionOrder(g)
	if err != nil {
		return nil, err
	}
	d.split = true
	return d, nil
}

func (d *DimensionOrder) coordinate(n topology.Node, i int) int {
	return int(d.place[d.graph.SwitchIndex(n)*len(d.torus.Dims)+i])
}

// Graph returns the network.
func (d *DimensionOrder) Graph() *topology.Graph { return d.graph }

// String is "dimension order", with ", ties split" behind it where they are.
func (d *DimensionOrder) String() string {
	if d.split {
		return "dimension order, ties split"
	}
	return "dimension order"
}

// Lanes is 2 where a dimension wraps, else 1.
func (d *DimensionOrder) Lanes() int { return d.lanes }

// Next returns the step from a node toward a host.
func (d *DimensionOrder) Next(at, dst topology.Node) (Step, bool) {
	f, g := d.torus, d.graph
	last := d.leaf[dst]
	if last == topology.NoNode {
		return Step{}, false
	}
	if g.IsHost(at) {
		return anyLink(g, at, d.leaf[at], int(dst))
	}
	for i, size := range f.Dims {
		c, to := d.coordinate(at, i), d.coordinate(last, i)
		if c == to {
			continue
		}
		up := to > c
		var lane uint8
		if f.Wraps(i) {
			ahead := (to - c + size) % size
			up = 2*ahead < size || 2*ahead == size && (!d.split || c%2 == 0)
			if d.lanes == 2 && up == (to > c) {
				lane = 1
			}
		}
		links := d.torus.Step(at, i, up)
		if len(links) == 0 {
			return Step{}, false
		}
		return Step{Link: links[int(dst)%len(links)], Lane: lane}, true
	}
	return anyLink(g, at, dst, int(dst))
}

// anyLink returns one of the links from a node to its neighbor.
func anyLink(g *topology.Graph, at, to topology.Node, pick int) (Step, bool) {
	count := 0
	for _, p := range g.Ports(at) {
		if p.Peer == to {
			count++
		}
	}
	if count == 0 {
		return Step{}, false
	}
	pick %= count
	for _, p := range g.Ports(at) {
		if p.Peer == to {
			if pick--; pick < 0 {
				return Step{Link: p.Out}, true
			}
		}
	}
	return Step{}, false
}

// Append appends the route between two hosts.
func (d *DimensionOrder) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	return Walk(d, steps, src, dst)
}
