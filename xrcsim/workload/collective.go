package workload

import "math/bits"

// Collectives returns the peers that MPI_Init and small collective operations connect:
// recursive doubling, which barriers and sums of few bytes use, and of which the edges
// of binomial trees from rank 0 are a part. Where the ranks are no power of two, those
// beyond the largest that fits each exchange with the one as far below.
func Collectives(ranks int) Peers {
	power := 1 << log2(ranks)
	return func(s *Set, rank int) {
		if rank >= power {
			s.Add(rank - power)
			return
		}
		for d := 1; d < power; d *= 2 {
			s.Add(rank ^ d)
		}
		if rank+power < ranks {
			s.Add(rank + power)
		}
	}
}

// log2 returns the logarithm of a positive number, rounded down.
func log2(n int) int { return bits.Len(uint(n)) - 1 }
