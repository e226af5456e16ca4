package job

import "slices"

// BlockOf returns the block that a rank is in, or nil. The blocks are in rank order.
func BlockOf(blocks []Block, r Rank) *Block {
	i, found := slices.BinarySearchFunc(blocks, r, func(b Block, r Rank) int {
		switch {
		case r < b.First:
			return 1
		case r >= b.First+Rank(b.Count):
			return -1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &blocks[i]
}
