package collective_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// parsed reads the records for an endpoint.
func parsed(b []byte) (list []record.Record) {
	for len(b) > 0 {
		raw, rest, err := record.Frame(b)
		var r record.Record
		if err == nil {
			_, err = record.Parse(raw, &r)
		}
		if err != nil {
			panic(err)
		}
		list, b = append(list, r), rest
	}
	return list
}

// say has a program without a library say something.
func (s *sim) say(e *simEnd, list ...record.Record) {
	e.raw = true
	for _, r := range list {
		s.put(e.out, record.Append(nil, &r))
	}
}

// told counts what an endpoint was told of a kind.
func (e *simEnd) told(k record.Kind) (n int, last record.Record) {
	for _, r := range e.heard {
		if r.Kind == k {
			n, last = n+1, r
		}
	}
	return n, last
}

// pair makes a communicator of two ranks on two nodes, by words of their own.
func pair(t *testing.T) (s *sim, comm uint64) {
	s = newSim(seeded(1), 2, 1, blocks(2, 1))
	for _, e := range s.ends[:2] {
		s.say(e, record.Record{Kind: record.Create, Seq: 1, Body: record.AppendRuns(nil, []int{0, 1})})
	}
	s.run()
	for _, e := range s.ends[:2] {
		n, made := e.told(record.Made)
		require.Equal(t, 1, n)
		comm = made.Comm
	}
	return s, comm
}

func enter(op record.Op, comm, seq uint64, root int, size int64) record.Record {
	return record.Record{Kind: record.Enter, Op: op, Comm: comm, Seq: seq, Dst: root, Size: size}
}

// TestFreeFailsWhatIsUnderWay has a first member free a communicator by the
// rules, another not: it has not waited for what it began.
func TestFreeFailsWhatIsUnderWay(t *testing.T) {
	const long = 1 << 20
	for name, x := range map[string]struct {
		first, second []record.Record // before the barrier
		what          uint8           // that of the second fails
	}{
		"a message to it": {
			[]record.Record{{Kind: record.Send, Seq: 7, Dst: 1, Count: 1, Off: 5, Size: long}},
			[]record.Record{{Kind: record.Recv, Seq: 8, Src: 0, Off: 5, Size: long}}, record.FailRecv},
		"a message of it": {
			nil, []record.Record{{Kind: record.Send, Seq: 8, Src: 1, Count: 1, Off: 5, Size: long}}, record.FailSend},
		"a receive": {
			nil, []record.Record{{Kind: record.Recv, Seq: 8, Src: record.Any, Off: 5, Size: long}}, record.FailRecv},
		"a gather": {
			[]record.Record{enter(record.Gather, 0, 0, 1, long)}, []record.Record{enter(record.Gather, 0, 0, 1, long)}, record.FailOp},
		"a reduction": {
			[]record.Record{{Kind: record.Enter, Op: record.AllReduce, Fn: sumOfInts, Size: long}},
			[]record.Record{{Kind: record.Enter, Op: record.AllReduce, Fn: sumOfInts, Size: long}}, record.FailOp},
	} {
		t.Run(name, func(t *testing.T) {
			s, comm := pair(t)
			for i, list := range [][]record.Record{x.first, x.second} {
				seq := uint64(0)
				for _, r := range list {
					if r.Comm = comm; r.Kind == record.Enter {
						seq = 1
					}
					s.say(s.ends[i], r)
				}
				s.say(s.ends[i], enter(record.Barrier, comm, seq, 0, 0))
			}
			s.run()
			s.say(s.ends[0], record.Record{Kind: record.Free, Comm: comm})
			s.run()
			n, fail := s.ends[1].told(record.Fail)
			require.Equal(t, 1, n)
			require.Equal(t, x.what, fail.Fn)
			require.Equal(t, "the communicator was freed", string(fail.Body))
			require.Equal(t, 4, s.communicators())
			s.ends[1].heard = nil
			s.say(s.ends[1], enter(record.Barrier, comm, 9, 0, 0), record.Record{Kind: record.Send, Comm: comm, Seq: 9, Src: 1, Count: 1},
				record.Record{Kind: record.Recv, Comm: comm, Seq: 9}, record.Record{Kind: record.Ask, Comm: comm, Seq: 9, Src: 1, Count: 1},
				record.Record{Kind: record.SendData, Comm: comm, Seq: 8, Src: 1, Count: 1, Body: make([]byte, 10)})
			s.run()
			n, _ = s.ends[1].told(record.Fail)
			require.Equal(t, 4, n, "what comes too late")
			for _, n := range s.nodes {
				n.Wrote(0, 1<<20)
				n.Wrote(1, 1<<20)
				require.True(t, n.Settled())
			}
			require.Empty(t, s.faults)
		})
	}
}

