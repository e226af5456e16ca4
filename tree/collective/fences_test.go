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
			first, text := n.FencesEnd(collective.OverTree)
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
	from, why := s.nodes[0].FencesEnd(collective.OverTree)
	require.Zero(t, from)
	require.Equal(t, "node 5 is lost", why)
}

// TestEveryoneLearnsOfRanksThatEnd has a rank end: everyone learns of the first fence
// that it will not enter, though nobody uses the service. A rank that has left the
// service alone may still enter by PMI.
func TestEveryoneLearnsOfRanksThatEnd(t *testing.T) {
	s := newSim(seeded(6), 7, 2, blocks(7, 1))
	do := func(node int, what func(n *collective.Node)) {
		what(s.nodes[node].Node)
		s.flush(s.nodes[node], &collective.Effects{})
		s.run()
		require.Empty(t, s.faults)
	}
	ends := func(of collective.Waiters, from uint64, why string) {
		t.Helper()
		for _, n := range s.nodes {
			first, text := n.FencesEnd(of)
			require.Equal(t, from, first, "node %d", n.index)
			require.Equal(t, why, text, "node %d", n.index)
		}
	}
	do(4, func(n *collective.Node) { n.EndFencesForAll(3, "4 has ended") })
	ends(collective.ByPMI, 3, "4 has ended")
	ends(collective.OverTree, 3, "4 has ended")
	puts := s.nodes[6].up.puts
	do(6, func(n *collective.Node) { n.EndFencesForAll(3, "6 has ended") })
	require.Equal(t, puts, s.nodes[6].up.puts, "it is no news")
	do(2, func(n *collective.Node) { n.Use(); n.EndFences(1, left(2)) })
	ends(collective.OverTree, 1, left(2))
	ends(collective.ByPMI, 3, "4 has ended")
	do(5, func(n *collective.Node) { n.EndFencesForAll(2, "5 has ended") })
	ends(collective.OverTree, 1, left(2))
	ends(collective.ByPMI, 2, "5 has ended")
}
