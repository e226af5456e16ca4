package collective

import "fmt"

// ring returns the flow by which sets of count parts go around dimension dim, upward
// or downward (way 1 or -1). A rank's set begins with part at + skip; the sets of
// neighbors are stride parts apart.
func ring(dims []int, dim int, at []int32, stride, skip, count, way int) flow {
	n, step := dims[dim], product(dims[:dim])
	return flow{n - 1, func(list []piece, r int) []piece {
		for i, own := range at {
			x := i / step % n
			to := i + ((x+way+n)%n-x)*step
			origin := ((x-way*r)%n + n) % n
			first := int(own) - int(own)%stride + (origin-x)*stride
			list = append(list, piece{from: int32(i), to: int32(to), first: first + skip, count: count})
		}
		return list
	}}
}

// bucket returns the allgather by a ring in each dimension of a torus in turn, upward
// or downward (way 1 or -1), from dimension start on [Sack 3.3.2]. The parts are
// those of ranks numbered with that dimension varying fastest.
func bucket(dims []int, start, way int) gathering {
	g := gathering{at: make([]int32, product(dims))}
	order := rotated(len(dims), start)
	for i := range g.at {
		g.at[i] = int32(position(dims, order, i))
	}
	stride := 1
	for k, dim := range order {
		g.phases = append(g.phases, phase{fmt.Sprintf("ring %d of %d", k+1, len(dims)),
			[]flow{ring(dims, dim, g.at, stride, 0, stride, way)}})
		stride *= dims[dim]
	}
	return g
}

// rotated returns the numbers 0..n-1 from start on, around.
func rotated(n, start int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = (start + k) % n
	}
	return list
}

// position returns the number of rank i where dimension order[0] varies fastest, then
// order[1]. In a torus of powers of two it is a rotation of the bits of i.
func position(dims, order []int, i int) int {
	p, stride := 0, 1
	for _, dim := range order {
		p += i / product(dims[:dim]) % dims[dim] * stride
		stride *= dims[dim]
	}
	return p
}

// buckets are several at once, at most two for each dimension: XYZ+, YZX+ and
// ZXY+ for 3, and each with its - for 6; 4 and 5 have some of these. In each
// stage they use different links of a torus [Sack 3.4.2].
func buckets(dims []int, ways int) []gathering {
	var list []gathering
	for start := range min(ways, len(dims)) {
		list = append(list, bucket(dims, start, 1))
		if start < ways-len(dims) {
			list = append(list, bucket(dims, start, -1))
		}
	}
	return list
}

// hybrids are, for each dimension, recursive doubling in all others, which no
// two of them do in one dimension at a time, and then a ring in that dimension,
// half of the parts each way around [Sack 3.6.1]. Unless all dimensions are equal,
// the ring of one is in a stage with the doubling of another.
func hybrids(dims []int) []gathering {
	var list []gathering
	for start := range dims {
		order := rotated(len(dims), start)
		ringed := order[len(dims)-1]
		b := newBox(dims...)
		var schedule []int
		for _, dim := range order[:len(dims)-1] {
			for bit := b.shift[dim+1] - 1; bit >= b.shift[dim]; bit-- {
				schedule = append(schedule, bit)
			}
		}
		stages := len(schedule)
		for bit := b.shift[ringed]; bit < b.shift[ringed+1]; bit++ {
			schedule = append(schedule, bit)
		}
		g := doublingUpTo(stages, b, always(schedule), identity(b.size()))
		stride := b.size() / dims[ringed]
		g.phases = append(g.phases, phase{"ring", []flow{
			ring(dims, ringed, g.at, stride, 0, (stride+1)/2, 1),
			ring(dims, ringed, g.at, stride, (stride+1)/2, stride/2, -1),
		}})
		list = append(list, g)
	}
	return list
}
