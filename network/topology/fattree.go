package topology

import (
	"fmt"
	"slices"
)

// FatTree is the Family of PGFTs, and of degraded ones: the place of each node and
// cable of a graph in the tree that Tuple describes.
//
// The node (l, a_h..a_1) of [Zahavi 3] has index sum of a_i times the product of
// the ranges of the digits below, within its level: a_1 is the least significant
// digit. A host's index is the j of D-Mod-K.
type FatTree struct {
	Tuple
	graph *Graph
	level []int8   // of each node; -1 where it is in no place
	index []int32  // of each node within its level
	at    [][]Node // at[l][index], NoNode where the node is missing
	up    [][]Link // up[l][index*Up(l)+q]
	down  [][]Link // down[l][index*Down(l)+r]
	order []int32  // of each cable: its number among those of the same pair
}

// NewPGFT makes a whole tree. Its hosts and switches come in the order of their
// indices, level by level. A switch's ports downward are 1..m*p in the order of
// r, then those upward in the order of q. Rate is that of all cables.
func NewPGFT(t Tuple, rate int64) (*Graph, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	h := t.Levels()
	base := make([]int, h+2) // first node of each level
	for l := range h + 1 {
		base[l+1] = base[l] + t.Count(l)
	}
	b, err := NewBuilder(base[1], base[h+1]-base[1])
	if err != nil {
		return nil, err
	}
	cables := 0
	for l := range h {
		cables += t.Count(l) * t.Up(l)
	}
	b.Grow(cables)
	level, index := make([]int8, base[h+1]), make([]int32, base[h+1])
	order := make([]int32, 0, cables)
	for l := range h + 1 {
		downs := 0
		if l > 0 {
			downs = t.Down(l)
		}
		for x := range t.Count(l) {
			n := base[l] + x
			level[n], index[n] = int8(l), int32(x)
			for q := range t.Up(l) {
				y, r := t.above(l, x, q)
				b.Cable(Cable{A: End{Node(n), int32(downs + q + 1)}, B: End{Node(base[l+1] + y), int32(r + 1)}, Rate: rate})
				order = append(order, int32(q/t.W[l]))
			}
		}
	}
	g, err := b.Build()
	if err != nil {
		return nil, err
	}
	f, err := newFatTree(g, t, level, index, order)
	if err != nil {
		return nil, err
	}
	return g.WithFamily(f), nil
}

// above returns the upper end of the cable at port q upward of node x of a level: the
// index of the parent, and its port r downward [Zahavi 3].
func (t Tuple) above(level, x, q int) (y, r int) {
	low, m, w := t.Roots(level), t.M[level], t.W[level]
	child, parent := x/low%m, q%w
	return x%low + parent*low + x/(low*m)*low*w, child + q/w*m
}

// NewFatTree gives each node of g its place: a level (hosts have 0; negative for
// a node that is left aside, which has to have no cables) and an index within it.
// The error names two nodes in one place, or a cable that the tree has not.
func NewFatTree(g *Graph, t Tuple, level []int8, index []int32) (*FatTree, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if len(level) != g.Nodes() || len(index) != g.Nodes() {
		return nil, fmt.Errorf("%d levels and %d indices for %d nodes", len(level), len(index), g.Nodes())
	}
	return newFatTree(g, t, level, index, parallel(g))
}

// parallel numbers the cables of each pair of nodes, in the order of the ports
// of the first of the two.
func parallel(g *Graph) []int32 {
	order := make([]int32, g.Cables())
	seen := map[Node]int32{}
	for n := range Node(g.Nodes()) {
		clear(seen)
		for _, p := range g.Ports(n) {
			if p.Peer > n {
				order[p.Out.Cable()] = seen[p.Peer]
				seen[p.Peer]++
			}
		}
	}
	return order
}

