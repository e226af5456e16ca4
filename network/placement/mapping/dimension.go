package mapping

import (
	"fmt"
	"slices"
)

// dimensionOrders numbers the grid of the ranks anew, with another dimension
// fastest, and places them in that order.
type dimensionOrders struct{}

func (dimensionOrders) maps(p *problem) ([]named, error) {
	var out []named
	places := gridPlaces(p.grid)
	for _, order := range permutations(len(p.grid)) {
		if slices.IsSorted(order) {
			continue // the default
		}
		m := make(Map, p.ranks())
		for r, at := range places {
			place := 0
			for _, d := range order {
				place = place*p.grid[d] + at[d]
			}
			m[r] = int32(place)
		}
		out = append(out, named{fmt.Sprintf("dimensions %v", order), m})
	}
	return out, nil
}

// gridPlaces returns the coordinates of each rank, the last dimension fastest; none
// without a grid.
func gridPlaces(dims []int) [][]int {
	if dims == nil {
		return nil
	}
	n := 1
	for _, d := range dims {
		n *= d
	}
	places := make([][]int, n)
	for r := range places {
		places[r] = make([]int, len(dims))
		for rest, i := r, len(dims)-1; i >= 0; i-- {
			places[r][i] = rest % dims[i]
			rest /= dims[i]
		}
	}
	return places
}

// permutations returns all orders of 0..n-1, none for n = 0.
func permutations(n int) (all [][]int) {
	if n == 0 {
		return nil
	}
	all = [][]int{{}}
	for i := range n {
		var longer [][]int
		for _, p := range all {
			for at := range len(p) + 1 {
				longer = append(longer, slices.Insert(slices.Clone(p), at, i))
			}
		}
		all = longer
	}
	return all
}
