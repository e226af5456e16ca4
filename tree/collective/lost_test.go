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

// TestLostNodeEndsEverything kills a node, and all below it, in the middle of
// operations: each of them ends, with the right result or with an error that
// names the node, and nothing is left of them.
func TestLostNodeEndsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 20).Draw(t, "nodes")
		degree := rapid.IntRange(1, 5).Draw(t, "degree")
		each := rapid.IntRange(1, 3).Draw(t, "ranks per node")
		victim := rapid.IntRange(1, nodes-1).Draw(t, "victim")
		s := newSim(seeded(rapid.Uint64().Draw(t, "seed")), nodes, degree, blocks(nodes, each))
		var program []step
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			program = append(program, step{
				op:   rapid.SampledFrom(allOps).Draw(t, "op"),
				root: rapid.IntRange(0, s.ranks-1).Draw(t, "root"),
				size: rapid.SampledFrom([]int{0, 8, 3000, 100_000}).Draw(t, "size"),
			})
		}
		for i := range program {
			if program[i].op == "pairs" { // a root that has failed takes no more of what is long
				program[i].size = min(program[i].size, 3000)
			}
		}
		flight := rapid.IntRange(1, 4).Draw(t, "in flight")
		members, comm := s.ends[:s.ranks], world
		if rapid.Bool().Draw(t, "shuffled") {
			members, comm = s.shuffled(t)
		}
		results := play(s, members, comm, program, flight)
		for range rapid.IntRange(0, 60*nodes).Draw(t, "when") {
			s.step()
		}
		s.kill(victim)
		s.run()
		require.Empty(t, s.faults)
		why := fmt.Sprintf("node %d is lost", victim)
		for i, r := range results {
			if s.nodes[members[i].node].dead {
				continue
			}
			for n, x := range r {
				require.True(t, x.done, "rank %d: step %d, %+v, hangs", i, n, program[n])
				if x.err != nil {
					require.EqualError(t, x.err, why, "rank %d: step %d, %+v", i, n, program[n])
				}
			}
		}
		for _, n := range s.nodes {
			require.True(t, n.dead || n.Settled(), "node %d still works on something", n.index)
		}
	})
}

// TestOthersGoOn shows that a communicator without lost members works on.
func TestOthersGoOn(t *testing.T) {
	s := newSim(seeded(3), 7, 2, blocks(7, 1))
	list := []int{0, 1, 2}
	made := map[int]*member.Request{}
	for _, r := range list {
		s.do(s.ends[r], func() { made[r] = s.ends[r].Sub(list) })
	}
	s.run()
	s.kill(4) // with 5 and 6 below it
	var program []step
	for _, op := range allOps {
		program = append(program, step{op, 1, 70_000}, step{op, 2, 8})
	}
	results := play(s, s.ends[:3], func(e *simEnd) *member.Comm { return made[e.id].Made() }, program, 2)
	s.run()
	s.check(t, results, program)
}

// TestCommunicatorsOfTheLost makes a communicator of ranks that are lost, and others:
// operations that wait for anyone there end.
func TestCommunicatorsOfTheLost(t *testing.T) {
	s := newSim(seeded(3), 7, 2, blocks(7, 1))
	s.kill(4)
	var requests []*member.Request
	for _, r := range []int{0, 1} {
		s.do(s.ends[r], func() {
			q := s.ends[r].Sub([]int{0, 1, 5})
			requests = append(requests, q)
			q.OnDone = func() {
				s.do(s.ends[r], func() {
					c := q.Made()
					requests = append(requests, c.Recv(record.Any, 1, make([]byte, 8)), c.Recv(2, 1, make([]byte, 8)), c.Barrier())
				})
			}
		})
	}
	s.run()
	require.Len(t, requests, 8)
	for i, err := range s.outcomes(t, requests...) {
		if i < 2 {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, "node 4 is lost")
		}
	}
}

