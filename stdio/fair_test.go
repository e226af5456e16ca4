package stdio

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/job"
)

func TestFairTurns(t *testing.T) {
	f, err := NewFair(2, FairLimit)
	require.NoError(t, err)
	flood := bytes.Repeat([]byte("f"), f.Room(1))
	require.NoError(t, f.Push(1, Stdout, flood))
	require.NoError(t, f.Push(2, Stderr, []byte("short\n")))
	f.End(2, Stderr)

	c, ok := f.Pop()
	require.True(t, ok)
	assert.Equal(t, job.Rank(1), c.Rank)
	assert.Len(t, c.Data, Quantum)
	c, _ = f.Pop()
	assert.Equal(t, Chunk{Rank: 2, Stream: Stderr, Data: []byte("short\n")}, c, "one quantum later")
	c, _ = f.Pop()
	assert.Equal(t, Chunk{Rank: 2, Stream: Stderr, Data: []byte{}, End: true}, Chunk{c.Rank, c.Stream, []byte{}, c.End})
	c, _ = f.Pop()
	assert.Equal(t, len(flood)-Quantum, len(c.Data))
	_, ok = f.Pop()
	assert.False(t, ok)
	assert.Zero(t, f.Len())
}

func TestFairKeepsOrderOverStreams(t *testing.T) {
	f, err := NewFair(1, FairLimit)
	require.NoError(t, err)
	var want, got string
	for i := range 200 {
		st := Stdout + Stream(i%3/2)
		s := fmt.Sprintf("%v%d;", st, i)
		want += s
		require.NoError(t, f.Push(5, st, []byte(s)))
	}
	for c, ok := f.Pop(); ok; c, ok = f.Pop() {
		got += string(c.Data)
	}
	assert.Equal(t, want, got)
}

func TestFairRefuses(t *testing.T) {
	_, err := NewFair(0, FairLimit)
	require.Error(t, err)
	_, err = NewFair(1, 100)
	require.Error(t, err)

	f, err := NewFair(1000, FairLimit)
	require.NoError(t, err)
	room := f.Room(1)
	require.ErrorIs(t, f.Push(1, Stdout, make([]byte, room+1)), ErrBeyondRoom)
	require.NoError(t, f.Push(1, Stdout, make([]byte, room)))
	assert.Zero(t, f.Room(1))
	_, ok := f.Resume()
	assert.False(t, ok, "nothing has been sent yet")
	f.Pop()
	r, ok := f.Resume()
	assert.True(t, ok)
	assert.Equal(t, job.Rank(1), r)
	assert.Equal(t, room, f.Room(1))
	_, ok = f.Resume()
	assert.False(t, ok, "each is named once")
}

// fairSim drives a Fair as an agent does: pipes with bytes in them, read as
// far as there is room.
type fairSim struct {
	f      *Fair
	pipes  map[job.Rank][]byte
	paused map[job.Rank]bool
	got    map[job.Rank][]byte
	popped int
}

func (s *fairSim) read(r job.Rank) {
	if s.paused[r] || len(s.pipes[r]) == 0 {
		return
	}
	room := s.f.Room(r)
	if room == 0 {
		s.paused[r] = true
		return
	}
	n := min(room, len(s.pipes[r]))
	if err := s.f.Push(r, Stdout, s.pipes[r][:n]); err != nil {
		panic(err)
	}
	s.pipes[r] = s.pipes[r][n:]
}

func (s *fairSim) pop() (Chunk, bool) {
	c, ok := s.f.Pop()
	if !ok {
		return c, false
	}
	s.popped += len(c.Data)
	s.got[c.Rank] = append(s.got[c.Rank], c.Data...)
	for r, ok := s.f.Resume(); ok; r, ok = s.f.Resume() {
		s.paused[r] = false
		s.read(r)
	}
	return c, true
}

func newFairSim(t require.TestingT, ranks int) *fairSim {
	f, err := NewFair(ranks, 4*Quantum) // small, so that 40 ranks are many
	require.NoError(t, err)
	return &fairSim{f: f, pipes: map[job.Rank][]byte{}, paused: map[job.Rank]bool{}, got: map[job.Rank][]byte{}}
}

// Whatever the others do, a short line waits for at most a quantum of each.
func TestFairDelay(t *testing.T) {
	for _, ranks := range []int{2, 5, 32, 40, 200} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			s := newFairSim(t, ranks)
			for r := 1; r < ranks; r++ {
				s.pipes[job.Rank(r)] = make([]byte, 4<<20/ranks+3*Quantum)
			}
			for round := range 5 {
				for r := ranks - 1; r > 0; r-- {
					for range 4 {
						s.read(job.Rank(r))
					}
				}
				require.LessOrEqual(t, s.f.Len(), 4*Quantum)
				for range round {
					s.pop()
				}
				s.pipes[0] = []byte("short\n")
				asked := s.popped
				s.read(0)
				for len(s.got[0]) < 6*(round+1) {
					_, ok := s.pop()
					require.True(t, ok, "the line never comes")
				}
				assert.LessOrEqual(t, s.popped-asked, (ranks-1)*Quantum+6)
			}
		})
	}
}

// Nothing is lost, reordered or stuck, and the limit holds, for any schedule.
func TestFairDelivers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.SampledFrom([]int{1, 3, 33, 60}).Draw(t, "ranks")
		s := newFairSim(t, ranks)
		want := map[job.Rank][]byte{}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			r := job.Rank(rapid.IntRange(0, ranks-1).Draw(t, "rank"))
			b := bytes.Repeat([]byte{byte(step)}, rapid.IntRange(0, 40_000).Draw(t, "bytes"))
			want[r] = append(want[r], b...)
			s.pipes[r] = append(s.pipes[r], b...)
			s.read(job.Rank(rapid.IntRange(0, ranks-1).Draw(t, "reads")))
			s.read(r)
			require.LessOrEqual(t, s.f.Len(), 4*Quantum)
			if rapid.Bool().Draw(t, "pop") {
				s.pop()
			}
		}
		for more := true; more; {
			_, more = s.pop()
			for r := range want {
				s.read(r)
			}
			more = more || s.f.Len() > 0
		}
		for r, b := range want {
			require.True(t, bytes.Equal(b, s.got[r]), "rank %d: %d bytes of %d", r, len(s.got[r]), len(b))
		}
		require.Zero(t, s.f.Len())
	})
}

func BenchmarkFair(b *testing.B) {
	f, err := NewFair(16, FairLimit)
	require.NoError(b, err)
	data := make([]byte, 4096)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = f.Push(job.Rank(i%16), Stdout, data)
		f.Pop()
	}
}
