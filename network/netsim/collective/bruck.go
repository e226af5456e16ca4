package collective

import "fmt"

// bruck is Bruck's allgather [Sack 3.2.2]: in stage s a rank sends the parts that
// it got last to the rank 2^s above. The rotation of the output that ends it is
// none here, as all parts are at their places.
func bruck(ranks int) gathering {
	g := gathering{at: identity(ranks)}
	for s := 1; s < ranks; s *= 2 {
		count := min(s, ranks-s)
		g.phases = append(g.phases, singlePhase(fmt.Sprintf("distance %d", s), func(list []piece) []piece {
			for i := range ranks {
				list = append(list, piece{from: int32(i), to: int32((i + s) % ranks), first: (i - count + 1 + ranks) % ranks, count: count})
			}
			return list
		}))
	}
	return g
}

// pairwise returns the allgather in which each rank sends its part to each other
// itself, to the next lower one first. Its reverse is the pairwise
// reduce-scatter [Sack 3.2.2]. There are ranks x (ranks-1) messages, none like
// another.
func pairwise(ranks int) gathering {
	g := gathering{at: identity(ranks)}
	for s := ranks - 1; s > 0; s-- {
		g.phases = append(g.phases, singlePhase(fmt.Sprintf("distance %d", s), func(list []piece) []piece {
			for i := range ranks {
				list = append(list, piece{from: int32(i), to: int32((i - s + ranks) % ranks), first: i, count: 1})
			}
			return list
		}))
	}
	return g
}