// TestRootsAreNamedByRank has members disagree on the root, where agents number them
// otherwise: readers know ranks.
func TestRootsAreNamedByRank(t *testing.T) {
	s := newSim(seeded(1), 2, 1, blocks(2, 1))
	g, c := group(s.ends[:2]), commsByEnd{}
	for _, e := range g {
		c[e] = e.World()
	}
	_, made := s.split(t, g, c, []choice{{0, 1}, {0, 0}})
	requests := make([]*member.Request, 2)
	for i, e := range g {
		s.do(e, func() { requests[i] = made[e].Reduce(made[e].Rank(), sumOfInts, make([]byte, 8), make([]byte, 8)) })
	}
	s.run()
	_, err := requests[0].Done()
	require.ErrorContains(t, err, ", root 1;", "the member here is rank 1, number 0")
	require.ErrorContains(t, err, ", root elsewhere")
}

// TestMembersDisagree shows that members that call different things learn it.
func TestMembersDisagree(t *testing.T) {
	s := newSim(seeded(1), 4, 2, blocks(4, 1))
	errs := make([]error, 4)
	for i := range 4 {
		s.do(s.ends[i], func() {
			var q *member.Request
			if i == 3 {
				q = s.ends[i].World().Reduce(0, sumOfInts, make([]byte, 8), make([]byte, 8))
			} else {
				q = s.ends[i].World().Bcast(0, make([]byte, 100_000))
			}
			q.OnDone = func() { _, errs[i] = q.Done() }
		})
	}
	s.run()
	require.Empty(t, s.faults)
	for i, err := range errs[:3] { // rank 3's messages need no answer

		require.ErrorContains(t, err, "operation 0 of the world: ", "rank %d", i)
	}
}

// TestSleeperHoldsNobodyUp has a rank that has begun operations and reads
// nothing, while others do theirs.
func TestSleeperHoldsNobodyUp(t *testing.T) {
	s := newSim(seeded(5), 13, 3, blocks(13, 2))
	asleep := s.ends[9]
	deliver := asleep.in.deliver
	awake := false
	asleep.in.deliver = func(b []byte) bool { return awake && deliver(b) }
	others := make([]int, 0, s.ranks)
	for i := range s.ranks {
		if i != asleep.id {
			others = append(others, i)
		}
	}
	made := map[int]*member.Request{}
	for _, r := range others {
		s.do(s.ends[r], func() { made[r] = s.ends[r].Sub(others) })
	}
	s.run()
	// Everyone sends to the sleeper, and it is a root of what is long.
	program := []step{{"pairs", asleep.id, 90_000}, {"gather", asleep.id, 90_000}, {"bcast", 0, 900_000}, {"alltoall", 0, 40_000}, {"reduce", asleep.id, 300_000}}
	results := play(s, s.ends[:s.ranks], world, program, len(program))
	s.run()
	var busy []*simEnd
	for _, r := range others {
		busy = append(busy, s.ends[r])
	}
	var all []step
	for _, op := range allOps {
		all = append(all, step{op, 3, 200_000})
	}
	for i, r := range play(s, busy, func(e *simEnd) *member.Comm { return made[e.id].Made() }, all, 2) {
		s.run()
		for n, x := range r {
			require.Equal(t, outcome{done: true}, x, "member %d: %+v", i, all[n])
		}
	}
	require.LessOrEqual(t, s.most, s.bound(len(program)+4))
	awake = true
	s.run()
	s.check(t, results, program)
}

func TestCommunicatorsAreFreed(t *testing.T) {
	s := newSim(seeded(1), 6, 2, blocks(6, 1))
	for range 2 * collective.MaxCommunicators / 100 {
		members, comm := s.subset(t)
		for _, e := range members {
			s.do(e, func() { comm(e).Free() })
		}
		s.run()
	}
	require.Empty(t, s.faults)
	require.Equal(t, 2, s.nodes[0].Communicators())
}

