package levels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
)

// Candidate is a map that Candidates compares.
type Candidate struct {
	Name string
	At   []int32 // the core of each rank
	Max  float64 // seconds, of the rank that communicates longest
	Sum  float64 // of all ranks
}

// better orders candidates: by the longest time to seven digits, which leaves rounding
// out, and by the sum where that is equal.
func better(a, b Candidate) int {
	return cmp.Or(cmp.Compare(float32(a.Max), float32(b.Max)), cmp.Compare(a.Sum, b.Sum))
}

// ordersKept bounds the orders of a grid, the best ones, that are candidates,
// ordersTried those that are joined with partitions.
const (
	ordersKept  = 10
	ordersTried = 2
)

// boxesKept bounds the boxes of a size that are tried, the most compact ones.
const boxesKept = 8

// beginnings is the number of recursive maps, each with a seed of its own: the choice
// among cuts of about the same weight makes a difference to the longest time.
const beginnings = 4

// refined is the number of candidates, the best ones, that are refined.
const refined = 6

// Candidates makes maps in every way that this package has, and returns them, best
// first: rank order, so that the best is none that is worse; recursive mapping of each
// depth, from several seeds; where ranks are a grid with these dimensions (nil where
// they are not; commgraph.Graph.Grid guesses them), orders of the dimensions alone and
// with partitions below some level; and the best of these refined. Weights of g are
// bytes. Of p, Loop and Partition count.
func Candidates(g *commgraph.Graph, c *Costs, dims []int, p Plan) ([]Candidate, error) {
	m := c.Machine
	if err := m.fits(g); err != nil {
		return nil, err
	}
	t := &trials{g: g, c: c}
	t.add("rank order", m.Default())
	p.Order, p.Runs = nil, 0
	for i := range beginnings {
		q := p
		q.Partition.Seed += uint64(i)
		at, err := Recursive(g, m, q)
		if err != nil {
			return nil, err
		}
		for depth := range m.Levels() {
			t.add(fmt.Sprintf("recursive to %s, seed %d", m.Name(depth), q.Partition.Seed), m.Shallow(at, depth))
		}
	}
	if dims != nil {
		if err := t.grid(dims, p); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.list, better)
	for _, x := range t.list[:min(refined, len(t.list))] {
		at := slices.Clone(x.At)
		if swaps, err := c.Refine(g, at, g.Ranks()); err != nil {
			return nil, err
		} else if swaps > 0 {
			t.add(x.Name+", refined", at)
		}
	}
	slices.SortStableFunc(t.list, better)
	return t.list, nil
}

// trials are the candidates so far.
type trials struct {
	g    *commgraph.Graph
	c    *Costs
	list []Candidate
}

func (t *trials) add(name string, at []int32) {
	x := Candidate{Name: name, At: at}
	for _, s := range t.c.Times(t.g, at) {
		x.Max, x.Sum = max(x.Max, s), x.Sum+s
	}
	t.list = append(t.list, x)
}

// grid adds the maps of orders of a grid's dimensions: with boxes as large as the
// largest entity of each level, and without boxes.
func (t *trials) grid(dims []int, p Plan) error {
	m := t.c.Machine
	shapes, err := t.shapes(dims)
	if err != nil {
		return err
	}
	byName := map[string][]int32{}
	pure := &trials{g: t.g, c: t.c}
	cores := m.orderedCores()
	for _, box := range shapes {
		orders, err := Orders(dims, box)
		if err != nil {
			return err
		}
		for _, o := range orders {
			at := make([]int32, len(cores))
			for i, rank := range o.Ranks {
				at[rank] = cores[i]
			}
			byName[o.Name] = o.Ranks
			pure.add(o.Name, at)
		}
		slices.SortStableFunc(pure.list, better)
		for _, x := range pure.list[min(ordersKept, len(pure.list)):] {
			delete(byName, x.Name)
		}
		pure.list = pure.list[:min(ordersKept, len(pure.list))]
	}
	t.list = append(t.list, pure.list...)
	for _, x := range pure.list[:min(ordersTried, len(pure.list))] {
		for runs := 1; runs < m.Levels(); runs++ {
			p.Order, p.Runs = byName[x.Name], runs
			at, err := Recursive(t.g, m, p)
			if err != nil {
				return err
			}
			t.add(fmt.Sprintf("%s to %s, recursive below", x.Name, m.Name(runs-1)), at)
		}
	}
	return nil
}

// shapes returns the boxes to walk through a grid by: as large as the largest entity of
// each level, and the whole grid, which is nil.
func (t *trials) shapes(dims []int) ([][]int, error) {
	if _, err := Orders(dims, nil); err != nil {
		return nil, err
	}
	ranks := 1
	for _, d := range dims {
		ranks *= d
	}
	if ranks != t.g.Ranks() {
		return nil, fmt.Errorf("a grid of dimensions %v has %d ranks: there are %d", dims, ranks, t.g.Ranks())
	}
	shapes := [][]int{nil}
	sizes := t.c.Machine.largest()
	for l, size := range sizes {
		if size == ranks || slices.Contains(sizes[:l], size) {
			continue
		}
		boxes := boxesOf(dims, size)
		slices.SortStableFunc(boxes, func(a, b []int) int { return cmp.Compare(surface(dims, a), surface(dims, b)) })
		shapes = append(shapes, boxes[:min(boxesKept, len(boxes))]...)
	}
	return shapes, nil
}

// surface counts the ranks of a box that have a neighbor outside, on one side of it in
// each dimension.
func surface(dims, box []int) int {
	ranks, sum := 1, 0
	for _, n := range box {
		ranks *= n
	}
	for d, n := range box {
		if n < dims[d] {
			sum += ranks / n
		}
	}
	return sum
}

// Dynamic chooses the mapping depth of a recursive map [Sahoo, algorithm 2]: that whose
// messages arrive first if all are sent at once, the least of equal ones. It returns
// the simulated time of each depth.
func Dynamic(g *commgraph.Graph, c *Costs, at []int32, s Sharing) (depth int, outcome []Simulated, err error) {
	for d := range c.Machine.Levels() {
		one, err := s.Simulate(g, c, c.Machine.Shallow(at, d))
		if err != nil {
			return 0, nil, err
		}
		outcome = append(outcome, one)
		if one.Time < outcome[depth].Time {
			depth = d
		}
	}
	return depth, outcome, nil
}
