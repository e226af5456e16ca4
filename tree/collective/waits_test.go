package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestWaits shows what nodes know of ranks that wait: the first operation of each
// communicator, who here has not entered it, and who waits for messages.
func TestWaits(t *testing.T) {
	s := newSim(seeded(8), 3, 2, blocks(3, 2))
	var half []*member.Request
	for _, rank := range []int{0, 1, 2, 4} {
		e := s.ends[rank]
		s.do(e, func() { half = append(half, e.Sub([]int{0, 1, 2, 4})) })
	}
	s.run()
	for _, rank := range []int{0, 2, 3} {
		e := s.ends[rank]
		s.do(e, func() {
			e.World().Barrier()
			e.World().Bcast(0, make([]byte, 5))
		})
	}
	s.do(s.ends[0], func() { half[0].Made().AllReduce(record.Float32|record.Max, make([]byte, 4), make([]byte, 4)) })
	s.do(s.ends[1], func() { s.ends[1].World().Recv(3, 7, nil) })
	s.do(s.ends[5], func() { s.ends[5].World().Send(4, 1, make([]byte, 1<<20)) })
	s.run()
	require.Empty(t, s.faults)

	barrier := collective.Wait{Comm: collective.World, Seq: 0, Text: "barrier, operation 0 of the world"}
	waits := s.nodes[0].Waits(8)
	require.Len(t, waits, 2)
	require.Equal(t, barrier, waits[0])
	require.Equal(t, "allreduce of 4 bytes, maximum of float32, operation 0 of the communicator of ranks 0-2,4", waits[1].Text)
	require.Equal(t, []collective.Wait{barrier}, s.nodes[1].Waits(8))
	require.Empty(t, s.nodes[2].Waits(8))
	require.Len(t, s.nodes[0].Waits(1), 1)
	for node, missing := range [][]int{{1}, nil, {4, 5}} {
		require.Equal(t, missing, s.nodes[node].Missing(barrier.Comm, barrier.Seq), "node %d", node)
	}
	require.Equal(t, []int{2}, s.nodes[1].Missing(waits[1].Comm, 0))

	require.Equal(t, 1, s.nodes[0].MessageWaits()[0].Rank)
	require.Equal(t, "rank 1 for a message of rank 3 with tag 7 over the world", s.nodes[0].MessageText(1))
	require.Equal(t, 5, s.nodes[2].MessageWaits()[0].Rank)
	require.Equal(t, "rank 5 for a message of its to be taken", s.nodes[2].MessageText(5))
	require.Empty(t, s.nodes[1].MessageWaits())
	require.Equal(t, map[int]string{0: "in " + barrier.Text, 1: "waiting for a message of rank 3 with tag 7 over the world"}, s.nodes[0].Calls())
	require.Equal(t, map[int]string{2: "in " + barrier.Text, 3: "in " + barrier.Text}, s.nodes[1].Calls())
	require.Equal(t, map[int]string{5: "waiting for a message of its to be taken"}, s.nodes[2].Calls())
	s.do(s.ends[3], func() { s.ends[3].Sub([]int{5, 3}) })
	s.run()
	require.Equal(t, 3, s.nodes[1].MessageWaits()[0].Rank)
	require.Equal(t, "rank 3 for rank 5, the first of 2, to make a communicator", s.nodes[1].MessageText(3))
}
