package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/record"
)

// TestFreeWaitsForWhatIsUnderWay has all members begin something long, then free
// the communicator at once: all of it comes to a good end.
func TestFreeWaitsForWhatIsUnderWay(t *testing.T) {
	for _, op := range allOps {
		t.Run(op, func(t *testing.T) {
			for seed := range uint64(4) {
				s := newSim(seeded(seed), 5, 2, blocks(5, 2))
				members, comm := s.subset(t)
				program := []step{{op, 0, 100_000}, {op, len(members) - 1, 3000}}
				results := make([][]outcome, len(members))
				freed := 0
				for i, e := range members {
					results[i] = make([]outcome, len(program))
					s.do(e, func() {
						c := comm(e)
						for n, st := range program {
							begin(c, n, st, func(err error) { results[i][n] = outcome{true, err} })
						}
						both(func(err error) {
							require.NoError(t, err)
							for n, x := range results[i] {
								require.True(t, x.done, "member %d: step %d", i, n)
							}
							freed++
						}, nil, nil, c.Free())
						_, err := c.Free().Done()
						require.ErrorContains(t, err, "freed", "a second time")
					})
				}
				s.run()
				s.check(t, results, program)
				require.Equal(t, len(members), freed)
				require.Equal(t, 2*len(s.nodes), s.communicators())
			}
		})
	}
}

// TestFreeWithQuestionsUnderWay has the first member free a communicator with a table as soon as it
// may, while others look members up, send to them, and begin what needs the numbers of one or all:
// every question has one answer, the right one or that the communicator was freed, and
// nothing of it is left anywhere.
func TestFreeWithQuestionsUnderWay(t *testing.T) {
	const asks = 6
	answers, fails, crossed := 0, 0, 0
	for seed := range uint64(300) {
		s := newSim(seeded(seed), 7, 2, blocks(7, 2))
		members, _ := s.shuffled(t)
		id := s.nodes[members[0].node].TableOf()
		size := len(members)
		what, root := s.rng.IntN(3), s.rng.IntN(size)
		for rank, e := range members {
			ask := func() {
				for range asks {
					n := uint64(len(e.asked))
					e.asked = append(e.asked, s.rng.IntN(size))
					s.say(e, record.Record{Kind: record.Ask, Comm: id, Seq: n, Src: rank, Dst: e.asked[n], Count: 1})
				}
			}
			ask()
			s.say(e, enter(record.Barrier, id, 0, 0, 0))
			if rank == 0 {
				continue
			}
			ask()
			switch what {
			case 0:
				s.say(e, record.Record{Kind: record.Send, Comm: id, Seq: 1, Src: rank, Dst: s.rng.IntN(size), Count: 1, Size: 1, Body: []byte("x")})
			case 1:
				s.say(e, enter(record.Bcast, id, 1, root, 8))
			case 2:
				s.say(e, enter(record.AllToAll, id, 1, 0, 1),
					record.Record{Kind: record.Data, Each: true, Op: record.AllToAll, Comm: id, Seq: 1, Src: rank, Count: size, Size: 1, Body: make([]byte, size)})
			}
		}
		first := members[0]
		for n, _ := first.told(record.Data); n == 0; n, _ = first.told(record.Data) {
			require.True(t, s.step())
		}
		s.say(first, record.Record{Kind: record.Free, Comm: id})
		if s.questions(id) > 0 {
			crossed++
		}
		s.run()
		require.Empty(t, s.faults)
		for rank, e := range members {
			heard := map[uint64]int{}
			for _, r := range e.heard {
				switch {
				case r.Kind == record.Answer:
					require.Equal(t, members[e.asked[r.Seq]].id, int(r.Off), "seed %d: rank %d", seed, rank)
					heard[r.Seq]++
					answers++
				case r.Kind == record.Fail && r.Fn == record.FailAsk:
					require.Equal(t, "the communicator was freed", string(r.Body))
					heard[r.Seq]++
					fails++
				}
			}
			for n := range e.asked {
				require.Equal(t, 1, heard[uint64(n)], "seed %d: rank %d: answers to question %d", seed, rank, n)
			}
		}
		for _, n := range s.nodes {
			require.Equal(t, 2, n.Communicators(), "seed %d", seed)
			require.True(t, n.Forgotten(), "seed %d: node %d still holds something", seed, n.index)
		}
	}
	require.Positive(t, answers)
	require.Positive(t, fails)
	require.Positive(t, crossed, "questions between agents that were under way")
}

// questions counts questions and answers of agents that are under way.
func (s *sim) questions(comm uint64) (count int) {
	for _, q := range s.busy {
		for _, item := range q.items {
			for b := item; len(b) > 0; {
				var r record.Record
				used, err := record.Parse(b, &r)
				if err != nil {
					break // as a rank is told
				}
				if b = b[used:]; r.Comm == comm && (r.Kind == record.Where || r.Kind == record.There) {
					count++
				}
			}
		}
	}
	return count
}
