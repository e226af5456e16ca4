package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxSlices bounds the sum of a torus' sizes.
const maxSlices = 4096

// torusFinder derives a torus' dimensions. A torus is the product of its
// dimensions, so opposite edges of a square belong to one step of one dimension
// (a slice); two slices of different dimensions span squares, those of one
// dimension none.
type torusFinder struct {
	*fabric
	g      *Graph
	slice  []int32 // of each edge
	slices int
	dim    []int // of each slice
	dims   int
}

func recognizeTorus(g *Graph, fab *fabric) (*Torus, error) {
	f := &torusFinder{fabric: fab, g: g}
	first, most := -1, 0
	for s := range f.peers {
		if first < 0 && len(f.peers[s]) > 0 {
			first = s
		}
		most = max(most, len(f.peers[s]))
	}
	switch {
	case f.count == 0:
		return nil, errors.New("no two switches are joined")
	case most > 2*maxDims:
		return nil, fmt.Errorf("a switch has %d neighbors", most)
	case most <= 2: // a ring or a line has no squares
		f.slice, f.slices, f.dim, f.dims = make([]int32, f.count), 1, []int{0}, 1
	default:
		f.findSlices()
		if f.slices > maxSlices {
			return nil, errors.New("its edges form few squares")
		}
		f.findDims()
	}
	if f.dims > 2*maxDims {
		return nil, fmt.Errorf("its edges form squares as if in %d dimensions", f.dims)
	}
	lines := make([]line, f.dims)
	for d := range lines {
		var err error
		if lines[d], err = f.order(d, first); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.port, b.port) })
	return f.torus(mergeTwos(lines))
}

// squares calls do for each square without diagonals: of the switches v, u, z, w
// in turn.
func (f *torusFinder) squares(do func(v, u, z, w int)) {
	for v := range f.peers {
		for i, u := range f.peers[v] {
			for _, w := range f.peers[v][i+1:] {
				if f.edge(int(u), int(w)) >= 0 {
					continue
				}
				f.common(int(u), int(w), func(z int) {
					if z != v && f.edge(v, z) < 0 {
						do(v, int(u), z, int(w))
					}
				})
			}
		}
	}
}

func (f *torusFinder) findSlices() {
	joined := newSets(f.count)
	f.squares(func(v, u, z, w int) {
		joined.join(f.edge(v, u), f.edge(w, z))
		joined.join(f.edge(v, w), f.edge(u, z))
	})
	f.slice = make([]int32, f.count)
	for e := range f.slice {
		if root := joined.find(int32(e)); int(root) == e {
			f.slice[e] = int32(f.slices)
			f.slices++
		} else {
			f.slice[e] = f.slice[root]
		}
	}
}

// findDims puts two slices into one dimension if they span no square and span
// squares with nearly the same others: a missing cable takes few of those away.
func (f *torusFinder) findDims() {
	across := make([][]bool, f.slices)
	for i := range across {
		across[i] = make([]bool, f.slices)
	}
	f.squares(func(v, u, _, w int) {
		a, b := f.slice[f.edge(v, u)], f.slice[f.edge(v, w)]
		across[a][b], across[b][a] = true, true
	})
	joined := newSets(f.slices)
	for a := range f.slices {
		for b := a + 1; b < f.slices; b++ {
			if across[a][b] || joined.find(int32(a)) == joined.find(int32(b)) {
				continue
			}
			either, one := 0, 0
			for c := range f.slices {
				if across[a][c] || across[b][c] {
					either++
				}
				if across[a][c] != across[b][c] {
					one++
				}
			}
			if 4*one <= either {
				joined.join(int32(a), int32(b))
			}
		}
	}
	f.dim = make([]int, f.slices)
	for s := range f.dim {
		if root := int(joined.find(int32(s))); root == s {
			f.dim[s] = f.dims
			f.dims++
		} else {
			f.dim[s] = f.dim[root]
		}
	}
}

// A line is one dimension: each switch's coordinate in it.
type line struct {
	size int
	wrap bool
	at   []int32
	port int32 // of the first switch, that leads into the dimension
}

