package stdio

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// recorder is an Output that keeps what it is given.
type recorder struct {
	all       strings.Builder // both streams
	writes    int
	cuts      []LineCut
	spills    []*memSpill
	spillFail func(n int) *memSpill // makes the nth spill; nil: a good one
	fail      error                 // result of Write
}

func (r *recorder) Write(_ Stream, p []byte) error {
	r.writes++
	if r.fail != nil {
		return r.fail
	}
	r.all.Write(p)
	return nil
}

func (r *recorder) NewSpill() (Spill, error) {
	s := &memSpill{limit: -1}
	if r.spillFail != nil {
		if s = r.spillFail(len(r.spills)); s == nil {
			return nil, errNoSpace
		}
	}
	r.spills = append(r.spills, s)
	return s, nil
}

func (r *recorder) LineCut(c LineCut) { r.cuts = append(r.cuts, c) }

var errNoSpace = errors.New("no space left")

// memSpill is a Spill in memory that may be full or unreadable.
type memSpill struct {
	data       []byte
	at         int
	limit      int // most it takes; negative: no limit
	unreadable int // reads fail from this offset on, if positive
	closed     bool
}

func (m *memSpill) Write(p []byte) (int, error) {
	n := len(p)
	if m.limit >= 0 {
		n = min(n, m.limit-len(m.data))
	}
	m.data = append(m.data, p[:n]...)
	if n < len(p) {
		return n, errNoSpace
	}
	return n, nil
}

func (m *memSpill) Read(p []byte) (int, error) {
	if m.unreadable > 0 && m.at+len(p) > m.unreadable {
		return 0, errors.New("input/output error")
	}
	if m.at == len(m.data) {
		return 0, io.EOF
	}
	n := copy(p, m.data[m.at:])
	m.at += n
	return n, nil
}

func (m *memSpill) Seek(off int64, whence int) (int64, error) {
	m.at = int(off)
	return off, nil
}

func (m *memSpill) Close() error {
	m.closed = true
	return nil
}

func newAssembler(t require.TestingT, c AssemblerConfig) (*Assembler, *recorder) {
	rec := &recorder{}
	c.Out = rec
	a, err := NewAssembler(c)
	require.NoError(t, err)
	return a, rec
}

var epoch = time.Unix(1000, 0)

// at returns a time in milliseconds after the epoch of the tests.
func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// rankID returns a rank of the first world.
func rankID[N ~int | ~uint8](n N) job.RankID { return job.RankID{Rank: job.Rank(n)} }

// step is one event of a table test.
type step struct {
	ms   int // when; of the event itself and of a Tick before it
	rank int
	in   int    // world
	data string // "" ends the stream, unless tick
	err  bool   // stderr
	tick bool
}

func play(t *testing.T, a *Assembler, steps []step) {
	t.Helper()
	for _, s := range steps {
		st := Stdout
		if s.err {
			st = Stderr
		}
		switch {
		case s.tick:
			require.NoError(t, a.Tick(at(s.ms)))
		case s.data == "":
			require.NoError(t, a.End(job.RankID{World: s.in, Rank: job.Rank(s.rank)}, st))
		default:
			require.NoError(t, a.Add(at(s.ms), job.RankID{World: s.in, Rank: job.Rank(s.rank)}, st, []byte(s.data)))
		}
	}
}
