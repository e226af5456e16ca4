package overlay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// entriesOf returns so many hosts, each with so many of those that follow below it.
func entriesOf(n int, cut []int) []HostEntry {
	hosts := make([]HostEntry, n)
	for i := range hosts {
		hosts[i].Index = job.HostIndex(i)
		if cut != nil {
			hosts[i].Cut = cut[i]
		}
	}
	return hosts
}

// Agents grow the tree that the launcher has cut, and where it has cut none the one of
// even ranges.
func TestPartsFollowTheCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 60).Draw(t, "hosts"), rapid.IntRange(1, 9).Draw(t, "degree")
		cut := tree.Cut(rapid.SliceOfN(rapid.IntRange(0, 2), n, n).Draw(t, "apart"), k)
		var grow func(hosts []HostEntry)
		grow = func(hosts []HostEntry) {
			if cut != nil {
				require.Len(t, hosts[1:], cut[hosts[0].Index])
			}
			parts := Parts(hosts[1:], k, false)
			if cut == nil {
				index := make([]job.HostIndex, len(hosts)-1)
				for i, part := range tree.Split(index, k) {
					require.Len(t, parts[i], len(part))
				}
			}
			require.LessOrEqual(t, len(parts), k)
			for _, part := range parts {
				grow(part)
			}
		}
		grow(entriesOf(n, cut))
	})
}

// Whatever is left of a range when hosts are dead, and whatever the cuts say, goes into
// no more parts than the degree, whole and in order.
func TestPartsOfWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 40).Draw(t, "hosts"), rapid.IntRange(1, 9).Draw(t, "degree")
		hosts := entriesOf(n, rapid.SliceOfN(rapid.IntRange(-3, 50), n, n).Draw(t, "cut"))
		parts := Parts(hosts, k, false)
		require.LessOrEqual(t, len(parts), k)
		for _, part := range parts {
			require.NotEmpty(t, part)
		}
		require.Equal(t, hosts, slices.Concat(parts...))
	})
}

// A dead head leaves the cuts below it to the host that takes its place, which stay
// between switches: 4 hosts below the first switch, 3 below the second.
func TestPartsWithoutADeadHead(t *testing.T) {
	hosts := entriesOf(7, []int{6, 0, 0, 0, 2, 0, 0})
	sizes := func(parts [][]HostEntry) (sizes []int) {
		for _, part := range parts {
			sizes = append(sizes, len(part))
		}
		return sizes
	}
	require.Equal(t, []int{7}, sizes(Parts(hosts, 4, false)))
	require.Equal(t, []int{1, 1, 1, 3}, sizes(Parts(hosts[1:], 4, false)))
	require.Equal(t, []int{1, 1, 3}, sizes(Parts(hosts[2:], 4, false)), "host 0 is dead, and host 1 the head")
	require.Equal(t, []int{2, 4}, sizes(Parts(hosts[1:], 2, false)), "more than the degree are joined")
}
