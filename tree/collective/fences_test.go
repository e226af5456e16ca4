package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
)

// TestEveryoneLearnsOfTheEndOfFences has ranks leave that will enter no more fences:
// everyone learns of the first that will not be complete, once somebody uses the
// service.
func TestEveryoneLearnsOfTheEndOfFences(t *testing.T) {
	s := newSim(seeded(5), 7, 2, blocks(7, 1))
	end := func(node int, from uint64, why string) {
		s.nodes[node].EndFences(from, why)
		s.flush(s.nodes[node], &collective.Effects{})
		s.run()
		require.Empty(t, s.faults)
	}
	ends := func(from uint64, why string) {
		t.Helper()
		for _, n := range s.nodes {
			first, text := n.FencesEnd()
			require.Equal(t, from, first, "node %d", n.index)
			require.Equal(t, why, text, "node %d", n.index)
		}
	}
	end(4, 3, left(4))
	require.Zero(t, s.nodes[4].up.puts, "nobody is told who does not ask")
	s.nodes[2].Use()
	s.flush(s.nodes[2], &collective.Effects{})
	s.run()
	ends(3, left(4))
	puts := s.nodes[6].up.puts
	end(6, 3, left(6))
	require.Equal(t, puts, s.nodes[6].up.puts, "it is no news")
	end(6, 2, left(6))
	ends(2, left(6))
	s.kill(5)
	s.run()
	from, why := s.nodes[0].FencesEnd()
	require.Zero(t, from)
	require.Equal(t, "node 5 is lost", why)
}
