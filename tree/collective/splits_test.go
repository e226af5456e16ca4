package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/tree/member"
)

// TestSplitsAtATime has splits under way at a time, of a communicator and of another,
// and other communicators made meanwhile: those that the same member is first of become
// known in any order.
func TestSplitsAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		degree := rapid.IntRange(1, 4).Draw(t, "degree")
		each := rapid.IntRange(1, 3).Draw(t, "ranks per node")
		s := newSim(seeded(rapid.Uint64().Draw(t, "seed")), nodes, degree, blocks(nodes, each))
		colors := rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 100}), 1, 4).Draw(t, "ranks that make a colour")
		var all []int
		for r := range s.ranks {
			all = append(all, r)
		}
		requests := make([][]*member.Request, s.ranks)
		for r, e := range s.ends[:s.ranks] {
			s.do(e, func() {
				for _, n := range colors {
					requests[r] = append(requests[r], e.World().Split(r/n, -r))
				}
				requests[r] = append(requests[r], e.Sub(all))
			})
		}
		s.run()
		require.Empty(t, s.faults)
		var barriers []*member.Request
		for r, list := range requests {
			for i, q := range list {
				done, err := q.Done()
				require.True(t, done, "rank %d: communicator %d", r, i)
				require.NoError(t, err, "rank %d: communicator %d", r, i)
				s.do(s.ends[r], func() { barriers = append(barriers, q.Made().Barrier()) })
			}
		}
		s.run()
		require.Empty(t, s.faults)
		for _, q := range barriers {
			done, err := q.Done()
			require.True(t, done)
			require.NoError(t, err)
		}
	})
}
