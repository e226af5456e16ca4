package partition

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/internal/random"
)

// Options bound the effort. The zero value is one try.
type Options struct {
	Seed uint64
	// Tries is the number of beginnings, of which the best result is kept; 0 is one.
	Tries int
	// Quality is the share of the weight that is to be within parts, 0 to 1: no
	// more tries when it is reached. 0 makes all tries.
	Quality float64
}

// Parts divides the ranks of g: part i has exactly sizes[i] ranks, which may be 0.
// It returns the part of each rank. The error says which size is none, or that they
// don't add up to the ranks.
func Parts(g *commgraph.Graph, sizes []int, o Options) ([]int32, error) {
	if len(sizes) == 0 {
		return nil, errors.New("no parts")
	}
	sum := 0
	for i, s := range sizes {
		if s < 0 || s > g.Ranks() {
			return nil, fmt.Errorf("part %d of size %d: expected 0..%d", i, s, g.Ranks())
		}
		sum += s
	}
	if sum != g.Ranks() {
		return nil, fmt.Errorf("parts for %d ranks: the graph has %d", sum, g.Ranks())
	}
	whole := newGraph(g)
	all := make([]int32, g.Ranks())
	for r := range all {
		all[r] = int32(r)
	}
	r := random.Source(o.Seed)
	var best []int32
	least := int64(-1)
	for range max(1, o.Tries) {
		d := &divider{random: &r, part: make([]int32, g.Ranks())}
		d.divide(whole, all, sizes, 0)
		d.pairs(whole, len(sizes))
		if cut := whole.cut(d.part); least < 0 || cut < least {
			best, least = d.part, cut
		}
		if o.Quality > 0 && float64(least) <= (1-o.Quality)*float64(g.Total()) {
			break
		}
	}
	return best, nil
}

// Bisect divides the ranks of g into two sides, the first of exactly size ranks. Pull
// is the cost beside the cut of each rank on the second side, less that on the first;
// nil for none. It returns the side, 0 or 1, of each rank. The error names size or pull
// if it does not fit.
func Bisect(g *commgraph.Graph, size int, pull []int64, o Options) ([]int32, error) {
	if size < 0 || size > g.Ranks() {
		return nil, fmt.Errorf("side of size %d: expected 0..%d", size, g.Ranks())
	}
	if pull != nil && len(pull) != g.Ranks() {
		return nil, fmt.Errorf("pull on %d ranks: the graph has %d", len(pull), g.Ranks())
	}
	whole := newGraph(g)
	copy(whole.pull, pull)
	r := random.Source(o.Seed)
	var best []int8
	var least int64
	for range max(1, o.Tries) {
		side := bisect(whole, size, &r)
		if cost := whole.cost(side); best == nil || cost < least {
			best, least = side, cost
		}
	}
	out := make([]int32, len(best))
	for v, s := range best {
		out[v] = int32(s)
	}
	return out, nil
}

// divider is one try.
type divider struct {
	random *random.Source
	part   []int32
}

// divide gives the vertices of c, which are those ranks of the whole graph, the
// parts first, first+1, ... of these sizes.
func (d *divider) divide(c *graph, ranks []int32, sizes []int, first int32) {
	if len(sizes) == 1 {
		for _, r := range ranks {
			d.part[r] = first
		}
		return
	}
	half, size := halve(sizes)
	side := bisect(c, size, d.random)
	for s, sizes := range [][]int{sizes[:half], sizes[half:]} {
		inner, vertices := c.induced(side, int8(s))
		below := make([]int32, len(vertices))
		for i, v := range vertices {
			below[i] = ranks[v]
		}
		d.divide(inner, below, sizes, first+int32(s*half))
	}
}

// halve cuts a list of at least two sizes where both sides are most equal. It
// returns the number of sizes on the first side and their sum.
func halve(sizes []int) (half, size int) {
	sum := 0
	for _, s := range sizes {
		sum += s
	}
	at, before := 1, sizes[0]
	half, size = at, before
	for at < len(sizes)-1 {
		before += sizes[at]
		at++
		if abs(2*before-sum) < abs(2*size-sum) {
			half, size = at, before
		}
	}
	return half, size
}

func abs(x int) int { return max(x, -x) }
