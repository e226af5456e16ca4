package mapping

// greedy places the rank that has most with those that are placed where it costs
// least, one after the other.
type greedy struct{}

// maxGreedy is the most ranks for which it is tried: it looks at all free places
// for each.
const maxGreedy = 1 << 11

func (greedy) maps(p *problem) ([]named, error) {
	n := p.ranks()
	if n > maxGreedy {
		return nil, nil
	}
	m := make(Map, n)
	for r := range m {
		m[r] = -1
	}
	free := Identity(n)
	attached := make([]int64, n) // weight of each rank with those placed; -1 is placed
	for range n {
		next := 0
		for r := range attached {
			if attached[r] > attached[next] || attached[r] == attached[next] && attached[r] == 0 && p.weight(int32(r)) > p.weight(int32(next)) {
				next = r
			}
		}
		rank := int32(next)
		best, least := 0, int64(-1)
		for i, place := range free {
			if cost := p.toPlaced(m, rank, place); least < 0 || cost < least {
				best, least = i, cost
			}
		}
		m[rank] = free[best]
		free = append(free[:best], free[best+1:]...)
		attached[rank] = -1
		peers, weights := p.peersOf(rank)
		for i, u := range peers {
			if attached[u] >= 0 {
				attached[u] += weights[i]
			}
		}
	}
	return []named{{"greedy", m}}, nil
}

// weight returns all that a rank sends.
func (p *problem) weight(rank int32) (sum int64) {
	_, weights := p.peersOf(rank)
	for _, w := range weights {
		sum += w
	}
	return sum
}

// toPlaced returns the cost of a rank at a place with its peers that have one.
func (p *problem) toPlaced(m Map, rank, place int32) (sum int64) {
	peers, weights := p.peersOf(rank)
	for i, u := range peers {
		if m[u] >= 0 {
			sum += weights[i] * int64(p.target.Distance(place, m[u]))
		}
	}
	return sum
}
