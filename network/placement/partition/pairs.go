package partition

import "slices"

const rounds = 3 // of pairs, at most

// pairs refines each two parts between which there is weight, as long as that cuts
// less.
func (d *divider) pairs(c *graph, parts int) {
	if parts <= 2 {
		return
	}
	for range rounds {
		before := c.cut(d.part)
		members := make([][]int32, parts)
		for v, p := range d.part {
			members[p] = append(members[p], int32(v))
		}
		number := make([]int32, c.vertices())
		for _, pair := range d.touching(c) {
			d.pair(c, members, pair, number)
		}
		if c.cut(d.part) >= before {
			return
		}
	}
}

// touching returns the pairs of parts between which there is weight, in order.
func (d *divider) touching(c *graph) [][2]int32 {
	var list [][2]int32
	seen := map[[2]int32]bool{}
	for v := range int32(c.vertices()) {
		peers, _ := c.peersOf(v)
		for _, u := range peers {
			pair := [2]int32{d.part[v], d.part[u]}
			if pair[0] < pair[1] && !seen[pair] {
				seen[pair] = true
				list = append(list, pair)
			}
		}
	}
	slices.SortFunc(list, func(x, y [2]int32) int { return slices.Compare(x[:], y[:]) })
	return list
}

// pair refines two parts.
func (d *divider) pair(c *graph, members [][]int32, pair [2]int32, number []int32) {
	size := len(members[pair[0]])
	vertices := slices.Concat(members[pair[0]], members[pair[1]])
	side := make([]int8, len(vertices))
	for i, v := range vertices {
		number[v] = int32(i)
		if i >= size {
			side[i] = 1
		}
	}
	refine(c.sub(vertices, func(u int32) (int32, bool) {
		return number[u], d.part[u] == pair[0] || d.part[u] == pair[1]
	}), side, size)
	for s := range pair {
		members[pair[s]] = members[pair[s]][:0:0]
	}
	for i, v := range vertices {
		p := pair[side[i]]
		d.part[v] = p
		members[p] = append(members[p], v)
	}
}
