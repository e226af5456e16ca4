package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// treeFinder derives the places of a fat tree's nodes. A component of the nodes
// up to level l is a smaller tree, whose parent is the component up to l+1 that
// it is in; that gives the digits above l. The cables between levels l and l+1
// fall into bundles: each joins the switches whose digits up to l are equal. The
// digits are found bottom up in one chain of components, and then handed down
// from parents to all others through the bundles.
type treeFinder struct {
	g      *Graph
	height int
	level  []int8
	comp   [][]int32 // comp[l][n]: component of n up to level l; -1 above it
	comps  [][]treeComp
	bundle [][]int32 // bundle[l][n]: of the cables between l and l+1
	low    []int32   // digits of a switch up to its level
	t      Tuple
}

// A treeComp is a component up to some level.
type treeComp struct {
	top      []Node // its nodes at that level
	children []int32
	parent   int32
	place    int32 // number within its parent
}

func recognizeFatTree(g *Graph) (*FatTree, error) {
	f := &treeFinder{g: g}
	if err := f.levels(); err != nil {
		return nil, err
	}
	if f.lower() {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	if err := f.components(); err != nil {
		return nil, err
	}
	f.bundles()
	f.tuple()
	if err := f.t.Check(); err != nil {
		return nil, err
	}
	if err := f.digits(); err != nil {
		return nil, err
	}
	return NewFatTree(g, f.t, f.level, f.indices())
}

// components numbers the components of each level, by their first node.
func (f *treeFinder) components() error {
	g, joined := f.g, newSets(f.g.Nodes())
	f.comp, f.comps = make([][]int32, f.height+1), make([][]treeComp, f.height+1)
	for l := range f.height + 1 {
		for n := range Node(g.Nodes()) {
			if int(f.level[n]) != l {
				continue
			}
			for _, p := range g.Ports(n) {
				if int(f.level[p.Peer]) == l-1 {
					joined.join(int32(n), int32(p.Peer))
				}
			}
		}
		f.comp[l] = slices.Repeat([]int32{-1}, g.Nodes())
		number := map[int32]int32{}
		for n := range Node(g.Nodes()) {
			if f.level[n] < 0 || int(f.level[n]) > l {
				continue
			}
			root := joined.find(int32(n))
			c, ok := number[root]
			if !ok {
				c = int32(len(f.comps[l]))
				number[root] = c
				f.comps[l] = append(f.comps[l], treeComp{parent: -1})
			}
			f.comp[l][n] = c
			if int(f.level[n]) == l {
				f.comps[l][c].top = append(f.comps[l][c].top, n)
			}
		}
	}
	if n := len(f.comps[f.height]); n > 1 {
		return fmt.Errorf("it is in %d pieces", n)
	}
	for l := range f.height {
		for n := range Node(g.Nodes()) {
			child := f.comp[l][n]
			if child < 0 || f.comps[l][child].parent >= 0 {
				continue
			}
			parent := f.comp[l+1][n]
			up := &f.comps[l+1][parent]
			f.comps[l][child].parent, f.comps[l][child].place = parent, int32(len(up.children))
			up.children = append(up.children, child)
		}
	}
	f.orderHosts()
	return nil
}

// orderHosts numbers the hosts of a leaf switch by its ports.
func (f *treeFinder) orderHosts() {
	for c := range f.comps[1] {
		leaf := &f.comps[1][c]
		place := int32(0)
		for _, s := range leaf.top[:1] {
			for _, p := range f.g.Ports(s) {
				if f.level[p.Peer] == 0 && (place == 0 || leaf.children[place-1] != f.comp[0][p.Peer]) {
					child := f.comp[0][p.Peer]
					if at := slices.Index(leaf.children, child); at >= int(place) {
						leaf.children[at], leaf.children[place] = leaf.children[place], child
						place++
					}
				}
			}
		}
		for i, child := range leaf.children {
			f.comps[0][child].place = int32(i)
		}
	}
}

// bundles numbers, for each pair of levels, the connected sets of their cables.
func (f *treeFinder) bundles() {
	f.bundle = make([][]int32, f.height)
	for l := range f.height {
		joined := newSets(f.g.Nodes())
		for n := range Node(f.g.Nodes()) {
			if int(f.level[n]) == l {
				for _, p := range f.g.Ports(n) {
					if int(f.level[p.Peer]) == l+1 {
						joined.join(int32(n), int32(p.Peer))
					}
				}
			}
		}
		for n := range joined {
			joined[n] = joined.find(int32(n))
		}
		f.bundle[l] = joined
	}
}

// tuple takes the greatest numbers found anywhere, so that parts may be missing.
func (f *treeFinder) tuple() {
	h := f.height
	f.t = Tuple{M: make([]int, h), W: make([]int, h), P: make([]int, h)}
	for l := range h {
		for c := range f.comps[l+1] {
			f.t.M[l] = max(f.t.M[l], len(f.comps[l+1][c].children))
		}
		parents := map[int32]int{}
		cables := map[Node]int{}
		for n := range Node(f.g.Nodes()) {
			if int(f.level[n]) == l+1 {
				parents[f.bundle[l][n]]++
				f.t.W[l] = max(f.t.W[l], parents[f.bundle[l][n]])
				clear(cables)
				for _, p := range f.g.Ports(n) {
					if int(f.level[p.Peer]) == l {
						cables[p.Peer]++
						f.t.P[l] = max(f.t.P[l], cables[p.Peer])
					}
				}
			}
		}
	}
}

// digits finds the digits of the switches up to their levels.
func (f *treeFinder) digits() error {
	f.low = slices.Repeat([]int32{-1}, f.g.Nodes())
	chain := make([]int32, f.height+1) // the components whose digits are chosen
	for l := f.height; l > 0; l-- {
		// The child with the most switches, and then hosts: the least is missing there.
		chain[l-1] = slices.MaxFunc(f.comps[l][chain[l]].children, func(a, b int32) int {
			x, y := &f.comps[l-1][a], &f.comps[l-1][b]
			return cmp.Or(cmp.Compare(min(1, len(x.children)), min(1, len(y.children))), cmp.Compare(len(x.top), len(y.top)), cmp.Compare(b, a))
		})
	}
	f.low[f.comps[0][chain[0]].top[0]] = 0
	for l := range f.height {
		if err := f.raise(l, &f.comps[l][chain[l]], &f.comps[l+1][chain[l+1]]); err != nil {
			return err
		}
	}
	for l := f.height; l > 0; l-- {
		for c := range f.comps[l] {
			if err := f.hand(l, &f.comps[l][c]); err != nil {
				return err
			}
		}
	}
	return nil
}

// raise gives the switches of a component digits from those of its child: equal
// ones up to l within a bundle, and then their order at the child's ports.
func (f *treeFinder) raise(l int, child, parent *treeComp) error {
	roots := f.t.Roots(l)
	low := map[int32]int32{} // of each bundle
	used := make([]bool, roots)
	next := map[int32]int32{}
	set := func(n Node) {
		b := f.bundle[l][n]
		f.low[n] = low[b] + next[b]*int32(roots)
		next[b]++
	}
	for _, n := range child.top {
		low[f.bundle[l][n]] = f.low[n]
		if used[f.low[n]] {
			return fmt.Errorf("%s shares its place with another switch", f.g.Name(n))
		}
		used[f.low[n]] = true
		for _, p := range f.g.Ports(n) {
			if int(f.level[p.Peer]) == l+1 && f.low[p.Peer] < 0 {
				set(p.Peer)
			}
		}
	}
	for _, n := range parent.top { // those that the child has no cable to
		if f.low[n] >= 0 {
			continue
		}
		b := f.bundle[l][n]
		if _, ok := low[b]; !ok {
			free := slices.Index(used, false)
			if free < 0 {
				return fmt.Errorf("%s is one switch too many at level %d", f.g.Name(n), l+1)
			}
			used[free], low[b] = true, int32(free)
		}
		set(n)
	}
	return nil
}

// hand gives the switches below a component the digits of their bundles.
func (f *treeFinder) hand(l int, c *treeComp) error {
	roots := int32(f.t.Roots(l - 1))
	of := map[int32]int32{} // bundle's digits
	for _, n := range c.top {
		b := f.bundle[l-1][n]
		if want, ok := of[b]; ok && want != f.low[n]%roots {
			return fmt.Errorf("%s is joined like no switch of a fat tree", f.g.Name(n))
		}
		of[b] = f.low[n] % roots
	}
	for _, child := range c.children {
		used := make([]bool, roots)
		var rest []Node // without cables upward
		for _, n := range f.comps[l-1][child].top {
			low, ok := of[f.bundle[l-1][n]]
			if !ok {
				rest = append(rest, n)
				continue
			}
			if used[low] {
				return fmt.Errorf("%s shares its place with another switch", f.g.Name(n))
			}
			used[low], f.low[n] = true, low
		}
		for _, n := range rest {
			free := slices.Index(used, false)
			if free < 0 {
				return fmt.Errorf("%s is one switch too many at level %d", f.g.Name(n), l-1)
			}
			used[free], f.low[n] = true, int32(free)
		}
	}
	return nil
}

// indices puts the digits of the components above together with those below.
func (f *treeFinder) indices() []int32 {
	index := make([]int32, f.g.Nodes())
	above := make([][]int32, f.height+1) // of each component
	for l := f.height; l >= 0; l-- {
		above[l] = make([]int32, len(f.comps[l]))
		for c := range f.comps[l] {
			if l < f.height {
				comp := &f.comps[l][c]
				above[l][c] = above[l+1][comp.parent]*int32(f.t.M[l]) + comp.place
			}
		}
	}
	for n := range index {
		if l := int(f.level[n]); l >= 0 {
			index[n] = above[l][f.comp[l][n]]*int32(f.t.Roots(l)) + f.low[n]
		}
	}
	return index
}
