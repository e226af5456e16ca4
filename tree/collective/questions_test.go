package collective_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestRecordsWaitForRoom has a child send another one more than there is room for on
// the way: the rest is held up, and goes on, in order, as the other receives.
func TestRecordsWaitForRoom(t *testing.T) {
	for name, what := range map[string]record.Record{ // of what is at the first child, to what is at the second
		"questions":         {Kind: record.Where, Src: 1, Dst: 2, Count: 1},
		"pieces of a split": {Kind: record.Piece, Op: record.Split, Src: 1, Count: 1, Dst: 2, Size: 1 << 20},
		"messages":          {Kind: record.Send, Src: 2, Dst: 4, Count: 1},
		"data for two":      {Kind: record.Data, Op: record.Bcast, Src: 2, Dst: 4, Count: 2, Size: 1 << 20},
		"parts for two":     {Kind: record.Data, Each: true, Op: record.Scatter, Src: 2, Dst: 4, Count: 2, Size: 1 << 20, Body: make([]byte, 2)},
	} {
		t.Run(name, func(t *testing.T) { recordsWaitForRoom(t, what) })
	}
}

func recordsWaitForRoom(t *testing.T, what record.Record) {
	const frames, frame = 44, 16 << 10
	s := newSim(seeded(1), 3, 2, blocks(3, 2))
	s.shuffled(t)
	n := s.nodes[0].Node
	if what.Kind == record.Where {
		what.Comm = n.TableOf()
	}
	gave, passed, granted := 0, []int64{}, int64(0)
	sent := 0 // bytes that the other has not taken
	take := func() {
		out := flushed(n)
		require.Empty(t, out.Faults)
		for _, r := range said(out, 1, what.Kind) {
			passed = append(passed, r.Off)
		}
		for _, r := range said(out, 0, record.Credit) {
			granted += r.Size
		}
		for _, f := range out.Frames {
			if f.To == 1 {
				sent += len(f.Bytes)
			}
		}
	}
	for range frames {
		var b []byte
		for len(b) < frame {
			r := what
			r.Seq = 1 // World's split was operation 0
			r.Off = int64(4 + gave%2)
			b = record.Append(b, &r)
			gave++
		}
		n.Receive(0, b)
		take()
	}
	require.LessOrEqual(t, granted, int64(collective.Window+collective.QueueBound+1<<10), "what was taken of the one that sends")
	require.Less(t, len(passed), gave)
	for sent > 0 {
		credit := record.Append(nil, &record.Record{Kind: record.Credit, Size: int64(sent)})
		sent = 0
		n.Receive(1, credit)
		take()
	}
	require.Len(t, passed, gave)
	for i, off := range passed {
		require.Equal(t, int64(4+i%2), off)
	}
}

// TestNobodyAsksTwice has a member look all up, several times at once and again later: its agent asks
// about each of them once at most.
func TestNobodyAsksTwice(t *testing.T) {
	s := newSim(seeded(1), 5, 4, blocks(5, 4))
	members, comm := s.shuffled(t)
	asked := 0
	for _, n := range s.nodes[1:] {
		pass := n.down.deliver
		n.down.deliver = func(b []byte) bool {
			asked += len(said(&collective.Effects{Frames: []collective.Frame{{Bytes: b}}}, 0, record.Where))
			return pass(b)
		}
	}
	me := s.ends[0]
	locate := func() {
		var looks []*member.Request
		s.do(me, func() {
			for i := range 3 * len(members) {
				looks = append(looks, comm(me).Locate(i/3))
			}
		})
		s.run()
		for i, err := range s.outcomes(t, looks...) {
			require.NoError(t, err)
			rank, _ := looks[i].Location()
			require.Equal(t, members[i/3].id, rank)
		}
	}
	locate()
	once := asked
	require.Positive(t, once)
	require.Less(t, once, len(members))
	locate()
	require.Equal(t, once, asked, "what was asked is remembered")
}

