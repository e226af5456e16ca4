package collective_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
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
	const nodes, each = 5, 40
	for _, leaves := range []string{"nobody", "one, early", "one, late"} {
		s := newSim(seeded(1), nodes, 2, blocks(nodes, each))
		for _, n := range s.nodes {
			n.Keep(nodes*each - 1)
		}
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
				if numbers, _ := n.Numbers(); numbers > 0 {
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
			numbers, _ := n.Numbers()
			require.Zero(t, numbers, "node %d, %s has left", n.index, leaves)
		}
	}
}

// TestNumbersAreKept has members of two communicators scatter, and counts what their agents ask
// the homes: all numbers the first time, none later, as long as there is room for those of both.
func TestNumbersAreKept(t *testing.T) {
	const nodes, each = 5, 4
	for keep, want := range map[int][]int{2 * nodes * each: {4, 4, 0, 0}, 2*nodes*each - 1: {4, 4, 4, 4}} {
		s := newSim(seeded(1), nodes, nodes, blocks(nodes, each))
		asked := 0
		for _, n := range s.nodes {
			n.Keep(keep)
			if n.parent < 0 {
				continue
			}
			pass := n.up.deliver
			n.up.deliver = func(b []byte) bool {
				asked += len(said(&collective.Effects{Frames: []collective.Frame{{Bytes: b}}}, 0, record.There))
				return pass(b)
			}
		}
		var all [2]group
		var comm [2]func(*simEnd) *member.Comm
		for i := range 2 {
			for all[i] = nil; len(all[i]) == 0 || all[i][0].node != 0; { // their homes answer to the top
				all[i], comm[i] = s.shuffled(t)
			}
		}
		for round, want := range want {
			asked = 0
			program := []step{{"scatter", 0, 8}}
			results := play(s, all[round%2], comm[round%2], program, 1)
			s.run()
			s.check(t, results, program)
			require.Equal(t, want, asked, "questions of scatter %d, with room for %d numbers", round, keep)
		}
	}
}

// TestNumbersThatDoNotCome has a home be lost while it is asked for numbers, and a communicator be
// freed that has all: nothing of them is left.
func TestNumbersThatDoNotCome(t *testing.T) {
	for _, freed := range []bool{false, true} {
		const nodes, each = 4, 40
		s := newSim(seeded(1), nodes, nodes, blocks(nodes, each))
		members, comm := s.shuffled(t)
		for _, e := range members {
			s.do(e, func() { comm(e).Locate(s.rng.IntN(len(members))) })
		}
		s.run()
		require.Equal(t, 1, s.nodes[1].Remembers())
		for _, e := range members {
			s.do(e, func() {
				comm(e).AllToAll(make([]byte, nodes*each), make([]byte, nodes*each))
				if freed {
					comm(e).Free()
				}
			})
		}
		for asks := 0; asks == 0 && !freed; asks, _ = s.nodes[1].Numbers() {
			require.True(t, s.step())
		}
		if !freed {
			s.kill(2)
		}
		s.run()
		require.Empty(t, s.faults)
		for _, n := range s.nodes {
			numbers, kept := n.Numbers()
			require.True(t, n.dead || numbers == 0 && kept == 0, "node %d holds %d numbers, of %d communicators", n.index, numbers, kept)
			require.True(t, n.dead || n.Remembers() == 0, "node %d remembers answers", n.index)
		}
	}
}

// TestNumbersInUseAreNotForgotten has an operation need all numbers for longer than one of another
// communicator, where there is room for those of one: both have theirs until they are over.
func TestNumbersInUseAreNotForgotten(t *testing.T) {
	s := newSim(seeded(1), 3, 2, blocks(3, 4))
	top := s.nodes[0]
	top.Keep(s.ranks)
	me := s.ends[0]
	one, commOne := s.shuffled(t)
	two, commTwo := s.shuffled(t)
	scatter := func(list group, comm func(*simEnd) *member.Comm) {
		program := []step{{"scatter", comm(me).Rank(), 8}}
		results := play(s, list, comm, program, 1)
		s.run()
		for _, r := range results {
			require.Equal(t, outcome{done: true}, r[0])
		}
	}
	scatter(one, commOne)
	var all []*member.Request
	begin := func(e *simEnd) {
		s.do(e, func() { all = append(all, commOne(e).AllToAll(make([]byte, s.ranks), make([]byte, s.ranks))) })
	}
	begin(me)
	s.run()
	scatter(two, commTwo)
	numbers, kept := top.Numbers()
	require.Equal(t, []int{2 * s.ranks, 1}, []int{numbers, kept})
	for _, e := range one {
		if e != me {
			begin(e)
		}
	}
	s.run()
	for _, err := range s.outcomes(t, all...) {
		require.NoError(t, err)
	}
	numbers, kept = top.Numbers()
	require.Equal(t, []int{s.ranks, 1}, []int{numbers, kept}, "those of the one used last")
}
