package partition

import "github.com/golaunch/golaunch/network/placement/internal/random"

// starts is the number of first divisions of the coarsest graph that are tried.
const starts = 6

// bisect divides c in two sides, side 0 of size ranks, as near as the vertices'
// sizes allow.
func bisect(c *graph, size int, r *random.Source) []int8 {
	if c.vertices() > few {
		if coarse, to := coarsen(c, r); coarse != nil {
			above := bisect(coarse, size, r)
			side := make([]int8, c.vertices())
			for v := range side {
				side[v] = above[to[v]]
			}
			refine(c, side, size)
			return side
		}
	}
	var best []int8
	var least state
	for range starts {
		side := grow(c, size, r)
		refine(c, side, size)
		if s := stateOf(c, side, size); best == nil || s.before(least) {
			best, least = side, s
		}
	}
	return best
}

// grow begins side 0 at any vertex and adds the vertices that cost least, until it
// has its size.
func grow(c *graph, size int, r *random.Source) []int8 {
	n := c.vertices()
	side := make([]int8, n)
	gain := make([]int64, n)
	for v := range int32(n) {
		side[v] = 1
		gain[v] = c.pull[v]
		_, weights := c.peersOf(v)
		for _, w := range weights {
			gain[v] -= w
		}
	}
	h, seen := newHeap(gain), make([]bool, n)
	offer := func(v int32) {
		if !seen[v] || h.has(v) {
			seen[v] = true
			h.push(v)
		}
	}
	order := r.Order(n)
	for size > 0 {
		for h.empty() && len(order) > 0 { // the next piece
			offer(order[0])
			order = order[1:]
		}
		if h.empty() {
			break
		}
		v := h.pop()
		if int(c.size[v]) >= 2*size { // as near without it
			continue
		}
		side[v] = 0
		size -= int(c.size[v])
		peers, weights := c.peersOf(v)
		for i, u := range peers {
			gain[u] += 2 * weights[i]
			if side[u] == 1 {
				offer(u)
			}
		}
	}
	return side
}
