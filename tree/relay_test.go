package tree

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRelayedLayouts(t *testing.T) {
	require.Empty(t, Relayed(0, 8))
	require.Equal(t, []Position{{0, 0}}, Relayed(1, 8))
	require.Equal(t, []Position{{0, 2}, {0, 0}, {1, 0}}, Relayed(2, 8))
	require.Equal(t, []Position{{0, 3}, {0, 0}, {1, 0}, {2, 0}}, Relayed(3, 8))
	require.Equal(t, []Position{{0, 4}, {1, 2}, {0, 0}, {1, 0}, {2, 0}}, Relayed(3, 2))
	require.Equal(t, []Position{
		{0, 6}, {1, 2}, {0, 0}, {1, 0}, {2, 2}, {2, 0}, {3, 0},
	}, Relayed(4, 2))
}

// The layout holds every host once and in order, at no more than k children
// and least depth, and no relay has just one child.
func TestRelayedShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 500).Draw(t, "n"), rapid.IntRange(1, 40).Draw(t, "k")
		places := Relayed(n, k)
		hosts, relays, deepest := 0, 0, 0
		var walk func(at, depth int) (end int)
		walk = func(at, depth int) int {
			p := places[at]
			if p.Below == 0 {
				require.Equal(t, hosts, p.Host)
				hosts++
				deepest = max(deepest, depth)
				return at + 1
			}
			require.Equal(t, relays, p.Host)
			relays++
			children, next := 0, at+1
			for next <= at+p.Below {
				next = walk(next, depth+1)
				children++
			}
			require.Equal(t, at+1+p.Below, next)
			require.GreaterOrEqual(t, children, 2)
			require.LessOrEqual(t, children, max(k, 2))
			return next
		}
		require.Equal(t, len(places), walk(0, 0))
		require.Equal(t, n, hosts)
		require.Equal(t, RelayDepth(n, k), deepest)
		full := 1
		for range deepest {
			full *= max(k, 2)
		}
		require.GreaterOrEqual(t, full, n)
		require.True(t, deepest == 0 || full/max(k, 2) < n, "no deeper than need be")
	})
}
