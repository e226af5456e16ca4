package cache

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys as programs make them spread evenly over the nodes, differently in each
// world.
func TestHomesAreEven(t *testing.T) {
	for _, format := range []string{"%d", "P%d-businesscard", "-allgather-shm-1-%d", "key-%08x"} {
		for _, nodes := range []int{2, 7, 64, 100} {
			share := make([]int, nodes)
			const each = 200
			same := 0
			for i := range each * nodes {
				key := fmt.Appendf(nil, format, i)
				home := Home("world 0", key, nodes)
				share[home]++
				if home == Home("world 1", key, nodes) {
					same++
				}
			}
			for n, keys := range share {
				require.InDelta(t, each, keys, each/2, "%s: node %d of %d", format, n, nodes)
			}
			require.InDelta(t, each, same, each/2, "%s: homes that two worlds share", format)
		}
	}
	require.NotEqual(t, Home("a", []byte("bc"), 1<<20), Home("ab", []byte("c"), 1<<20))
	require.Zero(t, Home("", nil, 1))
}
