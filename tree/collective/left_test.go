package collective_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestLeaverEndsWhatNeedsIt has a rank leave in the middle of operations, more
// than one sometimes. Those that it has done its part of succeed for all; the
// others end with the right result or with an error that names a rank that has
// left, and nothing is left of them.
func TestLeaverEndsWhatNeedsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		degree := rapid.IntRange(1, 5).Draw(t, "degree")
		each := rapid.IntRange(1, 3).Draw(t, "ranks per node")
		s := newSim(seeded(rapid.Uint64().Draw(t, "seed")), nodes, degree, blocks(nodes, each))
		var program []step
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			program = append(program, step{ // in pairs, the root may wait for any of those that are left
				op:   rapid.SampledFrom(allOps[:len(allOps)-1]).Draw(t, "op"),
				root: rapid.IntRange(0, s.ranks-1).Draw(t, "root"),
				size: rapid.SampledFrom([]int{0, 8, 3000, 100_000}).Draw(t, "size"),
			})
		}
		members, comm := s.ends[:s.ranks], world
		if rapid.Bool().Draw(t, "shuffled") {
			members, comm = s.shuffled(t)
		}
		results := play(s, members, comm, program, rapid.IntRange(1, 4).Draw(t, "in flight"))
		var leavers []int
		for range rapid.IntRange(1, min(3, s.ranks)).Draw(t, "leavers") {
			for range rapid.IntRange(0, 40*nodes).Draw(t, "when") {
				s.step()
			}
			if v := rapid.IntRange(0, s.ranks-1).Draw(t, "leaver"); !members[v].quit {
				s.leave(members[v], left(v))
				leavers = append(leavers, v)
			}
		}
		s.run()
		require.Empty(t, s.faults)
		var reasons []string
		through := len(program) // steps that all who left have done
		for _, v := range leavers {
			reasons = append(reasons, left(v))
			for n, x := range results[v] {
				if !x.done || x.err != nil {
					through = min(through, n)
				}
			}
		}
		for i, r := range results {
			if members[i].quit {
				continue
			}
			for n, x := range r {
				require.True(t, x.done, "rank %d: step %d, %+v, hangs", i, n, program[n])
				if n < through {
					require.NoError(t, x.err, "rank %d: step %d, %+v, of which all have done their part", i, n, program[n])
				}
				if x.err != nil {
					require.Contains(t, reasons, x.err.Error(), "rank %d: step %d, %+v", i, n, program[n])
				}
			}
		}
		for _, n := range s.nodes {
			require.True(t, n.Settled(), "node %d still works on something", n.index)
		}
	})
}

// TestScanThatOnlySomeBegin has a rank leave in the middle of a long operation while a
// scan is under way, too, whose first part it has done: some have that, and begin the
// second, others hear of the leaver before. Nobody waits for those.
func TestScanThatOnlySomeBegin(t *testing.T) {
	program := []step{{"allreduce", 0, 100_000}, {"scan", 0, 3000}}
	for seed := range uint64(400) {
		s := newSim(seeded(seed), 8, 2, blocks(8, 3))
		results := play(s, s.ends[:s.ranks], world, program, 2)
		for range 40 + seed {
			s.step()
		}
		s.leave(s.ends[4], left(4))
		s.run()
		require.Empty(t, s.faults)
		for i, r := range results {
			require.True(t, i == 4 || r[0].done && r[1].done, "seed %d: rank %d waits", seed, i)
			if err := r[1].err; i != 4 && err != nil {
				f, is := errors.AsType[*member.Failure](err)
				require.True(t, is && f.Cause == record.CauseLeft && f.Member == 4, "seed %d: rank %d got %v", seed, i, err)
			}
		}
	}
}

// TestRecvOfAnyGoesOn has a rank leave in the middle of its long message to one that
// receives from any: that gets what another sends then.
func TestRecvOfAnyGoesOn(t *testing.T) {
	const size = 1_000_000
	for steps := range 60 {
		s := newSim(seeded(uint64(steps)), 4, 2, blocks(4, 1))
		buf := make([]byte, size)
		var alone, grows *member.Request
		s.do(s.ends[0], func() {
			alone = s.ends[0].World().Recv(record.Any, record.Any, buf)
			grows = s.ends[0].World().RecvAll(record.Any, 1)
		})
		for from := 1; from < 3; from++ {
			s.do(s.ends[from], func() { s.ends[from].World().Send(0, int64(from-1), make([]byte, size)) })
		}
		for n := 0; n < steps || alone == nil; n++ {
			s.step()
		}
		s.leave(s.ends[1], left(1))
		s.leave(s.ends[2], left(2))
		want := fill(0, 3, 0, size)
		s.do(s.ends[3], func() {
			s.ends[3].World().Send(0, 0, want)
			s.ends[3].World().Send(0, 1, want)
		})
		s.run()
		for _, err := range s.outcomes(t, alone, grows) {
			require.NoError(t, err, "%d steps", steps)
		}
		src, tag, got := alone.Message()
		require.Equal(t, []int64{3, size}, []int64{int64(src), got}, "tag %d", tag)
		require.Equal(t, want, buf)
		require.Equal(t, want, grows.Received())
	}
}