func TestNonsenseIsRefused(t *testing.T) {
	rec := func(r record.Record) []byte { return record.Append(nil, &r) }
	fresh := func() *collective.Node {
		n, err := collective.New(collective.Config{Ranks: 3, Node: func(rank int) int { return rank }, Directions: collective.Runs(collective.Local, 0, collective.Up, collective.Local, 0, collective.Up), Children: 1})
		require.NoError(t, err)
		return n
	}
	for name, b := range map[string][]byte{
		"no record":             {1, 2},
		"unknown kind":          {100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"unknown communicator":  rec(record.Record{Kind: record.Data, Comm: 9, Count: 1}),
		"no such member":        rec(record.Record{Kind: record.Data, Src: 1, Dst: 3, Count: 1}),
		"nobody":                rec(record.Record{Kind: record.Data, Src: 1}),
		"from elsewhere":        rec(record.Record{Kind: record.Data, Src: 2, Count: 1}),
		"back where it was":     rec(record.Record{Kind: record.Data, Src: 1, Dst: 1, Count: 1}),
		"parts of unequal size": rec(record.Record{Kind: record.Data, Src: 1, Count: 3, Each: true, Body: []byte("ab")}),
		"unasked contribution":  rec(record.Record{Kind: record.Up, Op: record.Barrier, Off: 1}),
		"grant of a child":      rec(record.Record{Kind: record.Grant}),
		"credit for nothing":    rec(record.Record{Kind: record.Credit, Size: 1}),
		"request of a rank":     rec(record.Record{Kind: record.Enter, Op: record.Barrier}),
		"a communicator again":  rec(record.Record{Kind: record.Define, Comm: 1<<32 | 1, Body: record.AppendRuns(nil, []int{1})}),
		"a message of nobody":   rec(record.Record{Kind: record.Send, Src: 3, Count: 1, Size: 3, Body: []byte("abc")}),
		"a piece of no split":   rec(record.Record{Kind: record.Piece, Op: record.Bcast, Src: 1}),
		"a piece to nobody":     rec(record.Record{Kind: record.Piece, Op: record.Split, Src: 1, Dst: 9}),
		"a piece of nobody":     rec(record.Record{Kind: record.Piece, Op: record.Split, Src: 2}),
		"a piece from above":    rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 2}),
		"a piece of no comm":    rec(record.Record{Kind: record.Piece, Op: record.Split, Comm: 9, Src: 1}),
		"a class of another's":  rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 12, Body: class(1, 3, 1<<32|1, 1, 1, 0, 2, 1)}),
		"a class of no one's":   rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 8, Body: class(1, 3, collective.Agents, 1, 1, 0, 2, 1)}),
		"the loss of its ranks": rec(record.Record{Kind: record.Lost, Body: record.AppendRuns([]byte{1, 'x'}, []int{1, 0})}),
		"the loss of nobody":    rec(record.Record{Kind: record.Lost, Body: record.AppendRuns([]byte{1, 'x'}, []int{99})}),
		"a loss, cut short":     rec(record.Record{Kind: record.Lost, Body: []byte{2, 'x'}}),
		"half a class":          rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 1, Body: []byte{1}}),
		"a class of nobody":     rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 5, Body: []byte{1, 0, 0, 0, 0}}),
		"a class of too many":   rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 5, Body: []byte{1, 9, 0, 0, 0}}),
		"a class twice":         rec(record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 16, Body: []byte{1, 3, 0, 1, 1, 0, 2, 1, 1, 3, 0, 1, 1, 2, 2, 1}}),
		"beyond its credit":     make([]byte, collective.Window+1),
	} {
		n := fresh()
		if name == "beyond its credit" {
			b[0] = byte(record.Data)
		}
		n.Receive(0, b)
		var out collective.Effects
		n.Flush(&out)
		require.Len(t, out.Faults, 1, name)
		require.Equal(t, collective.Direction(0), out.Faults[0].From, name)
	}
	for name, b := range map[string][]byte{
		"another's data":        rec(record.Record{Kind: record.Data, Src: 1, Count: 1}),
		"data too early":        rec(record.Record{Kind: record.Data, Src: 0, Dst: 1, Count: 1}),
		"operation out of turn": rec(record.Record{Kind: record.Enter, Op: record.Barrier, Seq: 1}),
		"no operation":          rec(record.Record{Kind: record.Enter}),
		"no function":           rec(record.Record{Kind: record.Enter, Op: record.Reduce, Size: 8}),
		"half an element":       rec(record.Record{Kind: record.Enter, Op: record.Reduce, Fn: sumOfInts, Size: 9}),
		"too much":              rec(record.Record{Kind: record.Enter, Op: record.Gather, Size: 1 << 60}),
		"no member":             rec(record.Record{Kind: record.Enter, Comm: collective.Agents, Op: record.Barrier}),
		"a short message":       rec(record.Record{Kind: record.Send, Dst: 1, Count: 1, Size: 3}),
		"another's to free":     rec(record.Record{Kind: record.Free}),
		"agents' business":      rec(record.Record{Kind: record.Grant}),
		"agents' pieces":        rec(record.Record{Kind: record.Piece, Op: record.Split}),
		"no color, no key":      rec(record.Record{Kind: record.Enter, Op: record.Split}),
		"a large split":         rec(record.Record{Kind: record.Enter, Op: record.Split, Size: 8, Body: make([]byte, 8)}),
		"a split's data":        rec(record.Record{Kind: record.Data, Op: record.Split, Dst: 1, Count: 1}),
		"asks for nobody":       rec(record.Record{Kind: record.Ask, Dst: 3, Count: 1}),
		"asks as another":       rec(record.Record{Kind: record.Ask, Src: 1, Dst: 2, Count: 1}),
	} {
		n := fresh()
		n.Request(0, b)
		var out collective.Effects
		n.Flush(&out)
		require.Len(t, out.Faults, 1, name)
		require.Equal(t, collective.Local, out.Faults[0].From, name)
		require.Error(t, out.Faults[0].Err, name)
	}
}

