package commgraph

import "fmt"

// Induced returns the graph of some ranks and their messages to each other: its rank i
// is ranks[i], which are in any order, each at most once. The error names a rank that
// is none, or one that comes twice.
func (g *Graph) Induced(ranks []int32) (*Graph, error) {
	number := make([]int32, g.Ranks()) // in the new graph, plus 1
	for i, r := range ranks {
		if r < 0 || int(r) >= g.Ranks() {
			return nil, fmt.Errorf("rank %d: there are ranks 0 to %d", r, g.Ranks()-1)
		}
		if number[r] != 0 {
			return nil, fmt.Errorf("rank %d comes twice", r)
		}
		number[r] = int32(i) + 1
	}
	var edges []Edge
	for i, r := range ranks {
		peers, weights := g.Peers(r)
		for k, p := range peers {
			if j := number[p] - 1; j > int32(i) {
				edges = append(edges, Edge{int32(i), j, weights[k]})
			}
		}
	}
	return New(len(ranks), edges)
}
