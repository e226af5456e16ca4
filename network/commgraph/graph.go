package commgraph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Limits of a graph, so that a few bytes of input can't ask for all memory.
const (
	MaxRanks = 1 << 22
	MaxEdges = 1 << 25
)

// Edge joins two ranks that send each other messages, both directions together.
type Edge struct {
	A, B   int32
	Weight int64
}

// Graph is a program's communication: its ranks, and the weight between each two
// that communicate. It has no direction. It is immutable; slices that it returns
// are its own.
type Graph struct {
	first   []int32 // of each rank, into peers; one more than ranks
	peers   []int32 // ascending for each rank
	weights []int64
	total   int64
}

// New makes a graph of edges, of which those of the same pair add up; edges of a rank
// to itself are left out, and those of weight 0. It changes the order of edges. The
// error names a rank that is none, or a weight that is negative or, in sum, too large.
func New(ranks int, edges []Edge) (*Graph, error) {
	if ranks < 1 || ranks > MaxRanks {
		return nil, fmt.Errorf("%d ranks: a graph has 1 to %d", ranks, MaxRanks)
	}
	if len(edges) > MaxEdges {
		return nil, fmt.Errorf("%d edges: a graph has at most %d", len(edges), MaxEdges)
	}
	g := &Graph{first: make([]int32, ranks+1)}
	for i, e := range edges {
		if min(e.A, e.B) < 0 || int(max(e.A, e.B)) >= ranks {
			return nil, fmt.Errorf("edge between ranks %d and %d: there are ranks 0 to %d", e.A, e.B, ranks-1)
		}
		if e.Weight < 0 {
			return nil, fmt.Errorf("edge between ranks %d and %d: weight %d is negative", e.A, e.B, e.Weight)
		}
		if e.A == e.B {
			continue
		}
		if g.total > math.MaxInt64/4-e.Weight {
			return nil, fmt.Errorf("edge between ranks %d and %d: the weights add up to more than 2^61", e.A, e.B)
		}
		g.total += e.Weight
		edges[i].A, edges[i].B = min(e.A, e.B), max(e.A, e.B)
	}
	edges = joined(edges)
	for _, e := range edges {
		g.first[e.A+1]++
		g.first[e.B+1]++
	}
	for i := range ranks {
		g.first[i+1] += g.first[i]
	}
	g.peers, g.weights = make([]int32, 2*len(edges)), make([]int64, 2*len(edges))
	at := slices.Clone(g.first)
	add := func(from, to int32, weight int64) {
		g.peers[at[from]], g.weights[at[from]] = to, weight
		at[from]++
	}
	for _, e := range edges { // lower peers first, as edges are sorted by A
		add(e.B, e.A, e.Weight)
	}
	for _, e := range edges {
		add(e.A, e.B, e.Weight)
	}
	return g, nil
}

// joined sorts edges and adds those of one pair up; loops and empty ones go.
func joined(edges []Edge) []Edge {
	slices.SortFunc(edges, func(x, y Edge) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	out := edges[:0]
	for _, e := range edges {
		switch last := len(out) - 1; {
		case e.A == e.B || e.Weight == 0:
		case last >= 0 && out[last].A == e.A && out[last].B == e.B:
			out[last].Weight += e.Weight
		default:
			out = append(out, e)
		}
	}
	return out
}

// Ranks returns the number of ranks.
func (g *Graph) Ranks() int { return len(g.first) - 1 }

// Edges returns the number of pairs that communicate.
func (g *Graph) Edges() int { return len(g.peers) / 2 }

// Total returns the sum of all edges' weights, each edge once.
func (g *Graph) Total() int64 { return g.total }

// Peers returns the ranks that a rank communicates with, ascending, and the weight of
// each.
func (g *Graph) Peers(rank int32) (peers []int32, weights []int64) {
	lo, hi := g.first[rank], g.first[rank+1]
	return g.peers[lo:hi], g.weights[lo:hi]
}

// Uniform tells whether all ranks, two at least, send each other the same.
func (g *Graph) Uniform() bool {
	n := g.Ranks()
	if n < 2 || g.Edges() != n*(n-1)/2 {
		return false
	}
	return !slices.ContainsFunc(g.weights, func(w int64) bool { return w != g.weights[0] })
}
