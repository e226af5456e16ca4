package tree

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

func hosts(n int) []job.HostIndex {
	list := make([]job.HostIndex, n)
	for i := range list {
		list[i] = job.HostIndex(i)
	}
	return list
}

func TestSplitKeepsOrderAndBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "hosts")
		k := rapid.IntRange(-1, 40).Draw(t, "degree")
		var joined []job.HostIndex
		parts := Split(hosts(n), k)
		for i, p := range parts {
			require.NotEmpty(t, p)
			require.LessOrEqual(t, len(parts[0])-len(p), 1, "sizes differ by one at most")
			if i > 0 {
				require.LessOrEqual(t, len(p), len(parts[i-1]), "larger ones first")
			}
			joined = append(joined, p...)
		}
		require.LessOrEqual(t, len(parts), max(k, 1))
		require.Equal(t, hosts(n), append([]job.HostIndex{}, joined...))
	})
}

// naiveDepth grows the tree as the agents do.
func naiveDepth(list []job.HostIndex, k int) int {
	deepest := 0
	for _, part := range Split(list[1:], k) {
		deepest = max(deepest, 1+naiveDepth(part, k))
	}
	return deepest
}

func TestDepthIsThatOfTheGrownTree(t *testing.T) {
	for _, k := range []int{1, 2, 3, 8, 64} {
		for _, n := range []int{1, 2, k, k + 1, k + 2, k * k, k*k + 1, k*k + k, k*k + k + 1, k*k + k + 2} {
			require.Equal(t, naiveDepth(hosts(n), k), Depth(n, k), "%d nodes, degree %d", n, k)
		}
	}
}

// TestPreorder holds what routing rests on: a subtree is a contiguous run.
func TestPreorder(t *testing.T) {
	var walk func(list []job.HostIndex, k int) []job.HostIndex
	walk = func(list []job.HostIndex, k int) []job.HostIndex {
		order := []job.HostIndex{list[0]}
		for _, part := range Split(list[1:], k) {
			require.Equal(t, int(part[len(part)-1]-part[0])+1, len(part), "contiguous")
			order = append(order, walk(part, k)...)
		}
		return order
	}
	require.Equal(t, hosts(100), walk(hosts(100), 3))
}