func TestFreeWithoutABarrier(t *testing.T) {
	for name, before := range map[string]int{"never one": 0, "something since": 2} {
		t.Run(name, func(t *testing.T) {
			s, comm := pair(t)
			for i := range before {
				op := []record.Op{record.Barrier, record.AllGather}[i]
				s.say(s.ends[0], enter(op, comm, uint64(i), 0, 0))
				s.say(s.ends[1], enter(op, comm, uint64(i), 0, 0))
			}
			s.say(s.ends[0], record.Record{Kind: record.Free, Comm: comm})
			s.run()
			require.Len(t, s.faults, 1)
			require.ErrorContains(t, s.faults[0], "without a barrier")
		})
	}
}

// TestFreedIsNotMadeLater has a rank that did not ask for a communicator behave
// as a member nonetheless, and ask for one when that was freed.
func TestFreedIsNotMadeLater(t *testing.T) {
	s := newSim(seeded(1), 2, 1, blocks(2, 1))
	create := record.Record{Kind: record.Create, Seq: 1, Body: record.AppendRuns(nil, []int{0, 1})}
	s.say(s.ends[0], create)
	s.run()
	_, made := s.ends[0].told(record.Made)
	for _, e := range s.ends[:2] {
		s.say(e, enter(record.Barrier, made.Comm, 0, 0, 0))
	}
	s.run()
	s.say(s.ends[0], record.Record{Kind: record.Free, Comm: made.Comm})
	s.run()
	s.say(s.ends[1], create)
	s.say(s.ends[0], create)
	s.run()
	_, first := s.ends[0].told(record.Made)
	n, second := s.ends[1].told(record.Made)
	require.Equal(t, 1, n)
	require.Equal(t, first.Comm, second.Comm)
	require.NotEqual(t, made.Comm, second.Comm)
	require.Empty(t, s.faults)
}

// TestNoWordsOfRanksBreakAgents has ranks say what comes to mind, much of it
// nearly right: agents accuse those ranks, never each other.
func TestNoWordsOfRanksBreakAgents(t *testing.T) {
	for seed := range uint64(400) {
		s := newSim(seeded(seed), 4, 2, blocks(4, 2))
		gs := make([]*gossip, s.ranks)
		for i := range gs {
			gs[i] = &gossip{rng: s.rng, rank: i, ranks: s.ranks, next: map[uint64]uint64{}}
		}
		for range 1500 {
			i := s.rng.IntN(s.ranks)
			if e := s.ends[i]; s.rng.IntN(4) > 0 {
				s.step()
			} else if e.heard, gs[i].heard = nil, e.heard; true {
				s.say(e, gs[i].word())
			}
		}
		s.run()
		for _, err := range s.faults {
			require.Contains(t, err.Error(), fmt.Sprintf("from %d: ", -2), "seed %d", seed)
		}
	}
}

// gossip makes up what a rank says.
type gossip struct {
	rng         *rand.Rand
	rank, ranks int
	comms       []record.Record // that it has heard of
	next        map[uint64]uint64
	entered     []record.Record
	heard       []record.Record
}

