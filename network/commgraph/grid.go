package commgraph

import "slices"

// maxGridDims is the most dimensions that Grid tries, gridEdges how many edges it
// looks at.
const (
	maxGridDims = 4
	gridEdges   = 1 << 14
)

// Grid guesses the grid in which a program has numbered its ranks: the sizes by which,
// the last dimension fastest, messages go the fewest steps, where a step is to the next
// place in one dimension and ends are joined. It is false if no grid is at least twice
// as good as chance.
func (g *Graph) Grid() ([]int, bool) {
	edges, weight := g.sample()
	var best []int
	var least float64
	try := func(dims []int) {
		steps, chance := 0.0, 0.0
		for _, n := range dims {
			chance += float64(n) / 4
		}
		for _, e := range edges {
			steps += float64(float64(e.Weight) * float64(distance(dims, int(e.A), int(e.B)))) // rounded alike on all machines
		}
		if 2*steps < weight*chance && (best == nil || steps < least) {
			least, best = steps, slices.Clone(dims)
		}
	}
	var factor func(dims []int, rest int)
	factor = func(dims []int, rest int) {
		if len(dims) > 0 && rest > 1 {
			try(append(dims, rest))
		}
		if len(dims) == maxGridDims-1 {
			return
		}
		for n := 2; n <= rest/2; n++ {
			if rest%n == 0 {
				factor(append(dims, n), rest/n)
			}
		}
	}
	factor(make([]int, 0, maxGridDims), g.Ranks())
	return best, best != nil
}

// sample has edges from all over the graph and their sum.
func (g *Graph) sample() (edges []Edge, weight float64) {
	every := 1 + uint32(len(g.peers)/(2*gridEdges))
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			scattered := (uint32(g.first[r]) + uint32(i)) * 2654435769 >> 8 // by no stride that grids have
			if p > r && scattered%every == 0 {
				edges = append(edges, Edge{r, p, weights[i]})
				weight += float64(weights[i])
			}
		}
	}
	return edges, weight
}

// distance returns the number of steps between two ranks of a grid.
func distance(dims []int, a, b int) int {
	steps := 0
	for i := len(dims) - 1; i >= 0; i-- {
		n := dims[i]
		d := a%n - b%n
		d = max(d, -d)
		steps += min(d, n-d)
		a, b = a/n, b/n
	}
	return steps
}
