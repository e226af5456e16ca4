package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpreadSlots(t *testing.T) {
	for _, c := range []struct {
		ranks       int
		slots, want []int
		even        bool
	}{
		{4, []int{2, 2}, []int{0, 0}, true},
		{3, []int{2, 2}, []int{0, 0}, true},
		{3, []int{0, 4}, []int{0, 0}, true},
		{3, []int{1, 2}, []int{1, 2}, false},
		{4, []int{4, 1, 1}, []int{2, 1, 1}, false},
		{5, []int{1, 4, 4}, []int{1, 3, 1}, false},
		{2, []int{1, 1, 1}, []int{0, 0, 0}, true},
		{9, []int{1, 2}, []int{1, 2}, false},
	} {
		slots := append([]int(nil), c.slots...)
		require.Equal(t, c.even, SpreadSlots(c.ranks, slots), "%+v", c)
		require.Equal(t, c.want, slots, "%+v", c)
	}
}
