package collective_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
)

// TestMemoryIsBounded moves far more than a node may hold, to members that read
// nothing until nobody else can go on.
func TestMemoryIsBounded(t *testing.T) {
	const nodes, each, degree = 16, 2, 3
	for _, st := range []step{
		{"bcast", 3, 4 << 20}, {"gather", 3, 2 << 20}, {"allgather", 3, 512 << 10}, {"scatter", 3, 1 << 20},
		{"alltoall", 3, 512 << 10}, {"reduce", 3, 4 << 20}, {"allreduce", 3, 4 << 20}, {"ring", 3, 4 << 20}, {"pairs", 3, 1 << 20},
	} {
		for _, shuffled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, shuffled %v", st.op, shuffled), func(t *testing.T) {
				s := newSim(seeded(2), nodes, degree, blocks(nodes, each))
				members, comm := s.ends[:s.ranks], world
				if shuffled {
					members, comm = s.shuffled(t)
				}
				awake := false
				for i, e := range members {
					if deliver := e.in.deliver; i%3 == 0 {
						e.in.deliver = func(b []byte) bool { return awake && deliver(b) }
					}
				}
				results := play(s, members, comm, []step{st}, 1)
				s.run()
				awake = true
				s.run()
				s.check(t, results, []step{st})
				require.LessOrEqual(t, s.most, s.bound(1))
				t.Logf("a node held %d KiB at most; the bound is %d KiB", s.most>>10, s.bound(1)>>10)
			})
		}
	}
}

// TestUnreadMessagesAreBounded sends messages, empty or nearly so, to a member
// that receives none for a long time.
func TestUnreadMessagesAreBounded(t *testing.T) {
	const many = 10_000
	for _, size := range []int{0, 1} {
		s := newSim(seeded(3), 1, 2, blocks(1, 2))
		var sends, recvs []*member.Request
		s.do(s.ends[0], func() {
			for range many {
				sends = append(sends, s.ends[0].World().Send(1, 0, make([]byte, size)))
			}
		})
		s.run()
		last, _ := sends[many-1].Done()
		require.False(t, last, "%d messages of %d bytes are held for who never asked for them", many, size)
		s.do(s.ends[1], func() {
			for range many {
				recvs = append(recvs, s.ends[1].World().Recv(0, 0, make([]byte, size)))
			}
		})
		s.run()
		for i := range many {
			for _, q := range []*member.Request{sends[i], recvs[i]} {
				done, err := q.Done()
				require.True(t, done, "message %d", i)
				require.NoError(t, err)
			}
		}
		require.True(t, s.nodes[0].Forgotten())
	}
}

// TestNumbersAreForgotten has a member of a large communicator give everyone something,
// for which its agent needs all numbers: once it has, or once nobody can get it any more
// since another has left, a node holds its share of the table alone.
func TestNumbersAreForgotten(t *testing.T) {
	const nodes, each = 5, collective.KeptNumbers/5 + 1
	for _, leaves := range []string{"nobody", "one, early", "one, late"} {
		s := newSim(seeded(1), nodes, 2, blocks(nodes, each))
		members, comm := s.shuffled(t)
		root, asks := members[0], -1
		leaver := s.ends[root.node*each]
		if leaver == root {
			leaver = s.ends[root.id+1]
		}
		for _, e := range members {
			if e != leaver || leaves == "nobody" {
				s.do(e, func() {
					var send []byte
					if e == root {
						send = make([]byte, 2*nodes*each)
					}
					comm(e).Scatter(0, send, make([]byte, 2))
				})
			}
		}
		for asks < 0 {
			require.True(t, s.step())
			for _, n := range s.nodes {
				if _, table := n.SplitBytes(); table > 4*nodes*each {
					asks = n.index
				}
			}
		}
		require.Equal(t, root.node, asks)
		if leaves == "one, late" {
			s.run()
		}
		if leaves != "nobody" {
			s.leave(leaver, left(leaver.id))
		}
		s.run()
		require.Empty(t, s.faults)
		for _, n := range s.nodes {
			_, table := n.SplitBytes()
			require.LessOrEqual(t, table, 2*16*each, "node %d, %s has left", n.index, leaves)
		}
	}
}
