package workload

// MG: the ranks are a grid of three dimensions, x fastest, ends joined, and the
// points are solved on ever coarser levels, down to two in each dimension. Where a
// level has fewer points than there are ranks in a dimension, every second of the
// ranks that the finer level had goes on, with neighbors twice as far away.

// mgDims returns the ranks in each dimension.
func mgDims(ranks int) (dims [3]int) {
	l := log2(ranks)
	x := l / 3
	y := (l - x) / 2
	return [3]int{1 << x, 1 << y, 1 << (l - x - y)}
}

func legalMG(c *class, ranks int) error {
	if err := powerOfTwo(c, ranks); err != nil {
		return err
	}
	if dims := mgDims(ranks); dims[2] > c.cube {
		return c.tooMany(c.cube * c.cube * c.cube)
	}
	return nil
}

func mg(c *class, ranks int) Peers {
	dims := mgDims(ranks)
	stride := [3]int{1, dims[0], dims[0] * dims[1]}
	return func(s *Set, rank int) {
		at := [3]int{rank % dims[0], rank / stride[1] % dims[1], rank / stride[2]}
		for points := c.cube; points >= 2; points /= 2 {
			var in [3]bool // whether the rank has points of this level, by dimension
			for d := range dims {
				far := max(1, dims[d]/points)
				in[d] = at[d]%far == far-1
			}
			for d := range dims {
				// All that have points exchange borders. Those of which every second
				// leaves at the next level hand its points over, even where they have
				// none in another dimension.
				leaves := points > 2 && dims[d] > points/2
				if !(in[0] && in[1] && in[2]) && !(in[d] && leaves) {
					continue
				}
				far := max(1, dims[d]/points)
				for _, to := range [2]int{at[d] + far, at[d] - far + dims[d]} {
					s.Add(rank + (to%dims[d]-at[d])*stride[d])
				}
			}
		}
	}
}