func newFatTree(g *Graph, t Tuple, level []int8, index, order []int32) (*FatTree, error) {
	h := t.Levels()
	f := &FatTree{Tuple: t, graph: g, level: level, index: index, order: order,
		at: make([][]Node, h+1), up: make([][]Link, h+1), down: make([][]Link, h+1)}
	for l := range h + 1 {
		f.at[l] = slices.Repeat([]Node{NoNode}, t.Count(l))
		f.up[l] = slices.Repeat([]Link{NoLink}, t.Count(l)*t.Up(l))
		if l > 0 {
			f.down[l] = slices.Repeat([]Link{NoLink}, t.Count(l)*t.Down(l))
		}
	}
	for n := range Node(g.Nodes()) {
		l, x := int(level[n]), int(index[n])
		if l < 0 {
			if len(g.Ports(n)) > 0 {
				return nil, fmt.Errorf("%s has cables and no place in the tree", g.Name(n))
			}
			continue
		}
		if l > h || (l == 0) != g.IsHost(n) || x < 0 || x >= len(f.at[l]) {
			return nil, fmt.Errorf("%s: no place %d at level %d", g.Name(n), x, l)
		}
		if other := f.at[l][x]; other != NoNode {
			return nil, fmt.Errorf("%s and %s are both number %d at level %d", g.Name(other), g.Name(n), x, l)
		}
		f.at[l][x] = n
	}
	for i := range g.Cables() {
		if err := f.place(Link(2 * i)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// place enters a cable into the tables of its two ends.
func (f *FatTree) place(out Link) error {
	low, high := f.graph.From(out).Node, f.graph.To(out).Node
	if f.level[low] > f.level[high] {
		low, high, out = high, low, out.Reverse()
	}
	l := int(f.level[low])
	bad := func(why string) error {
		return fmt.Errorf("cable between %s and %s: %s", f.graph.Name(low), f.graph.Name(high), why)
	}
	if int(f.level[high]) != l+1 {
		return bad("it does not join neighboring levels")
	}
	k, under := int(f.order[out.Cable()]), f.Roots(l)
	parent := int(f.index[high]) / under % f.W[l]
	if k >= f.P[l] {
		return bad(fmt.Sprintf("more than %d between the two", f.P[l]))
	}
	q := parent + k*f.W[l]
	x := int(f.index[low])
	y, r := f.above(l, x, q)
	if y != int(f.index[high]) {
		return bad("the tree has none there")
	}
	f.up[l][x*f.Up(l)+q] = out
	f.down[l+1][y*f.Down(l+1)+r] = out.Reverse()
	return nil
}

// Kind is "fattree".
func (f *FatTree) Kind() string { return "fattree" }

// String is "fattree:m1,../w1,../p1,..".
func (f *FatTree) String() string { return "fattree:" + f.Tuple.String() }

// On returns the same tree on a graph of the same nodes: each cable keeps its place.
func (f *FatTree) On(g *Graph) (Family, error) {
	if g.Nodes() != f.graph.Nodes() || g.Hosts() != f.graph.Hosts() {
		return nil, fmt.Errorf("%d nodes: the fat tree is of %d", g.Nodes(), f.graph.Nodes())
	}
	order := make([]int32, g.Cables())
	for i := range g.Cables() {
		end := g.Cable(i).A
		p, ok := f.graph.Port(end.Node, end.Port)
		if !ok || p.Peer != g.Cable(i).B.Node {
			return nil, fmt.Errorf("port %d of %s: the fat tree has no such cable", end.Port, g.Name(end.Node))
		}
		order[i] = f.order[p.Out.Cable()]
	}
	return newFatTree(g, f.Tuple, f.level, f.index, order)
}

// Level returns a node's level: 0 for a host, 1 for a leaf switch. It is negative for
// a node without cables that has no place.
func (f *FatTree) Level(n Node) int { return int(f.level[n]) }

// Index returns a node's index within its level.
func (f *FatTree) Index(n Node) int { return int(f.index[n]) }

// Node returns the node at a place, NoNode if the graph lacks it.
func (f *FatTree) Node(level, index int) Node { return f.at[level][index] }

// UpLink returns the link that leaves n by port q upward, q in 0..Up(level)-1; NoLink
// if its cable is missing. Port q goes to the parent with digit q mod w, by
// their cable number q / w.
func (f *FatTree) UpLink(n Node, q int) Link {
	l := int(f.level[n])
	return f.up[l][int(f.index[n])*f.Up(l)+q]
}

// DownLink returns the link that leaves n by port r downward, r in
// 0..Down(level)-1; NoLink if its cable is missing. Port r goes to the child with
// digit r mod m, by their cable number r / m.
func (f *FatTree) DownLink(n Node, r int) Link {
	l := int(f.level[n])
	return f.down[l][int(f.index[n])*f.Down(l)+r]
}
