package commgraph

import (
	"fmt"
	"slices"
)

// Star is rank 0 with edges to all, or nearly all, that other ranks have not among each
// other. Collective operations leave it in a record of messages, where a broadcast or a
// sum is counted as sent from or to its root. An MPI library carries these operations
// out over a tree, so a mapping must not follow the star.
type Star struct {
	Peers  int   // of rank 0
	Weight int64 // of the star: that of rank 0 with each peer, but no more than with half of them
	Total  int64 // of the graph
}

// String returns a sentence for users.
func (s Star) String() string {
	if s.Weight == s.Total {
		return fmt.Sprintf("the graph is nothing but a star from rank 0 to %d ranks, as collective operations leave: it says nothing about neighbors", s.Peers)
	}
	share := "less than 0.1%"
	if percent := 100 * float64(s.Weight) / float64(s.Total); percent >= 0.1 {
		share = fmt.Sprintf("%.1f%%", percent)
	}
	return fmt.Sprintf("rank 0 has edges to %d ranks, as collective operations leave: %s of the weight", s.Peers, share)
}

// leastStar is the least number of ranks for which a star is looked for.
const leastStar = 8

// Star finds the star of rank 0; false if there is none: rank 0 has edges to less
// than nine in ten ranks, or half of the other ranks have at least half as many.
func (g *Graph) Star() (Star, bool) {
	n := g.Ranks()
	peers, weights := g.Peers(0)
	if n < leastStar || 10*len(peers) < 9*(n-1) {
		return Star{}, false
	}
	degrees := make([]int, 0, n-1)
	for r := int32(1); r < int32(n); r++ {
		p, _ := g.Peers(r)
		degrees = append(degrees, len(p))
	}
	slices.Sort(degrees)
	if 2*degrees[len(degrees)/2] >= len(peers) {
		return Star{}, false
	}
	s := Star{Peers: len(peers), Total: g.total}
	usual := median(weights)
	for _, w := range weights {
		s.Weight += min(w, usual)
	}
	return s, true
}

// median returns the middle of weights, of an even number the higher one.
func median(weights []int64) int64 {
	return slices.Sorted(slices.Values(weights))[len(weights)/2]
}

// WithoutStar returns the graph without its star: rank 0 keeps its weight with each
// peer beyond that with half of them, the others keep all theirs. A graph without a
// star is returned as it is.
func (g *Graph) WithoutStar() *Graph {
	if _, ok := g.Star(); !ok {
		return g
	}
	_, weights := g.Peers(0)
	usual := median(weights)
	var edges []Edge
	for a := range int32(g.Ranks()) {
		peers, weights := g.Peers(a)
		for i, b := range peers {
			switch w := weights[i]; {
			case a > b:
			case a > 0:
				edges = append(edges, Edge{a, b, w})
			default:
				edges = append(edges, Edge{a, b, w - min(w, usual)})
			}
		}
	}
	rest, err := New(g.Ranks(), edges)
	if err != nil {
		panic(err) // a part of what was a graph
	}
	return rest
}
