package mapping

import (
	"cmp"
	"fmt"
	"slices"
)

// blocks cuts the grid of the ranks into boxes as large as the groups of each level
// of the network, such as 2 x 2 x 2 ranks for a host of eight [Subramoni, table
// 5.1]: of all shapes that fit, those that cost least.
type blocks struct{}

// maxShapes bounds how many boxes in boxes are compared, maxBoxed how many ranks
// are put in boxes for that.
const (
	maxShapes = 512
	maxBoxed  = 1 << 19
)

func (blocks) maps(p *problem) ([]named, error) {
	sizes, places := p.target.nested()
	if p.grid == nil || len(sizes) == 0 {
		return nil, nil
	}
	var best *named
	var least int64
	at := gridPlaces(p.grid)
	left := min(maxShapes, max(1, maxBoxed/p.ranks()))
	// boxes has the shapes chosen so far, the smallest first.
	var try func(boxes [][]int)
	try = func(boxes [][]int) {
		if left == 0 {
			return
		}
		if len(boxes) == len(sizes) {
			left--
			m := pair(inBoxes(at, boxes), places)
			if cost := p.cost(m); best == nil || cost < least {
				best, least = &named{fmt.Sprintf("blocks %v", boxes), m}, cost
			}
			return
		}
		inner := slices.Repeat([]int{1}, len(p.grid))
		if len(boxes) > 0 {
			inner = boxes[len(boxes)-1]
		}
		for _, box := range p.shapes(inner, sizes[len(boxes)]) {
			try(append(slices.Clone(boxes), box))
		}
	}
	try(nil)
	if best == nil {
		return nil, nil
	}
	return []named{*best}, nil
}

// nested has how many places a group has at each level, from the narrowest, where
// that is the same for all groups of the level and more than of the level before;
// and the places in an order in which groups are together.
func (t *Target) nested() (sizes []int, places []int32) {
	places = Identity(t.Places())
	firsts := make([]map[int32]int32, len(t.levels)) // the first place of each group
	for i, l := range t.levels {
		firsts[i] = map[int32]int32{}
		counts := map[int32]int{}
		for place, group := range l.group {
			if _, ok := firsts[i][group]; !ok {
				firsts[i][group] = int32(place)
			}
			counts[group]++
		}
		size := t.Places() / len(counts)
		for _, n := range counts {
			if n != size {
				return nil, nil
			}
		}
		if size > 1 && (len(sizes) == 0 || size < sizes[0]) {
			sizes = append([]int{size}, sizes...)
		}
	}
	slices.SortStableFunc(places, func(a, b int32) int {
		for i, l := range t.levels {
			if c := cmp.Compare(firsts[i][l.group[a]], firsts[i][l.group[b]]); c != 0 {
				return c
			}
		}
		return 0
	})
	return sizes, places
}

// shapes returns the boxes of so many ranks that fill the grid and are filled by inner
// ones.
func (p *problem) shapes(inner []int, size int) (out [][]int) {
	var extend func(box []int, rest int)
	extend = func(box []int, rest int) {
		d := len(box)
		if d == len(p.grid) {
			if rest == 1 {
				out = append(out, slices.Clone(box))
			}
			return
		}
		for n := inner[d]; n <= min(p.grid[d], rest); n += inner[d] {
			if p.grid[d]%n == 0 && rest%n == 0 {
				extend(append(box, n), rest/n)
			}
		}
	}
	extend(make([]int, 0, len(p.grid)), size)
	return out
}

// inBoxes returns the order of the ranks by the widest boxes, then by those within, and
// at last by their numbers.
func inBoxes(at [][]int, boxes [][]int) []int32 {
	order := Identity(len(at))
	slices.SortStableFunc(order, func(a, b int32) int {
		for _, box := range slices.Backward(boxes) {
			for d, n := range box {
				if c := cmp.Compare(at[a][d]/n, at[b][d]/n); c != 0 {
					return c
				}
			}
		}
		return 0
	})
	return order
}