func (g *gossip) word() record.Record {
	pick := func(n ...int64) int64 { return n[g.rng.IntN(len(n))] }
	for _, h := range g.heard {
		switch h.Kind {
		case record.Made:
			g.comms = append(g.comms, h)
		case record.Pull:
			if g.rng.IntN(8) > 0 {
				return record.Record{Kind: record.Data, Op: h.Op, Comm: h.Comm, Seq: h.Seq, Src: h.Dst, Dst: h.Src, Count: 1, Off: h.Off, Size: h.Size, Body: make([]byte, h.Size)}
			}
		case record.SendPull:
			return record.Record{Kind: record.SendData, Comm: h.Comm, Seq: h.Seq, Src: h.Dst, Dst: h.Src, Count: 1, Off: h.Off, Body: make([]byte, h.Size)}
		}
	}
	g.heard = nil
	c := record.Record{Dst: g.rank, Size: int64(g.ranks)}
	if len(g.comms) > 0 && g.rng.IntN(3) > 0 {
		c = g.comms[g.rng.IntN(len(g.comms))]
	}
	r := record.Record{Comm: c.Comm, Src: c.Dst, Dst: g.rng.IntN(int(c.Size)), Count: 1, Seq: uint64(g.rng.IntN(4))}
	switch g.rng.IntN(12) {
	case 0, 1, 2:
		seq := g.next[c.Comm]
		g.next[c.Comm]++
		e := enter(record.Op(pick(1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9)), c.Comm, seq, g.rng.IntN(int(c.Size)), pick(0, 8, 8, 8, 80_000))
		if e.Fn = sumOfInts; seq%record.SyncEvery == record.SyncEvery-1 {
			e.Op = record.Barrier
		}
		if e.Op == record.Split {
			e.Size, e.Body = 0, record.AppendChoice(nil, uint32(pick(0, 1)), 0)
		}
		g.entered = append(g.entered, e)
		return e
	case 3, 4:
		if len(g.entered) > 0 { // its debt for that
			e := g.entered[len(g.entered)-1]
			r.Kind, r.Op, r.Comm, r.Seq, r.Size, r.Body = record.Data, e.Op, e.Comm, e.Seq, e.Size, make([]byte, pick(0, 8, 8, e.Size)&0xffff)
			if r.Dst = e.Dst; e.Op != record.Gather {
				r.Dst, r.Count = 0, int(c.Size)
			}
			if r.Each = e.Op == record.AllToAll || e.Op == record.Scatter; r.Each {
				r.Body = make([]byte, c.Size*8)
			}
			if e.Op == record.AllGather {
				r.Off = int64(r.Src) * e.Size
			}
			if e.Op == record.Reduce || e.Op == record.AllReduce {
				r.Kind, r.Fn = record.Up, e.Fn
			}
		}
		return r
	case 5:
		r.Kind, r.Off, r.Size = record.Send, pick(0, 1), pick(0, 10, 100_000)
		r.Body = make([]byte, r.Size%100_000)
	case 6:
		r.Kind, r.Src, r.Off, r.Size = record.Recv, int(pick(-1, int64(r.Dst), 99)), pick(-1, 0, 1), pick(0, 10, 1<<20)
	case 7:
		r.Kind, r.Off, r.Body = record.SendData, pick(0, 65536, 1<<60), make([]byte, pick(0, 10, 65536))
	case 8:
		r.Kind = record.Ask
	case 9:
		r.Kind, r.Comm = record.Free, c.Comm
	case 10:
		list := []int{0, 1, 2, 3, 4, 5, 6, 7}[g.rng.IntN(3):]
		r.Kind, r.Body = record.Create, record.AppendRuns(nil, list)
	case 11:
		r.Kind = record.Kind(g.rng.IntN(40))
		r.Body = make([]byte, pick(0, 1, 8))
	}
	return r
}

// TestNoFrameBreaksAnAgent has links change what they carry: a neighbor may be
// accused then, but no agent breaks down.
func TestNoFrameBreaksAnAgent(t *testing.T) {
	accused := 0
	for seed := range uint64(200) {
		s := newSim(seeded(seed), 4, 2, blocks(4, 2))
		for _, n := range s.nodes[1:] {
			for _, q := range []*queue{n.up, n.down} {
				pass := q.deliver
				q.deliver = func(b []byte) bool {
					if s.rng.IntN(10) == 0 {
						b = slices.Clone(b)
						at := s.rng.IntN(min(len(b), 24))
						b[at] = []byte{b[at] ^ 1, b[at] + 1, 0, 1, 2, byte(s.rng.IntN(256))}[s.rng.IntN(6)]
					}
					return pass(b)
				}
			}
		}
		program := []step{{"allgather", 0, 8}, {"allreduce", 1, 100_000}, {"split", 0, 0}, {"ring", 0, 70_000}, {"alltoall", 0, 20_000}, {"bcast", 1, 100_000}}
		for _, e := range s.ends[:s.ranks] {
			s.do(e, func() {
				for n, st := range program {
					if st.op != "split" {
						begin(e.World(), n, st, func(error) {})
						continue
					}
					q := e.World().Split(e.id%2, -e.id)
					q.OnDone = func() {
						for n, st := range program {
							if c := q.Made(); c != nil && st.op != "split" {
								s.do(e, func() { begin(c, n, st, func(error) {}) })
							}
						}
					}
					e.Sub([]int{0, 1, 2, 3, 4, 5, 6, 7})
				}
			})
		}
		s.run()
		accused += len(s.faults)
	}
	require.Positive(t, accused)
}

