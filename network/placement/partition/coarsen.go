package partition

import "github.com/golaunch/golaunch/network/placement/internal/random"

// few is the number of vertices that are divided without making them fewer.
const few = 48

// coarsen puts pairs of vertices together that have much weight between them, for
// their size. It returns the smaller graph and the vertex there of each here; nil
// if hardly any could be joined.
func coarsen(c *graph, r *random.Source) (*graph, []int32) {
	n := c.vertices()
	ranks := 0
	for _, s := range c.size {
		ranks += int(s)
	}
	most := int32(max(2, 3*ranks/(2*few))) // no vertex may become too large to balance
	mate := make([]int32, n)
	for v := range mate {
		mate[v] = -1
	}
	for _, v := range r.Order(n) {
		if mate[v] >= 0 {
			continue
		}
		mate[v] = v
		peers, weights := c.peersOf(v)
		best, rating := v, 0.0
		for i, u := range peers {
			if mate[u] >= 0 || c.size[u]+c.size[v] > most {
				continue
			}
			if x := float64(weights[i]) / (float64(c.size[u]) * float64(c.size[v])); x > rating {
				best, rating = u, x
			}
		}
		mate[v], mate[best] = best, v
	}
	to, count := make([]int32, n), int32(0)
	for v := range int32(n) {
		if mate[v] >= v {
			to[v], to[mate[v]] = count, count
			count++
		}
	}
	if int(count) > n*9/10 {
		return nil, nil
	}
	return contract(c, mate, to, int(count)), to
}

// contract makes one vertex of each pair.
func contract(c *graph, mate, to []int32, count int) *graph {
	out := &graph{first: make([]int32, 1, count+1), peers: make([]int32, 0, len(c.peers)),
		weights: make([]int64, 0, len(c.peers)), size: make([]int32, count), pull: make([]int64, count)}
	at := make([]int32, count) // of each vertex, where it is among the peers; plus 1
	for v := range int32(len(mate)) {
		if mate[v] < v {
			continue
		}
		begin := len(out.peers)
		pair := []int32{v, mate[v]}
		if mate[v] == v {
			pair = pair[:1]
		}
		for _, x := range pair {
			out.size[to[v]] += c.size[x]
			out.pull[to[v]] += c.pull[x]
			peers, weights := c.peersOf(x)
			for i, u := range peers {
				switch t := to[u]; {
				case t == to[v]:
				case int(at[t]) > begin:
					out.weights[at[t]-1] += weights[i]
				default:
					out.peers, out.weights = append(out.peers, t), append(out.weights, weights[i])
					at[t] = int32(len(out.peers))
				}
			}
		}
		out.first = append(out.first, int32(len(out.peers)))
	}
	return out
}