// order finds the coordinates in dimension d: the parts into which the network
// falls without the dimension's edges form a path or a ring.
func (f *torusFinder) order(d, first int) (line, error) {
	joined := newSets(len(f.peers))
	f.each(func(s, t int, e int32) {
		if f.dim[f.slice[e]] != d {
			joined.join(int32(s), int32(t))
		}
	})
	layer := func(s int) int32 { return joined.find(int32(s)) }
	next := map[int32][]int32{} // neighbors of each layer
	l := line{at: slices.Repeat([]int32{-1}, len(f.peers))}
	for _, p := range f.g.Ports(f.g.Switch(first)) { // the direction of its first port is upward
		if f.g.IsHost(p.Peer) || p.Peer == f.g.Switch(first) {
			continue
		}
		t := f.g.SwitchIndex(p.Peer)
		if f.dim[f.slice[f.edge(first, t)]] == d {
			if l.port == 0 {
				l.port = p.Number
			}
			if !slices.Contains(next[layer(first)], layer(t)) {
				next[layer(first)] = append(next[layer(first)], layer(t))
			}
		}
	}
	f.each(func(s, t int, e int32) {
		if f.dim[f.slice[e]] != d {
			return
		}
		a, b := layer(s), layer(t)
		if !slices.Contains(next[a], b) {
			next[a] = append(next[a], b)
		}
		if !slices.Contains(next[b], a) {
			next[b] = append(next[b], a)
		}
	})
	var ends []int32
	for a, peers := range next {
		if len(peers) > 2 || slices.Contains(peers, a) {
			return line{}, errors.New("a dimension is neither a line nor a ring")
		}
		if len(peers) == 1 {
			ends = append(ends, a)
		}
	}
	at, begin := map[int32]int32{}, layer(first)
	if len(ends) > 0 && !slices.Contains(ends, begin) {
		begin = slices.Min(ends)
	}
	l.wrap = len(ends) == 0
	for a, ok := begin, true; ok; {
		at[a] = int32(len(at))
		ok = false
		for _, b := range next[a] {
			if _, seen := at[b]; !seen {
				a, ok = b, true
				break
			}
		}
	}
	l.size = len(at)
	if len(at) != len(next) {
		return line{}, errors.New("it is in pieces")
	}
	for s := range f.peers {
		if len(f.peers[s]) > 0 {
			c, ok := at[layer(s)]
			if !ok {
				return line{}, errors.New("it is in pieces")
			}
			l.at[s] = c
		}
	}
	return l, nil
}

// each calls do for each edge once.
func (f *fabric) each(do func(s, t int, e int32)) {
	for s := range f.peers {
		for i, t := range f.peers[s] {
			if int(t) > s {
				do(s, int(t), f.edges[s][i])
			}
		}
	}
}

// mergeTwos makes rings of four out of pairs of dimensions of two, which are the
// same network, unless a dimension is a line: then it is a mesh.
func mergeTwos(lines []line) []line {
	for _, l := range lines {
		if l.size > 2 && !l.wrap {
			return lines
		}
	}
	var merged []line
	open := -1
	for _, l := range lines {
		if l.size != 2 {
			merged = append(merged, l)
			continue
		}
		if open < 0 {
			open = len(merged)
			merged = append(merged, l)
			continue
		}
		ring := line{size: 4, wrap: true, at: slices.Clone(l.at)}
		for s, x := range merged[open].at {
			if x >= 0 {
				ring.at[s] = []int32{0, 3, 1, 2}[2*x+l.at[s]]
			}
		}
		merged[open], open = ring, -1
	}
	return merged
}

func (f *torusFinder) torus(lines []line) (*Torus, error) {
	shape := Shape{Hosts: f.hosts}
	rings := slices.ContainsFunc(lines, func(l line) bool { return l.wrap })
	index := make([]int32, len(f.peers))
	stride := 1
	for _, l := range lines {
		shape.Dims = append(shape.Dims, l.size)
		shape.Wrap = append(shape.Wrap, l.wrap || rings && l.size == 2)
		if stride > MaxNodes/l.size {
			return nil, errors.New("its dimensions are too large for its switches")
		}
		for s := range index {
			if l.at[s] < 0 {
				index[s] = -1
			} else {
				index[s] += l.at[s] * int32(stride)
			}
		}
		stride *= l.size
	}
	return NewTorus(f.g, shape, index)
}