// TestNeighborSaysTwice has a child say what makes an agent's own part
// impossible: the operation fails.
func TestNeighborSaysTwice(t *testing.T) {
	const long = 1 << 20
	piece := record.Append(nil, &record.Record{Kind: record.Up, Op: record.Bcast, Src: 2, Size: long})
	n, err := collective.New(collective.Config{Ranks: 2, Node: func(rank int) int { return rank }, Children: 1, Root: true,
		Directions: collective.Runs(collective.Local, 0, collective.Local, 0)})
	require.NoError(t, err)
	n.Receive(0, slices.Clone(piece))
	n.Receive(0, slices.Clone(piece))
	begin := enter(record.Bcast, 0, 0, 0, long)
	n.Request(0, record.Append(nil, &begin))
	require.Equal(t, "came too early or twice", failure(n))

	// A communicator with the number of another, which nobody here is a member of.
	n, err = collective.New(collective.Config{Ranks: 1, Node: func(int) int { return 1 }, Children: 1, Root: true,
		Directions: collective.Runs(0, collective.Local, 0)})
	require.NoError(t, err)
	for seq := range uint64(2) {
		n.Receive(0, record.Append(nil, &record.Record{Kind: record.Piece, Op: record.Split, Fn: 1, Seq: seq, Size: 12, Body: class(0, 1, 1<<32|1, 1, 1, 0, 0, 1)}))
	}
	require.Equal(t, "which is there already", failure(n))
}

// class encodes an agent's word on a class of a split.
func class(numbers ...uint64) (b []byte) {
	for _, x := range numbers {
		b = binary.AppendUvarint(b, x)
	}
	return b
}

// TestForgedClass has a child say, before anyone has sorted, that a class is smaller than it is:
// the split fails, and nobody waits for ever.
func TestForgedClass(t *testing.T) {
	s := newSim(seeded(1), 2, 1, []int{0, 0, 1})
	s.nodes[0].Receive(0, splitPiece(1, 0, class(7, 1, 0, 1, 1, 0, 4, 1)))
	pass := s.nodes[1].up.deliver
	s.nodes[1].up.deliver = func(b []byte) bool {
		var r record.Record
		_, err := record.Parse(b, &r)
		require.NoError(t, err)
		return r.Kind == record.Piece && r.Fn == 1 || pass(b) // it has said that
	}
	var splits []*member.Request
	for _, e := range s.ends[:3] {
		s.do(e, func() { splits = append(splits, e.World().Split(7, 0)) })
	}
	for _, err := range s.outcomes(t, splits...) {
		require.ErrorContains(t, err, "colour 7: 3 of 1 members")
	}
}

// TestForgedSort has an agent send messages that are none of a sort, to one that
// awaits its table, and to one that awaits its survey: the communicator is broken, and
// who passed them on keeps its link.
func TestForgedSort(t *testing.T) {
	piece := func(tag int64, size int, body []byte) []byte {
		return record.Append(nil, &record.Record{Kind: record.Piece, Op: record.Split, Src: 1, Dst: 0, Count: 1, Off: tag, Size: int64(size), Body: body})
	}
	dear := func(int) commsplit.Costs { return commsplit.Costs{Row: 1e6} } // so that a survey is cheap
	for tag, costs := range map[int64]func(int) commsplit.Costs{3 << 16: nil, 0x201<<16 + 1: dear} {
		forgedSort(t, tag, costs, piece)
	}
}

func forgedSort(t *testing.T, first int64, costs func(int) commsplit.Costs, piece func(tag int64, size int, body []byte) []byte) {
	var empty, begun [][]byte
	for tag := range int64(10_000) {
		empty = append(empty, piece(tag, 8, make([]byte, 8)))
		begun = append(begun, piece(tag, 8, make([]byte, 1)))
	}
	for name, messages := range map[string][][]byte{
		"short":        {piece(first, 3, []byte("abc"))},
		"beyond":       {piece(first, 2, []byte("abc"))},
		"never whole":  {piece(first, 1<<40, nil)},
		"many rows":    {piece(first, 8, []byte{255, 255, 255, 255, 0, 0, 0, 0})},
		"no such tag":  {piece(1<<40, 8, make([]byte, 8))},
		"twice":        {piece(5, 8, make([]byte, 8)), piece(5, 8, make([]byte, 8))},
		"too much":     slices.Repeat([][]byte{piece(first, 1<<40, make([]byte, record.Chunk))}, 2<<20/record.Chunk),
		"many of none": empty,
		"many begun":   begun,
		"of one word":  {piece(first, 16, binary.LittleEndian.AppendUint64([]byte{0, 0, 0, 0, 1, 0, 0, 0}, 1))},
	} {
		n, err := collective.New(collective.Config{Ranks: 2, Node: func(rank int) int { return rank }, Children: 1, Root: true, Costs: costs,
			Directions: collective.Runs(collective.Local, 0, collective.Local, 0)})
		require.NoError(t, err)
		begin := enter(record.Split, 0, 0, 0, 0)
		begin.Body = record.AppendChoice(nil, 1, 1)
		n.Request(0, record.Append(nil, &begin))
		for _, m := range messages {
			n.Receive(0, m)
		}
		why := failure(n)
		require.Contains(t, why, "operation 0 of the world", name)
		t.Log(name, ":", why)
	}
}

