package levels

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/commgraph"
)

// maxDims bounds the dimensions of a grid, whose orders are their permutations.
const maxDims = 4

// Order is an order of all ranks.
type Order struct {
	Name  string
	Ranks []int32
}

// Orders returns the orders in which the ranks of a grid can be walked through, dimension
// by dimension: in boxes of a size that divides the grid's, each in the order in which
// boxes are walked through; nil is without boxes. The ranks are numbered as
// MPI_Cart_create does, the last dimension fastest. Name is such as "dimensions 3,2,1
// by boxes of 6x2x2": numbered from 1, the slowest first. The error says which size is
// none, or that they are too many.
func Orders(dims, box []int) ([]Order, error) {
	if len(dims) < 1 || len(dims) > maxDims {
		return nil, fmt.Errorf("%d dimensions: expected 1..%d", len(dims), maxDims)
	}
	if box == nil {
		box = dims
	}
	if len(box) != len(dims) {
		return nil, fmt.Errorf("boxes of %d dimensions in %d", len(box), len(dims))
	}
	ranks := 1
	for i, d := range dims {
		if d < 1 || d > commgraph.MaxRanks/ranks || box[i] < 1 || d%box[i] > 0 {
			return nil, fmt.Errorf("dimensions %v, boxes of %v: expected sizes from 1 that divide those of the grid, of at most %d ranks",
				dims, box, commgraph.MaxRanks)
		}
		ranks *= d
	}
	inner, outer, boxes := make([]int, len(dims)), make([]int, len(dims)), make([]int, len(dims))
	for i, stride := len(dims)-1, 1; i >= 0; i-- {
		inner[i], outer[i], boxes[i] = stride, stride*box[i], dims[i]/box[i]
		stride *= dims[i]
	}
	var orders []Order
	permute(nil, len(dims), func(along []int) {
		var words []string
		for _, d := range along {
			words = append(words, strconv.Itoa(d+1))
		}
		name := "dimensions " + strings.Join(words, ",")
		if !slices.Equal(box, dims) {
			name += " by boxes of " + strings.ReplaceAll(strings.Trim(fmt.Sprint(box), "[]"), " ", "x")
		}
		list := walk(walk([]int32{0}, along, boxes, outer), along, box, inner)
		orders = append(orders, Order{name, list})
	})
	return orders, nil
}

// walk has, for each rank of a list, those that steps from there lead to; strides are
// the steps' lengths in ranks.
func walk(from []int32, along, steps, strides []int) []int32 {
	for _, d := range along {
		next := make([]int32, 0, len(from)*steps[d])
		for _, r := range from {
			for x := range steps[d] {
				next = append(next, r+int32(x*strides[d]))
			}
		}
		from = next
	}
	return from
}

// boxesOf returns the boxes of so many ranks that divide a grid.
func boxesOf(dims []int, ranks int) (boxes [][]int) {
	if len(dims) == 0 {
		if ranks == 1 {
			return [][]int{nil}
		}
		return nil
	}
	for n := 1; n <= min(dims[0], ranks); n++ {
		if dims[0]%n == 0 && ranks%n == 0 {
			for _, rest := range boxesOf(dims[1:], ranks/n) {
				boxes = append(boxes, append([]int{n}, rest...))
			}
		}
	}
	return boxes
}

// permute yields all orders of the numbers below n that begin with first.
func permute(first []int, n int, yield func([]int)) {
	if len(first) == n {
		yield(first)
	}
	for i := range n {
		if !slices.Contains(first, i) {
			permute(append(slices.Clone(first), i), n, yield)
		}
	}
}
