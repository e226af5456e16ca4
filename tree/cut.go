package tree

import "slices"

// maxSearch bounds the steps by which Cut looks for the least number of edges, in
// proportion to its time: a second at the most.
const maxSearch = 1 << 28

// Cut lays n = len(apart) hosts out as a tree of degree k, in pre-order, that follows
// their network: as few of its edges as possible join two switches. apart[i] is the
// number of levels of switches that part host i from host i-1, 0 below the same leaf
// switch; apart[0] counts for nothing. below[i] is the number of hosts that follow host
// i and are below it.
//
// The tree is as deep as that of Split, or one level deeper if no tree of that depth
// enters each switch once, which takes one edge less than there are switches. Where
// the deeper one can't either, the number of its edges between switches is the least
// that contiguous ranges allow. Of the trees that enter each switch once it is one
// that crosses few of the levels above, and of those one whose largest part is as small
// as can be, at each host in turn.
//
// below is nil where there is nothing to choose, with one switch or k below 2, or where
// the search would take too long; then ranges are cut by Split.
func Cut(apart []int, k int) (below []int) {
	n := len(apart)
	if n == 0 || k < 2 || slices.Max(append([]int{0}, apart[1:]...)) == 0 {
		return nil
	}
	leaf := slices.Clone(apart)
	for i := range leaf {
		leaf[i] = min(leaf[i], 1)
	}
	deepest := Depth(n, k) + 1
	for depth := deepest - 1; depth <= deepest; depth++ {
		c := newCutter(leaf, k, 0)
		if c.reach(0, depth)[0] < n {
			continue
		}
		if below := search(apart, k, depth, true); below != nil {
			return below
		}
		return c.layOut(depth)
	}
	return search(leaf, k, deepest, false)
}

// search looks for a tree at most so deep, with as little excess as can be; whole says
// that none is to be at leaf switches.
func search(apart []int, k, depth int, whole bool) (below []int) {
	for extra := 0; (extra+1)*(extra+1) <= maxSearch/(len(apart)*k*depth); extra = 2*extra + 1 {
		c := newCutter(apart, k, extra)
		c.whole = whole
		if c.reach(0, depth)[extra] >= len(apart) {
			return c.layOut(depth)
		}
	}
	return nil
}

// CutDepth returns the number of edges from the root of a tree that Cut has laid out to
// the farthest host.
func CutDepth(below []int) (depth int) {
	var ends []int // of the ranges of those above a host
	for i, b := range below {
		for len(ends) > 0 && ends[len(ends)-1] <= i {
			ends = ends[:len(ends)-1]
		}
		depth = max(depth, len(ends))
		ends = append(ends, i+b+1)
	}
	return depth
}

// cutter looks for trees whose edges cost little. An edge costs the largest apart of
// the neighbors between its ends, which is that of the ends. A tree over hosts a to b-1
// costs at least the sum of apart over them, for each place where they are parted is
// crossed; its cost beyond that is its excess.
//
// Two facts make the search short. A tree over a to b-1 yields one over a to b-2, and
// one over a+1 to b-1, of no more cost: without its last leaf, or without its first leaf
// and with the hosts above that leaf moved on by one. So of ranges with the same head,
// depth and excess the longest is the one to know, and a cut is best as far to the
// right as its own cost allows.
type cutter struct {
	apart []int
	k     int
	extra int     // the most excess
	whole bool    // no leaf switch is entered twice
	wider []int   // for each host, the last before it that is parted more from its predecessor
	memo  [][]int // by depth: for each host and excess the end of the longest range, 0 if not known
}

func newCutter(apart []int, k, extra int) *cutter {
	c := &cutter{apart: apart, k: k, extra: extra, wider: make([]int, len(apart))}
	for i := range apart {
		at := i - 1
		for at > 0 && apart[at] <= apart[i] {
			at = c.wider[at]
		}
		c.wider[i] = max(at, 0)
	}
	return c
}

// reach returns the end of the longest range whose head is host a, at most so deep, for
// each excess up to the most.
func (c *cutter) reach(a, depth int) []int {
	for len(c.memo) <= depth {
		c.memo = append(c.memo, make([]int, len(c.apart)*(c.extra+1)))
	}
	ends := c.memo[depth][a*(c.extra+1):][:c.extra+1]
	if ends[0] == 0 {
		_, last := c.parts(a, len(c.apart), depth, len(c.apart))
		copy(ends, last)
	}
	return ends
}

// step leads to the end of the parts below a host: the last of them begins at head, the
// others have the excess before.
type step struct{ head, before int }

// parts takes up to k parts below host a, each as long as possible, but no longer than
// most, and none beyond end. ends has their end for each excess; steps has for each
// number of parts, from 1, the way to each of its ends.
func (c *cutter) parts(a, end, depth, most int) (steps [][]step, ends []int) {
	ends = make([]int, c.extra+1)
	for y := range ends {
		ends[y] = a + 1
	}
	for i := 0; i < c.k && depth > 0 && ends[0] < end; i++ {
		next, way := slices.Clone(ends), make([]step, len(ends))
		for y, p := range ends {
			if p < end && (y == 0 || p > ends[y-1]) {
				c.further(a, p, y, depth, min(end, p+most), most, next, way)
			}
		}
		for y := 1; y < len(next); y++ {
			if next[y] < next[y-1] {
				next[y], way[y] = next[y-1], way[y-1]
			}
		}
		if slices.Equal(next, ends) {
			break
		}
		steps, ends = append(steps, way), next
	}
	return steps, ends
}

// further tries one more part below host a where those before it may end anywhere up to
// p with the excess y.
func (c *cutter) further(a, p, y, depth, end, most int, next []int, way []step) {
	widest := 0
	for at := p; at > a; at = c.wider[at] {
		widest = c.apart[at]
	}
	for at := p; at > a; at = c.wider[at] {
		cost := y + widest - c.apart[at]
		if cost > c.extra || c.whole && c.apart[at] == 0 && widest > 0 {
			continue
		}
		for x, e := range c.reach(at, depth-1)[:c.extra+1-cost] {
			if e = min(e, at+most, end); e > next[cost+x] {
				next[cost+x], way[cost+x] = e, step{at, y}
			}
		}
	}
}

// layOut returns the tree over all hosts, at most so deep, which has to be possible.
func (c *cutter) layOut(depth int) []int {
	below := make([]int, len(c.apart))
	c.below(below, 0, len(c.apart), depth)
	return below
}

// below cuts the hosts below host a, up to end.
func (c *cutter) below(below []int, a, end, depth int) {
	below[a] = end - a - 1
	if below[a] == 0 {
		return
	}
	excess := 0
	for c.reach(a, depth)[excess] < end {
		excess++
	}
	low, high := 1, below[a] // the size of the largest part
	for low < high {
		mid := (low + high) / 2
		if _, ends := c.parts(a, end, depth, mid); ends[excess] >= end {
			high = mid
		} else {
			low = mid + 1
		}
	}
	steps, _ := c.parts(a, end, depth, low)
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i][excess]
		switch {
		case s.head == 0: // as far as with one part less
			continue
		case s.head < end:
			c.below(below, s.head, end, depth-1)
			end = s.head
		}
		excess = s.before
	}
}
