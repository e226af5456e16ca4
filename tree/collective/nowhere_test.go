package collective_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
)

// TestRanksThatAreNowhere has a node hold the places of a million ranks that its
// host could not start: they cost nothing.
func TestRanksThatAreNowhere(t *testing.T) {
	const ranks = 1 << 20
	towards := []collective.Run{{Count: ranks / 2, Direction: collective.Nowhere}, {Count: 1, Direction: 0}, {Count: ranks/2 - 1, Direction: collective.Nowhere},
		{Count: 1, Direction: collective.Local}, {Count: 1, Direction: 0}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := collective.New(collective.Config{Ranks: ranks, Directions: towards, Node: func(int) int { return 0 }, Children: 1, Root: true})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(ranks/100), "bytes")
	var out collective.Effects
	n.Flush(&out)
	require.Empty(t, out.Faults)
}
