package partition

import "github.com/golaunch/golaunch/network/commgraph"

// graph is a graph whose vertices stand for several ranks each.
type graph struct {
	first   []int32
	peers   []int32
	weights []int64
	size    []int32 // ranks of each vertex
	pull    []int64 // cost of the vertex on side 1, less that on side 0
}

func newGraph(g *commgraph.Graph) *graph {
	n := g.Ranks()
	c := &graph{first: make([]int32, 1, n+1), peers: make([]int32, 0, 2*g.Edges()),
		weights: make([]int64, 0, 2*g.Edges()), size: make([]int32, n), pull: make([]int64, n)}
	for v := range int32(n) {
		peers, weights := g.Peers(v)
		c.peers, c.weights = append(c.peers, peers...), append(c.weights, weights...)
		c.first = append(c.first, int32(len(c.peers)))
		c.size[v] = 1
	}
	return c
}

func (c *graph) vertices() int { return len(c.size) }

func (c *graph) peersOf(v int32) (peers []int32, weights []int64) {
	lo, hi := c.first[v], c.first[v+1]
	return c.peers[lo:hi], c.weights[lo:hi]
}

// cut returns the weight between parts.
func (c *graph) cut(part []int32) int64 {
	var cut int64
	for v := range int32(c.vertices()) {
		peers, weights := c.peersOf(v)
		for i, u := range peers {
			if u > v && part[u] != part[v] {
				cut += weights[i]
			}
		}
	}
	return cut
}

// cost returns the weight between two sides and the pull on those on side 1.
func (c *graph) cost(side []int8) int64 {
	var cost int64
	for v := range int32(c.vertices()) {
		if side[v] == 0 {
			continue
		}
		cost += c.pull[v]
		peers, weights := c.peersOf(v)
		for i, u := range peers {
			if side[u] == 0 {
				cost += weights[i]
			}
		}
	}
	return cost
}

// induced returns the graph of the vertices on one side, without their pull, and which
// these are.
func (c *graph) induced(side []int8, s int8) (*graph, []int32) {
	number := make([]int32, c.vertices())
	var vertices []int32
	for v := range int32(c.vertices()) {
		if side[v] == s {
			number[v] = int32(len(vertices))
			vertices = append(vertices, v)
		}
	}
	return c.sub(vertices, func(u int32) (int32, bool) { return number[u], side[u] == s }), vertices
}

// sub returns the graph of some vertices; number has the new number of a vertex, false
// if it is none of them.
func (c *graph) sub(vertices []int32, number func(u int32) (int32, bool)) *graph {
	edges := 0
	for _, v := range vertices {
		edges += int(c.first[v+1] - c.first[v])
	}
	n := len(vertices)
	out := &graph{first: make([]int32, 1, n+1), peers: make([]int32, 0, edges), weights: make([]int64, 0, edges),
		size: make([]int32, n), pull: make([]int64, n)}
	for i, v := range vertices {
		peers, weights := c.peersOf(v)
		for k, u := range peers {
			if j, ok := number(u); ok {
				out.peers, out.weights = append(out.peers, j), append(out.weights, weights[k])
			}
		}
		out.first = append(out.first, int32(len(out.peers)))
		out.size[i] = c.size[v]
	}
	return out
}