func left(rank int) string { return fmt.Sprintf("rank %d has left", rank) }

// outcomes waits for requests.
func (s *sim) outcomes(t *testing.T, requests ...*member.Request) (errs []error) {
	s.run()
	require.Empty(t, s.faults)
	for i, q := range requests {
		done, err := q.Done()
		require.True(t, done, "request %d hangs", i)
		errs = append(errs, err)
	}
	return errs
}

// TestWhoNeverCameHasLeft has a rank end that never made a request, before anyone
// did or after.
func TestWhoNeverCameHasLeft(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := newSim(seeded(4), 5, 2, blocks(5, 1))
		var q *member.Request
		if before {
			s.leave(s.ends[4], left(4))
			s.run()
			require.Zero(t, s.nodes[4].up.puts, "nobody is told who does not ask")
		}
		s.do(s.ends[0], func() { q = s.ends[0].World().Barrier() })
		s.run()
		if !before {
			s.leave(s.ends[4], left(4))
		}
		require.EqualError(t, s.outcomes(t, q)[0], left(4))
	}
}

// TestMessagesOfAndToALeaver covers each state that a message may be in when one
// of its ends leaves.
func TestMessagesOfAndToALeaver(t *testing.T) {
	t.Run("world", func(t *testing.T) { messagesOfAndToALeaver(t, false) })
	t.Run("shuffled", func(t *testing.T) { messagesOfAndToALeaver(t, true) })
}

func messagesOfAndToALeaver(t *testing.T, shuffled bool) {
	const long = 1 << 20
	begin := func() (s *sim, list []*simEnd, comm func(*simEnd) *member.Comm) {
		s = newSim(seeded(9), 7, 2, blocks(7, 1))
		if shuffled {
			list, comm = s.shuffled(t)
			return s, list, comm
		}
		return s, s.ends[:7], world
	}
	t.Run("a receive that waits", func(t *testing.T) {
		s, list, comm := begin()
		me, leaver := list[6], list[2]
		var named, anyone *member.Request
		s.do(me, func() { named = comm(me).Recv(2, 1, make([]byte, 8)) })
		s.do(me, func() { anyone = comm(me).Recv(record.Any, 1, make([]byte, 8)) })
		s.run()
		s.leave(leaver, left(leaver.id))
		require.EqualError(t, s.outcomes(t, named)[0], left(leaver.id))
		done, _ := anyone.Done()
		require.False(t, done, "others may still send")
		for _, e := range list[:6] {
			if e != leaver {
				s.leave(e, left(e.id))
			}
		}
		require.Error(t, s.outcomes(t, anyone)[0])
	})
	t.Run("a receive that comes later", func(t *testing.T) {
		s, list, comm := begin()
		me, leaver := list[6], list[2]
		var first, second, third *member.Request
		s.do(leaver, func() { comm(leaver).Send(6, 1, []byte("x")) })
		s.run()
		s.leave(leaver, left(leaver.id))
		s.leave(list[3], left(list[3].id)) // news that need not be told
		s.do(me, func() {
			first, second, third = comm(me).Recv(2, 1, make([]byte, 8)), comm(me).Recv(2, 1, make([]byte, 8)), comm(me).Recv(3, 1, make([]byte, 8))
		})
		s.run()
		errs := s.outcomes(t, first, second, third)
		require.NoError(t, errs[0], "what was sent is there")
		require.EqualError(t, errs[1], left(leaver.id))
		require.EqualError(t, errs[2], left(list[3].id))
	})
	t.Run("a long message of the leaver", func(t *testing.T) {
		for _, wanted := range []bool{true, false} {
			s, list, comm := begin()
			me, leaver := list[6], list[2]
			var q *member.Request
			want := func() { q = comm(me).Recv(2, 1, make([]byte, long)) }
			s.do(leaver, func() { comm(leaver).Send(6, 1, make([]byte, long)) })
			if wanted {
				s.do(me, want)
			}
			for range 30 {
				s.step()
			}
			s.leave(leaver, left(leaver.id))
			if !wanted {
				s.run()
				s.do(me, want)
			}
			s.run()
			require.EqualError(t, s.outcomes(t, q)[0], left(leaver.id))
		}
	})
	t.Run("messages to the leaver", func(t *testing.T) {
		s, list, comm := begin()
		me, leaver := list[6], list[2]
		var sends []*member.Request
		send := func() { sends = append(sends, comm(me).Send(2, 1, make([]byte, long))) }
		s.do(me, send) // nobody asks for it
		s.run()
		s.leave(leaver, left(leaver.id))
		s.run()
		s.do(me, send)
		s.run()
		for _, err := range s.outcomes(t, sends...) {
			require.EqualError(t, err, left(leaver.id))
		}
	})
	for _, wanted := range []bool{false, true} {
		t.Run(fmt.Sprintf("a message to one that leaves after another, wanted %v", wanted), func(t *testing.T) {
			s, list, comm := begin()
			me, leaver := list[6], list[2]
			var q *member.Request
			s.do(me, func() { q = comm(me).Send(2, 1, make([]byte, long)) })
			s.leave(list[3], left(list[3].id))
			s.run()
			leaver.in.deliver = func([]byte) bool { return false } // it does not read what it asks for
			if wanted {
				s.do(leaver, func() { comm(leaver).Recv(6, 1, make([]byte, long)) })
			}
			s.run()
			n := s.nodes[leaver.node]
			n.Leave(leaver.id, left(leaver.id))
			var out collective.Effects
			s.flush(n, &out)
			require.EqualError(t, s.outcomes(t, q)[0], left(leaver.id))
		})
	}
}

