package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// TestMembersAgreeWhatIsTooMany has ranks make more communicators than may exist,
// one after the other: every one is made for all its members or for none.
func TestMembersAgreeWhatIsTooMany(t *testing.T) {
	const many = collective.MaxCommunicators + 100
	s := newSim(seeded(1), 3, 1, blocks(3, 1))
	made := make([][]*member.Comm, 3)
	for i, e := range s.ends[:3] {
		var next func()
		next = func() {
			if len(made[i]) == many {
				return
			}
			q := e.Sub([]int{len(made[i]) % 2, 2, 1 - len(made[i])%2})
			q.OnDone = func() {
				made[i] = append(made[i], q.Made())
				s.do(e, next)
			}
		}
		s.do(e, next)
	}
	s.run()
	require.Empty(t, s.faults)
	refused := 0
	for n := range many {
		require.Equal(t, made[0][n] == nil, made[1][n] == nil)
		require.Equal(t, made[0][n] == nil, made[2][n] == nil)
		if made[0][n] == nil {
			refused++
		}
	}
	require.Positive(t, refused)
	for i, e := range s.ends[:3] {
		s.do(e, func() { made[i][0].Free() })
	}
	s.run()
	require.Empty(t, s.faults)
	_, comm := s.members(t, []int{2, 0, 1})
	require.Equal(t, 3, comm(s.ends[0]).Size())
}

// TestDataNobodyAskedFor has a rank give nothing, too much, too early, or
// elsewhere: it is accused, and what it gave reaches nobody.
func TestDataNobodyAskedFor(t *testing.T) {
	const short, long = 10, 1 << 20
	data := func(op record.Op, dst, count int, off, size int64, body int) record.Record {
		return record.Record{Kind: record.Data, Op: op, Src: 1, Dst: dst, Count: count, Off: off, Size: size, Body: make([]byte, body)}
	}
	for name, list := range map[string][]record.Record{
		"nothing":           {enter(record.Bcast, 0, 0, 1, short), data(record.Bcast, 0, 2, 0, short, 0)},
		"a part":            {enter(record.Bcast, 0, 0, 1, short), data(record.Bcast, 0, 2, 0, short, 5)},
		"far away":          {enter(record.Gather, 0, 0, 0, short), data(record.Gather, 0, 1, 1<<60, short, short)},
		"before it is time": {enter(record.Gather, 0, 0, 0, long), data(record.Gather, 0, 1, 0, long, record.Chunk)},
		"to itself":         {enter(record.Gather, 0, 0, 0, short), data(record.Gather, 1, 1, 0, short, short)},
		"a message's":       {{Kind: record.Send, Seq: 1, Src: 1, Dst: 0, Count: 1, Size: long}, {Kind: record.SendData, Seq: 1, Src: 1, Dst: 0, Count: 1, Body: make([]byte, 10)}},
		"none of a message": {{Kind: record.Send, Seq: 1, Src: 1, Dst: 0, Count: 1, Size: long}, {Kind: record.SendData, Seq: 1, Src: 1, Dst: 0, Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(seeded(1), 2, 1, blocks(2, 1))
			s.ends[0].raw = true
			s.say(s.ends[1], list...)
			s.run()
			require.Len(t, s.faults, 1)
			require.ErrorContains(t, s.faults[0], "node 1: from -2")
			n, _ := s.ends[0].told(record.Data)
			require.Zero(t, n)
		})
	}
}
