package levels

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/partition"
	"github.com/golaunch/golaunch/network/topology"
)

// Plan configures Recursive.
type Plan struct {
	// Order is an order of all ranks; nil is rank order.
	Order []int32
	// Runs is the number of levels, from the top, whose entities take consecutive
	// ranks of Order. Those below partition the graph.
	Runs int
	// Loop carries out parallel work; nil is one after the other.
	Loop topology.Loop
	// Partition is for the partitioner.
	Partition partition.Options
}

// Recursive maps the graph of ranks from the top [Sahoo, algorithm 1]: it cuts it into
// a part for each entity of the highest level, as large as the entity has cores, with
// little weight between them; then each part among the entities within, and so on to
// the last level. A map of less depth is Shallow of it. Weights of g may be of any unit.
func Recursive(g *commgraph.Graph, m *Machine, p Plan) ([]int32, error) {
	if err := m.fits(g); err != nil {
		return nil, err
	}
	order := p.Order
	if order == nil {
		order = m.Default()
	} else {
		if err := permutation(order, g.Ranks()); err != nil {
			return nil, fmt.Errorf("order of ranks: %w", err)
		}
		var err error
		if g, err = g.Induced(order); err != nil {
			return nil, err
		}
	}
	if p.Loop == nil {
		p.Loop = topology.Serial
	}
	r := &recursion{m, p, make([]int32, g.Ranks())}
	if err := r.place(0, g, order, m.Default()); err != nil {
		return nil, err
	}
	return r.at, nil
}

// Shallow returns a map with a mapping depth, 0 to Levels()-1: within each entity of that
// level, the ranks that at puts there are in rank order, as [Sahoo, algorithm 1]
// leaves them.
func (m *Machine) Shallow(at []int32, depth int) []int32 {
	of := m.of[depth]
	ranks := m.Default()
	slices.SortStableFunc(ranks, func(a, b int32) int { return int(of[at[a]] - of[at[b]]) })
	cores := m.Default()
	slices.SortStableFunc(cores, func(a, b int32) int { return int(of[a] - of[b]) })
	out := make([]int32, len(at))
	for i, rank := range ranks {
		out[rank] = cores[i]
	}
	return out
}

// permutation reports an error if a list is not of each number below n once.
func permutation(list []int32, n int) error {
	if len(list) != n {
		return fmt.Errorf("%d numbers: expected each of 0 to %d once", len(list), n-1)
	}
	seen := make([]bool, n)
	for _, x := range list {
		if x < 0 || int(x) >= n || seen[x] {
			return fmt.Errorf("%d: expected each of 0 to %d once", x, n-1)
		}
		seen[x] = true
	}
	return nil
}

// recursion is one call of Recursive. Each part writes its own ranks in at.
type recursion struct {
	m    *Machine
	plan Plan
	at   []int32
}

// place maps ranks onto as many cores of one entity of the level above. Rank i of g is
// ranks[i].
func (r *recursion) place(level int, g *commgraph.Graph, ranks, cores []int32) error {
	if level == r.m.Levels() {
		for i, rank := range ranks {
			r.at[rank] = cores[i]
		}
		return nil
	}
	within := r.coresOf(level, cores)
	if len(within) == 1 {
		return r.place(level+1, g, ranks, cores)
	}
	parts, err := r.parts(level, g, ranks, within)
	if err != nil {
		return err
	}
	errs := make([]error, len(within))
	r.plan.Loop(len(within), func(i int) {
		sub, err := g.Induced(parts[i])
		if err != nil {
			errs[i] = err
			return
		}
		own := make([]int32, len(parts[i]))
		for k, local := range parts[i] {
			own[k] = ranks[local]
		}
		errs[i] = r.place(level+1, sub, own, within[i])
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// coresOf returns the cores of each entity of a level, by their first cores.
func (r *recursion) coresOf(level int, cores []int32) [][]int32 {
	index := map[int32]int{}
	var within [][]int32
	for _, c := range cores {
		e := r.m.of[level][c]
		i, ok := index[e]
		if !ok {
			i = len(within)
			index[e] = i
			within = append(within, nil)
		}
		within[i] = append(within[i], c)
	}
	return within
}

// parts returns the ranks of g that go to each entity.
func (r *recursion) parts(level int, g *commgraph.Graph, ranks []int32, within [][]int32) ([][]int32, error) {
	parts := make([][]int32, len(within))
	if level < r.plan.Runs {
		first := int32(0)
		for i, cores := range within {
			for range cores {
				parts[i] = append(parts[i], first)
				first++
			}
		}
		return parts, nil
	}
	sizes := make([]int, len(within))
	for i, cores := range within {
		sizes[i] = len(cores)
	}
	part, err := partition.Parts(g, sizes, r.plan.Partition)
	if err != nil {
		return nil, fmt.Errorf("%s of %d ranks: %w", r.m.names[level], len(ranks), err)
	}
	for rank, p := range part {
		parts[p] = append(parts[p], int32(rank))
	}
	return parts, nil
}