// TestCommunicatorsOfALeaver makes communicators with one who has left, as the
// first of them and as another, and without.
func TestCommunicatorsOfALeaver(t *testing.T) {
	for _, x := range []struct {
		list            []int
		making, barrier string // members of those that fail, with the reason
	}{
		{list: []int{5, 1}, making: left(5)},
		{list: []int{1, 5, 2}, barrier: left(5)},
		{list: []int{1, 2}},
	} {
		s := newSim(seeded(2), 7, 2, blocks(7, 1))
		s.do(s.ends[5], func() { s.ends[5].World().Bcast(5, []byte("x")) })
		s.run()
		s.leave(s.ends[5], left(5))
		var made, barriers []*member.Request
		for _, r := range x.list {
			e := s.ends[r]
			s.do(e, func() {
				q := e.Sub(x.list)
				made = append(made, q)
				q.OnDone = func() {
					if c := q.Made(); c != nil {
						s.do(e, func() { barriers = append(barriers, c.Barrier()) })
					}
				}
			})
		}
		expect := func(want string, errs []error) {
			for _, err := range errs {
				if want == "" {
					require.NoError(t, err, "members %v", x.list)
				} else {
					require.EqualError(t, err, want, "members %v", x.list)
				}
			}
		}
		s.run()
		expect(x.making, s.outcomes(t, made...))
		expect(x.barrier, s.outcomes(t, barriers...))
		require.Equal(t, x.making == "", len(barriers) > 0)
	}
}

// TestSplitsOfALeaver has a member leave once it has named its colour: the
// communicator that it is in is made, and of no use; others are.
func TestSplitsOfALeaver(t *testing.T) {
	const leaver = 5
	for seed := range uint64(20) {
		s := newSim(seeded(seed), 9, 2, blocks(9, 1))
		splits := make([]*member.Request, s.ranks)
		barriers := map[int]*member.Request{}
		for r, e := range s.ends[:s.ranks] {
			s.do(e, func() {
				splits[r] = e.World().Split(r%2, 0)
				splits[r].OnDone = func() {
					if c := splits[r].Made(); c != nil {
						s.do(e, func() { barriers[r] = c.Barrier() })
					}
				}
			})
		}
		for splits[leaver] == nil {
			s.step()
		}
		s.leave(s.ends[leaver], left(leaver))
		s.run()
		for r := range s.ranks {
			if r == leaver {
				continue
			}
			require.NoError(t, s.outcomes(t, splits[r])[0], "rank %d", r)
			err := s.outcomes(t, barriers[r])[0]
			if r%2 == leaver%2 {
				require.EqualError(t, err, left(leaver), "rank %d", r)
			} else {
				require.NoError(t, err, "rank %d", r)
			}
		}
	}
}