// TestAnswersNobodyAskedFor has a home tell places that nobody has asked for, one or all that it has:
// the node keeps nothing of them.
func TestAnswersNobodyAskedFor(t *testing.T) {
	for _, all := range []bool{false, true} {
		s := newSim(seeded(1), 2, 1, blocks(2, 3))
		members, comm := s.shuffled(t)
		n := s.nodes[0]
		n.Receive(0, record.Append(nil, &record.Record{Kind: record.There, Each: all, Comm: n.TableOf(), Src: 1, Count: 3, Off: 3, Body: []byte{1, 0, 0, 3}}))
		require.Empty(t, flushed(n.Node).Faults)
		numbers, _ := n.Numbers()
		require.Zero(t, numbers)
		made := commsByEnd{}
		for _, e := range members {
			made[e] = comm(e)
		}
		s.locate(t, members, made, 50) // the answers that are right
	}
}

// TestTooMuchAtOnce has an agent ask for more rows than an answer may have: it is accused.
func TestTooMuchAtOnce(t *testing.T) {
	const each = 10_000
	n, err := collective.New(collective.Config{Ranks: 2 * each, Node: func(rank int) int { return 1 + rank/each }, Children: 2, Root: true,
		Directions: []collective.Run{{Count: each, Direction: 0}, {Count: each, Direction: 1}, {Count: 1, Direction: collective.Local}, {Count: 1, Direction: 0}, {Count: 1, Direction: 1}}})
	require.NoError(t, err)
	n.Receive(0, splitPiece(1, 0, class(7, 2*each, 0, 1, 1, 2*each, 0, each)))
	n.Receive(1, splitPiece(1, 0, class(7, 2*each, (each+1)<<32|1, 1, 1, 0, 2*each, each)))
	require.Empty(t, flushed(n).Faults)
	for count, faults := range map[int]int{4096: 0, 4097: 1} {
		n.Receive(0, record.Append(nil, &record.Record{Kind: record.Where, Each: true, Comm: n.TableOf(), Src: 0, Dst: 1, Count: count, Off: each}))
		require.Len(t, flushed(n).Faults, faults, "%d rows", count)
	}
}

// TestAnswersOfOthers has an agent answer a question about a member of another one's, before that
// does: it is not taken for the answer.
func TestAnswersOfOthers(t *testing.T) {
	s := newSim(seeded(1), 3, 2, blocks(3, 1))
	g, c := group(s.ends[:3]), commsByEnd{}
	for _, e := range g {
		c[e] = e.World()
	}
	_, made := s.split(t, g, c, make([]choice, 3))
	var look *member.Request
	s.do(s.ends[0], func() { look = made[s.ends[0]].Locate(2) })
	n := s.nodes[0]
	for n.Questions(0) == 0 {
		require.True(t, s.step())
	}
	var out collective.Effects
	for seq := range uint64(5) {
		n.Receive(0, record.Append(nil, &record.Record{Kind: record.Answer, Comm: n.SplitOf(), Seq: seq, Src: 1, Count: 1, Off: 1}))
		s.flush(n, &out)
	}
	require.Equal(t, 1, n.Questions(0))
	s.run()
	require.Empty(t, s.faults)
	done, err := look.Done()
	require.True(t, done)
	require.NoError(t, err)
	rank, _ := look.Location()
	require.Equal(t, 2, rank)
}

// TestQuestionsAtATime has a rank ask more at a time than it may.
func TestQuestionsAtATime(t *testing.T) {
	s := newSim(seeded(1), 4, 3, blocks(4, 3))
	members, _ := s.shuffled(t)
	n := s.nodes[0]
	me := slices.Index(members, s.ends[0])
	asks := 0
	for member := 0; asks <= record.MaxRequests; member = (member + 1) % len(members) {
		before := n.Questions(0)
		n.Request(0, record.Append(nil, &record.Record{Kind: record.Ask, Comm: n.TableOf(), Seq: uint64(100 + asks), Src: me, Dst: member, Count: 1}))
		if asks++; n.Questions(0) == before && asks <= record.MaxRequests {
			asks-- // it was answered at once
		}
	}
	faults := flushed(n.Node).Faults
	require.Len(t, faults, 1)
	require.ErrorContains(t, faults[0].Err, "more than 16 questions at a time")
}
