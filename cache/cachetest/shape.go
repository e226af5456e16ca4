package cachetest

// Shape is a tree with the world's ranks on it. Nodes are numbered in
// pre-order.
type Shape struct {
	Parent []int // parent of each node, below its number; -1 for node 0
	Ranks  []int // ranks of the world on each node
}

// Size returns the number of ranks of the world.
func (s Shape) Size() int {
	n := 0
	for _, r := range s.Ranks {
		n += r
	}
	return n
}

// Chain is n nodes below each other, with ranks ranks each.
func Chain(n, ranks int) Shape { return Tree(n, 1, ranks) }

// Tree is n nodes with up to k children each, the nodes below one spread
// evenly over its children, with ranks ranks each.
func Tree(n, k, ranks int) Shape {
	s := Shape{Parent: []int{-1}, Ranks: []int{ranks}}
	var grow func(at, below int)
	grow = func(at, below int) {
		for left := k; left > 0 && below > 0; left-- {
			part := (below + left - 1) / left
			s.Parent, s.Ranks = append(s.Parent, at), append(s.Ranks, ranks)
			grow(len(s.Parent)-1, part-1)
			below -= part
		}
	}
	grow(0, n-1)
	return s
}

// Depth returns the number of edges from a node to the root.
func (s Shape) Depth(at int) int {
	d := 0
	for ; at > 0; at = s.Parent[at] {
		d++
	}
	return d
}

// Distance returns the number of edges between two nodes.
func (s Shape) Distance(x, y int) int {
	d := 0
	for x != y { // the higher number is no ancestor of the lower
		if x < y {
			x, y = y, x
		}
		x = s.Parent[x]
		d++
	}
	return d
}

// Below reports whether node x is in the subtree of node top.
func (s Shape) Below(x, top int) bool {
	for x > top {
		x = s.Parent[x]
	}
	return x == top
}