// TestNonsenseInABatch has a rank send, last of all, what turns out to be nonsense
// only when everybody's data go on together.
func TestNonsenseInABatch(t *testing.T) {
	n, err := collective.New(collective.Config{Ranks: 2, Node: func(int) int { return 0 }, Directions: collective.Runs(collective.Local, collective.Local, collective.Local), Root: true})
	require.NoError(t, err)
	for rank, count := range []int{2, 99} {
		data := record.Record{Kind: record.Data, Op: record.AllGather, Src: rank, Count: count, Off: 4 * int64(rank), Size: 4, Body: []byte("abcd")}
		n.Request(rank, record.Append(nil, &record.Record{Kind: record.Enter, Op: record.AllGather, Size: 4}))
		n.Request(rank, record.Append(nil, &data))
	}
	var out collective.Effects
	n.Flush(&out)
	require.Len(t, out.Faults, 1)
	require.Equal(t, 1, out.Faults[0].Endpoint)
	require.ErrorContains(t, out.Faults[0].Err, "to 0+99 for operation 0")
}

func FuzzNode(f *testing.F) {
	f.Add([]byte{3, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0}, true)
	f.Add(record.Append(nil, &record.Record{Kind: record.Enter, Op: record.AllToAll, Size: 100_000}), false)
	f.Add(record.Append(nil, &record.Record{Kind: record.Send, Dst: 0, Count: 1, Size: 3, Body: []byte("abc")}), false)
	f.Add(record.Append(nil, &record.Record{Kind: record.Enter, Op: record.Split, Body: record.AppendChoice(nil, 1, 2)}), false)
	f.Add(record.Append(nil, &record.Record{Kind: record.Ask, Dst: 2, Count: 1}), false)
	f.Add(record.Append(nil, &record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Size: 10, Body: []byte{7, 2, 0, 1, 0, 1, 1, 1, 1, 1}}), true)
	f.Add(record.Append(nil, &record.Record{Kind: record.Piece, Op: record.Split, Src: 1, Size: 8, Body: make([]byte, 8)}), true)
	f.Fuzz(func(t *testing.T, b []byte, link bool) {
		n, err := collective.New(collective.Config{Ranks: 3, Node: func(rank int) int { return rank }, Directions: collective.Runs(collective.Local, 0, collective.Up, collective.Local, 0, collective.Up), Children: 1})
		if err != nil {
			t.Fatal(err)
		}
		if link {
			n.Receive(0, b)
		} else {
			for len(b) > 0 {
				var r record.Record
				used, err := record.Parse(b, &r)
				if err != nil {
					break
				}
				n.Request(0, b[:used])
				b = b[used:]
			}
		}
		var out collective.Effects
		n.Flush(&out)
		for _, x := range out.Faults {
			if errors.Unwrap(x.Err) == nil && x.Err.Error() == "" {
				t.Fatal("a fault that says nothing")
			}
		}
	})
}
