package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxDims is the most dimensions of a stencil.
const maxDims = 8

// cart is a stencil: a grid of ranks as MPI_Cart_create numbers it, the last
// dimension fastest, of which each exchanges with those around it.
type cart struct {
	dims     []int
	periodic bool
	differ   int // in how many dimensions a neighbor may differ, by one in each
}

// parseCart reads the text behind "cart:" as package commgraph does: the sizes, or only
// the number of dimensions as 3d; whether ends are joined; the number of neighbors.
func parseCart(words []string) ([]Source, error) {
	name := "cart:" + strings.Join(words, ":")
	if len(words) == 0 {
		return nil, fmt.Errorf("expected sizes or a number of dimensions, such as 8x8x8 or 3d")
	}
	dims, ranks, err := cartDims(words[0])
	if err != nil {
		return nil, err
	}
	c := cart{dims: dims, differ: 1}
	words = words[1:]
	if len(words) > 0 && (words[0] == "periodic" || words[0] == "open") {
		c.periodic = words[0] == "periodic"
		words = words[1:]
	}
	if len(words) > 0 {
		if c.differ = reach(len(dims), words[0]); c.differ == 0 || len(words) > 1 {
			return nil, fmt.Errorf("%q: expected periodic, open or the number of neighbors: %s", strings.Join(words, ":"), neighborhoods(len(dims)))
		}
	}
	return []Source{{Name: name, Ranks: ranks, make: func(n int) (Peers, error) {
		grid := c
		if ranks == 0 {
			grid.dims = balance(n, len(dims))
		}
		return grid.peers(), nil
	}}}, nil
}

// cartDims reads 8x8x8, or 3d: then the sizes, and the ranks, are 0.
func cartDims(word string) (dims []int, ranks int, err error) {
	if number, ok := strings.CutSuffix(word, "d"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > maxDims {
			return nil, 0, fmt.Errorf("%q: expected 1d to %dd", word, maxDims)
		}
		return make([]int, n), 0, nil
	}
	ranks = 1
	for size := range strings.SplitSeq(word, "x") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 || n > MaxRanks || len(dims) == maxDims {
			return nil, 0, fmt.Errorf("%q: expected up to %d sizes, such as 8x8x8, or their number, such as 3d", word, maxDims)
		}
		dims = append(dims, n)
		if ranks *= n; ranks > MaxRanks {
			return nil, 0, fmt.Errorf("%q: more than %d ranks", word, MaxRanks)
		}
	}
	return dims, ranks, nil
}

// hood returns the number of neighbors that differ in up to so many of n dimensions.
func hood(n, differ int) int {
	sum, choose := 0, 1
	for k := 1; k <= differ; k++ {
		choose = choose * (n - k + 1) / k
		sum += choose << k
	}
	return sum
}

// reach returns the number of dimensions in which neighbors of that number differ at
// most; 0 if it is none.
func reach(n int, word string) int {
	for k := 1; k <= n; k++ {
		if word == strconv.Itoa(hood(n, k)) {
			return k
		}
	}
	return 0
}

func neighborhoods(n int) string {
	var list []string
	for k := 1; k <= n; k++ {
		list = append(list, strconv.Itoa(hood(n, k)))
	}
	return strings.Join(list, ", ")
}

// balance returns sizes of a grid of so many ranks, near to each other, the largest
// first, as MPI_Dims_create has them: prime factors, the largest first, each go to
// the dimension that is smallest.
func balance(ranks, n int) []int {
	var factors []int // ascending
	for f := 2; ranks > 1; f++ {
		for ; ranks%f == 0; ranks /= f {
			factors = append(factors, f)
		}
	}
	dims := slices.Repeat([]int{1}, n)
	for _, f := range slices.Backward(factors) {
		least := slices.Index(dims, slices.Min(dims))
		dims[least] *= f
	}
	slices.Sort(dims)
	slices.Reverse(dims)
	return dims
}

// peers go through all offsets of at most differ dimensions.
func (c cart) peers() Peers {
	offsets := c.offsets()
	return func(s *Set, rank int) {
		var at [maxDims]int
		for i, rest := len(c.dims)-1, rank; i >= 0; i-- {
			at[i] = rest % c.dims[i]
			rest /= c.dims[i]
		}
	next:
		for _, offset := range offsets {
			to := 0
			for i, n := range c.dims {
				x := at[i] + int(offset[i])
				if (x < 0 || x >= n) && !c.periodic {
					continue next
				}
				to = to*n + (x+n)%n
			}
			s.Add(to)
		}
	}
}

// offsets are -1, 0 or 1 in each dimension, not all 0.
func (c cart) offsets() (list [][maxDims]int8) {
	var add func(offset [maxDims]int8, i, differ int)
	add = func(offset [maxDims]int8, i, differ int) {
		switch {
		case differ > c.differ:
		case i < len(c.dims):
			for x := int8(-1); x <= 1; x++ {
				offset[i] = x
				add(offset, i+1, differ+int(x*x))
			}
		case differ > 0:
			list = append(list, offset)
		}
	}
	add([maxDims]int8{}, 0, 0)
	return list
}
