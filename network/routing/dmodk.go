package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// DModK is D-Mod-K routing of a PGFT [Zahavi, equation 1]: a switch of level l
// sends upward to destination j by port floor(j / W_l) mod (w_{l+1} p_{l+1}).
//
// The source leaves the parallel cable down to j open: here it is number floor(q / w),
// where q is the port by which a child would send upward to j. Then all messages to j
// come down through the cables by which they would go up, and theorem 2 holds.
type DModK struct {
	tree  *topology.FatTree
	graph *topology.Graph
	lev   []dmodkLevel
}

// dmodkLevel has the numbers of a level of nodes.
type dmodkLevel struct {
	roots   int // W_l
	up      int // ports upward
	w, m    int // of the level: parents of its children, children
	below   int // hosts below its children
	hosts   int // hosts below it
	kidRoot int // W_{l-1}
	kidUp   int // ports upward of its children
}

// NewDModK is D-Mod-K for a graph that has a fat tree's family and lacks no cable
// between two switches, and none of a host's; hosts may be missing. The error names a
// missing part.
func NewDModK(g *topology.Graph) (*DModK, error) {
	f, ok := g.Family().(*topology.FatTree)
	if !ok {
		return nil, fmt.Errorf("d-mod-k needs a fat tree")
	}
	for n := range topology.Node(g.Nodes()) {
		l := f.Level(n)
		if l < 0 {
			continue
		}
		for q := range f.Up(l) {
			if f.UpLink(n, q) == topology.NoLink {
				return nil, fmt.Errorf("d-mod-k: port %d upward of %s has no cable", q, g.Name(n))
			}
		}
	}
	for l := 1; l <= f.Levels(); l++ {
		for x := range f.Count(l) {
			if f.Node(l, x) == topology.NoNode {
				return nil, fmt.Errorf("d-mod-k: switch %d of level %d is missing", x, l)
			}
		}
	}
	d := &DModK{tree: f, graph: g}
	for l := range f.Levels() + 1 {
		level := dmodkLevel{roots: f.Roots(l), up: f.Up(l)}
		if l > 0 {
			level.w, level.m = f.W[l-1], f.M[l-1]
			level.hosts = f.Below(l)
			level.below, level.kidRoot, level.kidUp = f.Below(l-1), f.Roots(l-1), f.Up(l-1)
		}
		d.lev = append(d.lev, level)
	}
	return d, nil
}

// Graph returns the network.
func (d *DModK) Graph() *topology.Graph { return d.graph }

// String is "d-mod-k".
func (d *DModK) String() string { return "d-mod-k" }

// Lanes is 1: up and then down makes no loop.
func (d *DModK) Lanes() int { return 1 }

// Up returns the port q by which a node of that level sends upward to the host with
// index j.
func (d *DModK) Up(level, j int) int { return j / d.lev[level].roots % d.lev[level].up }

// Down returns the port r by which a switch of that level sends downward to the host
// with index j, which is below it.
func (d *DModK) Down(level, j int) int {
	l := &d.lev[level]
	cable := j / l.kidRoot % l.kidUp / l.w
	return j/l.below%l.m + cable*l.m
}

// Next returns the step from a node toward a host.
func (d *DModK) Next(at, dst topology.Node) (Step, bool) {
	j, level := d.tree.Index(dst), d.tree.Level(at)
	var l topology.Link
	if d.tree.Level(dst) < 0 || level < 0 {
		return Step{}, false
	}
	if lev := &d.lev[level]; level > 0 && j/lev.hosts == d.tree.Index(at)/lev.roots {
		l = d.tree.DownLink(at, d.Down(level, j))
	} else {
		l = d.tree.UpLink(at, d.Up(level, j))
	}
	return Step{Link: l}, l != topology.NoLink
}

// Append appends the route between two hosts.
func (d *DModK) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	return Walk(d, steps, src, dst)
}
