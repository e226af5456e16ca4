package workload

import "errors"

// BT and SP: the ranks are a square of q × q, and the grid q × q × q cells of which
// each rank has q, one in each layer, shifted from layer to layer. In the three
// dimensions it exchanges faces with the ranks beside it, with those above and
// below, and with those across.

func legalMultipartition(c *class, ranks int) error {
	q := root(ranks)
	if q*q != ranks {
		return errors.New("it takes a square, such as 16 or 25")
	}
	if most := c.grid / 3; q > most { // a cell has 3 points in each dimension
		return c.tooMany(most * most)
	}
	return nil
}

func multipartition(_ *class, ranks int) Peers {
	q := root(ranks)
	return func(s *Set, rank int) {
		i, j := rank%q, rank/q
		right, left, below, above := (i+1)%q, (i+q-1)%q, (j+1)%q, (j+q-1)%q
		s.Add(right + q*j)
		s.Add(left + q*j)
		s.Add(i + q*below)
		s.Add(i + q*above)
		s.Add(left + q*below)
		s.Add(right + q*above)
	}
}

// root returns the square root, rounded down.
func root(n int) int {
	q := 0
	for (q+1)*(q+1) <= n {
		q++
	}
	return q
}

// LU: the ranks are a grid, as square as powers of two allow, whose ends are not
// joined; each exchanges with the four beside it.

func luDims(ranks int) (x, y int) {
	l := log2(ranks)
	x = 1 << (l - l/2)
	return x, ranks / x
}

func legalLU(c *class, ranks int) error {
	if err := powerOfTwo(c, ranks); err != nil {
		return err
	}
	if x, _ := luDims(ranks); c.grid/x < 4 { // a part has 4 points in each dimension
		most := 1
		for x, _ := luDims(2 * most); c.grid/x >= 4; x, _ = luDims(2 * most) {
			most *= 2
		}
		return c.tooMany(most)
	}
	return nil
}

func lu(_ *class, ranks int) Peers {
	x, y := luDims(ranks)
	return func(s *Set, rank int) {
		row, col := rank%x, rank/x
		if row > 0 {
			s.Add(rank - 1)
		}
		if row < x-1 {
			s.Add(rank + 1)
		}
		if col > 0 {
			s.Add(rank - x)
		}
		if col < y-1 {
			s.Add(rank + x)
		}
	}
}

// CG: the matrix is on a grid of ranks, a row of which adds up its products by
// recursive halving; then each rank exchanges with the one at the transposed place.
// Where there are twice as many columns as rows, pairs of columns are taken as one.
func cg(_ *class, ranks int) Peers {
	l := log2(ranks)
	rows, cols := 1<<(l/2), 1<<(l-l/2)
	return func(s *Set, rank int) {
		for d := cols / 2; d > 0; d /= 2 {
			s.Add(rank ^ d)
		}
		if rows == cols {
			s.Add(rank%rows*rows + rank/rows)
		} else {
			half := rank / 2
			s.Add(2*(half%rows*rows+half/rows) + rank%2)
		}
	}
}

// FT: up to nz ranks have a slab each, and all exchange with all; beyond that the
// ranks are a grid of nz rows, and each exchanges with all of its row and of its
// column.

func legalFT(c *class, ranks int) error {
	if err := powerOfTwo(c, ranks); err != nil {
		return err
	}
	if most := c.ft[2] * min(c.ft[1], c.ft[2]); ranks > most {
		return c.tooMany(most)
	}
	return nil
}

func ft(c *class, ranks int) Peers {
	nz := c.ft[2]
	if ranks <= nz {
		return All(ranks)
	}
	cols := ranks / nz
	return func(s *Set, rank int) {
		row, col := rank/cols, rank%cols
		s.AddRun(row*cols, (row+1)*cols)
		for r := range nz {
			s.Add(r*cols + col)
		}
	}
}
