package overlay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// Whoever is above waits longer than whoever is below, so that who is next to a silent
// agent tells of it; and the launcher not too long.
func TestWhoIsAboveWaitsLonger(t *testing.T) {
	for _, levels := range []int{0, 1, 2, 5, 64} {
		c := Common{Levels: levels}
		require.LessOrEqual(t, c.Patience(0)+c.sweepPatience(0), 5*time.Second)
		for level := range max(1, levels) {
			require.GreaterOrEqual(t, c.Patience(level+1), teardownLeast)
			require.Less(t, c.Patience(level+1)+c.sweepPatience(level+1), c.Patience(level), "level %d of %d", level, levels)
		}
		require.Equal(t, teardownLeast, c.Patience(levels+7), "deeper than planned")
	}
}

// So it is where a spawn has made the tree deeper: of those that were there before only the
// root, which has the new ones below it, knows of more levels.
func TestWhoIsAboveWaitsLongerInATreeThatHasGrown(t *testing.T) {
	for _, planned := range []int{1, 2, 5} {
		for _, more := range []int{1, 2, 3, 40} {
			old := Common{Levels: planned, Degree: 2}
			c := old
			c.Grow(make([]HostEntry, more))
			require.GreaterOrEqual(t, c.Levels, 2+tree.Depth((more+1)/2, 2), "%d more hosts", more)
			require.Less(t, c.Patience(1)+c.sweepPatience(1), old.Patience(0))
			for level := 2; level <= planned; level++ {
				require.Less(t, old.Patience(level)+old.sweepPatience(level), c.Patience(1), "an old one at level %d of %d", level, planned)
			}
			for level := 2; level <= c.Levels; level++ {
				require.Less(t, c.Patience(level)+c.sweepPatience(level), c.Patience(level-1), "a new one at level %d of %d", level, c.Levels)
			}
		}
	}
}

func TestLevels(t *testing.T) {
	for _, degree := range []int{1, 2, 3, 8} {
		for _, n := range []int{1, 2, 3, 9, 10, 100} {
			hosts := make([]HostEntry, n)
			for i := range hosts {
				hosts[i].Index = job.HostIndex(i)
			}
			require.Equal(t, tree.Depth(n, degree)+1, Levels(hosts, degree, false), "%d hosts, degree %d", n, degree)
		}
	}
	relayed := []HostEntry{{Below: 5}, {Below: 2}, {}, {}, {Below: 1}, {}}
	require.Equal(t, 3, Levels(relayed, 2, true))
}

// To count the levels of a large job takes little, also where the tree is a chain: in steps
// that grow with the square of its hosts it would take longer than to start them.
func TestLevelsOfManyHosts(t *testing.T) {
	hosts := make([]HostEntry, 4096)
	for _, degree := range []int{1, 2, 32} {
		took := allocated(func() {
			require.Equal(t, tree.Depth(len(hosts), degree)+1, Levels(hosts, degree, false))
		})
		require.Less(t, took, uint64(16<<20), "bytes at degree %d", degree)
	}
}

// The deadline is that of the kill, with the grace; END takes the grace away, and leaves
// some time however late it is.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passed := 0
		d := NewDeadline(Common{Levels: 2}, 0, func() { passed++ })
		patience := Common{Levels: 2}.Patience(0)
		after := func() time.Duration { return time.Until(d.By()) }
		require.False(t, d.Begun())
		require.False(t, d.Passed())
		d.Killed(time.Minute)
		require.Equal(t, time.Minute+patience, after())
		d.Killed(2 * time.Minute)
		require.Equal(t, time.Minute+patience, after(), "a later kill ends no grace but its own")
		d.Killed(0)
		require.Equal(t, patience, after())
		time.Sleep(patience - time.Millisecond) //nolint:forbidigo // in fake time
		require.False(t, d.Passed())
		d.Ended()
		require.Equal(t, patience/4, after())
		time.Sleep(patience / 4) //nolint:forbidigo // in fake time
		synctest.Wait()
		require.True(t, d.Passed())
		require.Equal(t, 1, passed)

		d = NewDeadline(Common{Levels: 2}, 0, func() {})
		d.Killed(time.Minute)
		d.Ended()
		require.Equal(t, patience, after())
		d.Stop()
	})
}
