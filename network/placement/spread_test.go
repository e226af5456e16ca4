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
		{ranks: 4, slots: []int{2, 2}, want: []int{0, 0}, even: true},
		{ranks: 3, slots: []int{2, 2}, want: []int{0, 0}, even: true},
		{ranks: 3, slots: []int{0, 4}, want: []int{0, 0}, even: true},
		{ranks: 3, slots: []int{1, 2}, want: []int{1, 2}},
		{ranks: 4, slots: []int{4, 1, 1}, want: []int{2, 1, 1}},
		{ranks: 5, slots: []int{1, 4, 4}, want: []int{1, 3, 1}},
		{ranks: 2, slots: []int{1, 1, 1}, want: []int{0, 0, 0}, even: true},
		{ranks: 9, slots: []int{1, 2}, want: []int{1, 2}},
	} {
		slots := append([]int(nil), c.slots...)
		require.Equal(t, c.even, SpreadSlots(c.ranks, slots), "%+v", c)
		require.Equal(t, c.want, slots, "%+v", c)
	}
}