// TestForgedPlaces has an agent ask for what another home has, answer what nobody can
// answer, and send what passes as data of a communicator with a table: it is accused, or
// the communicator is broken.
func TestForgedPlaces(t *testing.T) {
	for name, x := range map[string]struct {
		r    record.Record
		want string
	}{
		"asks as another":         {record.Record{Kind: record.Where, Src: 0, Dst: 0, Count: 1}, "process 0 to 0"},
		"asks nobody":             {record.Record{Kind: record.Where, Src: 1, Dst: 2, Count: 1}, "process 1 to 2"},
		"asks itself":             {record.Record{Kind: record.Where, Src: 1, Dst: 1, Count: 1, Off: 2}, "which is not here"},
		"asks another home":       {record.Record{Kind: record.Where, Src: 1, Count: 1, Off: 3}, "for 1 ranks from 3 on"},
		"asks for too many":       {record.Record{Kind: record.Where, Src: 1, Count: 5}, "for 5 ranks"},
		"asks for nothing":        {record.Record{Kind: record.Where, Src: 1}, "for 0 ranks"},
		"answers for another":     {record.Record{Kind: record.There, Src: 1, Count: 1, Off: 1, Body: []byte{1, 0, 0, 1}}, "for 1 ranks from 1 on"},
		"answers nothing":         {record.Record{Kind: record.There, Src: 1, Count: 1, Off: 2}, "process 1 tells 0 places for 1 ranks"},
		"answers too much":        {record.Record{Kind: record.There, Src: 1, Count: 1, Off: 2, Body: []byte{1, 0, 0, 2}}, "process 1 tells 2 places for 1 ranks"},
		"answers with no member":  {record.Record{Kind: record.There, Src: 1, Count: 1, Off: 2, Body: []byte{1, 20, 0, 1}}, "process 1 tells 0 places for 1 ranks"},
		"a message of no rank":    {record.Record{Kind: record.Send, Src: 3, Dst: 0, Count: 1, Size: 1, Body: []byte{1}}, "from nobody"},
		"a message of rank 9":     {record.Record{Kind: record.Send, Src: 3, Dst: 0, Count: 1, Body: []byte{9, 0, 0, 0}}, "from nobody"},
		"a wish for no piece":     {record.Record{Kind: record.Pull, Op: record.AllGather, Src: 4, Count: 4}, "a wish for piece 0"},
		"a wish for a far piece":  {record.Record{Kind: record.Pull, Op: record.AllGather, Src: 4, Count: 4, Off: 1 << 40, Body: []byte{8}}, "a wish for piece"},
		"a piece of a split, far": {record.Record{Kind: record.Piece, Op: record.Split, Src: 1, Count: 2, Dst: 0}, "process 2 to process 0"},
		"a piece as another":      {record.Record{Kind: record.Piece, Op: record.Split, Src: 1, Count: 0, Dst: 0}, "which are elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(seeded(1), 2, 1, blocks(2, 2))
			g, c := group(s.ends[:4]), commsByEnd{}
			for _, e := range g {
				c[e] = e.World()
			}
			s.split(t, g, c, []choice{{0, 2}, {0, 0}, {0, 3}, {0, 1}})
			n := s.nodes[0]
			x.r.Comm = n.TableOf()
			require.NotZero(t, x.r.Comm)
			n.Receive(0, record.Append(nil, &x.r))
			require.Contains(t, failure(n.Node), x.want)
		})
	}
}

// failure returns the end of why a node says that something failed.
func failure(n *collective.Node) string {
	var out collective.Effects
	n.Flush(&out)
	for _, f := range out.Frames {
		for b := f.Bytes; len(b) > 0; {
			var r record.Record
			used, err := record.Parse(b, &r)
			if err != nil {
				return err.Error()
			}
			if b = b[used:]; r.Kind == record.Lost {
				for _, end := range []string{"came too early or twice", "which is there already"} {
					if strings.HasSuffix(string(r.Body), end) {
						return end
					}
				}
				return string(r.Body)
			}
		}
	}
	return fmt.Sprint(out.Faults)
}
