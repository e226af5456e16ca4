package mapping

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Hilbert's curve goes through a cube step by step.
func TestHilbertIsConnected(t *testing.T) {
	for _, dims := range [][]int{{8, 8}, {4, 4, 4}, {4, 4, 4, 4}} {
		at := gridPlaces(dims)
		order := along(at, hilbert)
		for i := range order[1:] {
			steps := 0
			for d := range dims {
				steps += abs(at[order[i]][d] - at[order[i+1]][d])
			}
			require.Equal(t, 1, steps, "%v: from %v to %v", dims, at[order[i]], at[order[i+1]])
		}
	}
}

func TestMorton(t *testing.T) {
	require.Equal(t, []int32{0, 1, 4, 5, 2, 3, 6, 7}, along(gridPlaces([]int{2, 4}), morton))
}
