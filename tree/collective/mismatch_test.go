package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestBothSidesAreNamed has members disagree: the error names both sides, with who
// or how many they are known to be, whichever came first.
func TestBothSidesAreNamed(t *testing.T) {
	sum := func(size int) func(c *member.Comm) *member.Request {
		return func(c *member.Comm) *member.Request {
			return c.AllReduce(record.Int64|record.Sum, make([]byte, size), make([]byte, size))
		}
	}
	gather := func(size int) func(c *member.Comm) *member.Request {
		return func(c *member.Comm) *member.Request {
			return c.AllGather(make([]byte, size), make([]byte, size*c.Size()))
		}
	}
	bcast := func(root int) func(c *member.Comm) *member.Request {
		return func(c *member.Comm) *member.Request { return c.Bcast(root, make([]byte, 8)) }
	}
	const odd, even = "allreduce of 16 bytes, sum of int64", "allreduce of 8 bytes, sum of int64"
	type call struct {
		rank int
		do   func(c *member.Comm) *member.Request
	}
	for _, x := range []struct {
		name        string
		nodes, each int
		calls       []call
		says        string
	}{
		{name: "the odd one first", nodes: 1, each: 8, calls: []call{{3, sum(16)}, {0, sum(8)}}, says: "rank 3 calls " + odd + "; rank 0 calls " + even},
		{name: "the odd one last", nodes: 1, each: 8, calls: []call{{0, sum(8)}, {1, sum(8)}, {2, sum(8)}, {7, sum(8)}, {3, sum(16)}},
			says: "rank 3 calls " + odd + "; ranks 0-2,7 call " + even},
		{name: "a node against one", nodes: 2, each: 4, calls: []call{{3, sum(16)}, {4, sum(8)}, {5, sum(8)}, {6, sum(8)}, {7, sum(8)}},
			says: "rank 3 calls " + odd + "; 4 of 8 ranks, on other nodes, call " + even},
		{name: "one against a node and others", nodes: 2, each: 4, calls: []call{{4, sum(8)}, {5, sum(8)}, {6, sum(8)}, {7, sum(8)}, {0, sum(8)}, {3, sum(16)}},
			says: "rank 3 calls " + odd + "; rank 0, and 4 on other nodes, call " + even},
		{name: "gathered", nodes: 2, each: 4, calls: []call{{3, gather(3)}, {4, gather(2)}, {5, gather(2)}, {6, gather(2)}, {7, gather(2)}},
			says: "rank 3 calls allgather of 3 bytes; ranks 4-7 call allgather of 2 bytes"},
		{name: "other roots", nodes: 1, each: 2, calls: []call{{0, bcast(1)}, {1, bcast(0)}}, says: "rank 0 calls bcast of 8 bytes, root 1; rank 1 calls bcast of 8 bytes, root 0"},
		{name: "a barrier and a split", nodes: 1, each: 2, calls: []call{{0, (*member.Comm).Barrier}, {1, func(c *member.Comm) *member.Request { return c.Split(0, 0) }}},
			says: "rank 0 calls barrier; rank 1 calls split"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newSim(seeded(6), x.nodes, 2, blocks(x.nodes, x.each))
			var all []*member.Request
			for _, y := range x.calls {
				s.do(s.ends[y.rank], func() { all = append(all, y.do(s.ends[y.rank].World())) })
				s.run()
			}
			for _, err := range s.outcomes(t, all...) {
				require.EqualError(t, err, "operation 0 of the world: "+x.says)
			}
		})
	}
}

// TestTheCommunicatorIsNamed shows how those are told apart that a program makes.
func TestTheCommunicatorIsNamed(t *testing.T) {
	s := newSim(seeded(7), 2, 2, blocks(2, 3))
	var subs, splits []*member.Request
	for rank := range s.ranks {
		e := s.ends[rank]
		s.do(e, func() {
			splits = append(splits, e.World().Split(0, 0))
			if rank != 1 {
				subs = append(subs, e.Sub([]int{5, 4, 3, 2, 0}))
			}
		})
	}
	s.run()
	for _, x := range []struct {
		made []*member.Request
		says string
	}{
		{subs, "operation 0 of the communicator of ranks 0,2-5: member"},
		{splits, "operation 0 of the communicator of 6 ranks that a split made (rank 0's 1): member"},
	} {
		require.NotEmpty(t, x.made)
		for i, q := range x.made {
			done, err := q.Done()
			require.True(t, done)
			require.NoError(t, err)
			c := q.Made()
			s.tasks = append(s.tasks, func() {
				if i%2 == 0 {
					x.made[i] = c.Barrier()
				} else {
					x.made[i] = c.Split(0, 0)
				}
			})
		}
		s.run()
		for _, e := range s.ends {
			s.drain(e)
		}
		for _, err := range s.outcomes(t, x.made...) {
			require.ErrorContains(t, err, x.says)
		}
	}
}
