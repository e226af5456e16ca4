package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestLeaversAreWhereTheyWere has members look for ones that have left: whether their
// agent has heard of that or not, they learn where these were, in the world and in
// communicators of splits, whether a table or the member's own node tells.
func TestLeaversAreWhereTheyWere(t *testing.T) {
	for _, x := range []struct {
		name string
		comm func(t *testing.T, s *sim) (list []*simEnd, comm func(*simEnd) *member.Comm)
	}{
		{"world", func(_ *testing.T, s *sim) ([]*simEnd, func(*simEnd) *member.Comm) { return s.ends[:s.ranks], world }},
		{"shuffled", func(t *testing.T, s *sim) ([]*simEnd, func(*simEnd) *member.Comm) { return s.shuffled(t) }},
		{"in order", func(t *testing.T, s *sim) ([]*simEnd, func(*simEnd) *member.Comm) {
			old := commsByEnd{}
			for _, e := range s.ends[:s.ranks] {
				old[e] = e.World()
			}
			classes, made := s.split(t, s.ends[:s.ranks], old, make([]choice, s.ranks))
			return classes[0], made.of
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newSim(seeded(3), 7, 2, blocks(7, 2))
			list, comm := x.comm(t, s)
			made := commsByEnd{}
			for _, e := range list {
				made[e] = comm(e)
			}
			for _, leaver := range []int{2, 9, 4} {
				s.leave(list[leaver], left(list[leaver].id))
				var barrier *member.Request
				s.do(list[0], func() { barrier = made[list[0]].Barrier() })
				s.run()
				require.Error(t, s.outcomes(t, barrier)[0], "they know that somebody has left")
				var receive *member.Request
				s.do(list[7], func() { receive = made[list[7]].Recv(leaver, record.Any, make([]byte, 8)) })
				s.run()
				require.EqualError(t, s.outcomes(t, receive)[0], left(list[leaver].id), "and one of them, who")
				for _, from := range []int{0, 7, 13} {
					var look *member.Request
					s.do(list[from], func() { look = made[list[from]].Locate(leaver) })
					s.run()
					require.NoError(t, s.outcomes(t, look)[0])
					rank, node := look.Location()
					require.Equal(t, []int{list[leaver].id, list[leaver].node}, []int{rank, node}, "asked by %d", from)
				}
			}
		})
	}
}

// TestTheLostAreWhereTheyWere is that for a node of the world that is lost.
func TestTheLostAreWhereTheyWere(t *testing.T) {
	s := newSim(seeded(4), 3, 1, blocks(3, 1))
	s.kill(2)
	s.run()
	s.flush(s.nodes[0], &collective.Effects{})
	var look *member.Request
	s.do(s.ends[0], func() { look = world(s.ends[0]).Locate(2) })
	s.run()
	require.NoError(t, s.outcomes(t, look)[0])
	rank, node := look.Location()
	require.Equal(t, []int{2, 2}, []int{rank, node})
}
