package mapping

import "github.com/golaunch/golaunch/network/commgraph"

// maxWeight bounds the sum of the weights that are worked with: greater ones are
// halved until they fit, so that no product with a distance is too large.
const maxWeight = 1 << 44

// problem is a graph and a target of as many places, as candidates see them.
type problem struct {
	graph  *commgraph.Graph
	target *Target
	seed   uint64
	grid   []int // sizes by which ranks are numbered, nil if no grid is found

	first   []int32 // of each rank, into peers
	peers   []int32
	weights []int64
}

func newProblem(g *commgraph.Graph, t *Target, seed uint64) (*problem, error) {
	if g.Total() > maxWeight {
		var err error
		if g, err = smaller(g); err != nil {
			return nil, err
		}
	}
	p := &problem{graph: g, target: t, seed: seed, first: make([]int32, 1, g.Ranks()+1)}
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		p.peers, p.weights = append(p.peers, peers...), append(p.weights, weights...)
		p.first = append(p.first, int32(len(p.peers)))
	}
	p.grid, _ = g.Grid()
	return p, nil
}

// smaller is g with weights that are halved until their sum is small enough.
func smaller(g *commgraph.Graph) (*commgraph.Graph, error) {
	shift := 0
	for g.Total()>>shift > maxWeight {
		shift++
	}
	var edges []commgraph.Edge
	each(g, func(a, b int32, weight int64) {
		edges = append(edges, commgraph.Edge{A: a, B: b, Weight: weight >> shift})
	})
	return commgraph.New(g.Ranks(), edges)
}

func (p *problem) ranks() int { return len(p.first) - 1 }

func (p *problem) peersOf(rank int32) (peers []int32, weights []int64) {
	lo, hi := p.first[rank], p.first[rank+1]
	return p.peers[lo:hi], p.weights[lo:hi]
}

// cost returns the hop-bytes of a map, by the weights that are worked with.
func (p *problem) cost(m Map) int64 {
	var sum int64
	for r := range int32(p.ranks()) {
		peers, weights := p.peersOf(r)
		for i, u := range peers {
			if u > r {
				sum += weights[i] * int64(p.target.Distance(m[r], m[u]))
			}
		}
	}
	return sum
}
