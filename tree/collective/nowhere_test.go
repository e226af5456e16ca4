package collective_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
)

// TestRanksThatAreNowhere has a node hold the places of a million ranks that its
// host could not start: they cost nothing but their hops.
func TestRanksThatAreNowhere(t *testing.T) {
	const ranks = 1 << 20
	hops := make([]collective.Hop, ranks+2)
	for i := range ranks {
		hops[i] = collective.Nowhere
	}
	hops[ranks/2], hops[ranks], hops[ranks+1] = 0, collective.Local, 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := collective.New(collective.Config{Ranks: ranks, Hops: hops, Node: func(int) int { return 0 }, Children: 1, Root: true})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(ranks/10), "bytes")
	var out collective.Effects
	n.Flush(&out)
	require.Empty(t, out.Faults)
}
