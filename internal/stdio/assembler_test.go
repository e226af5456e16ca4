package stdio

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func TestAssemblerLines(t *testing.T) {
	tests := []struct {
		name  string
		cfg   AssemblerConfig
		steps []step
		want  string
	}{
		{name: "whole lines pass", cfg: AssemblerConfig{}, steps: []step{{data: "a\nb\n"}, {rank: 1, data: "c\n"}}, want: "a\nb\nc\n"},
		{name: "a line waits for its end, other ranks do not", cfg: AssemblerConfig{},
			steps: []step{{rank: 1, data: "he"}, {rank: 2, data: "x\n"}, {rank: 1, data: "llo\n"}}, want: "x\nhello\n"},
		{name: "labels", cfg: AssemblerConfig{Label: true},
			steps: []step{{data: "a\nb\nc"}, {rank: 12, data: "x\n"}, {data: "\n"}}, want: "[0] a\n[0] b\n[12] x\n[0] c\n"},
		{name: "labels on both streams alike", cfg: AssemblerConfig{Label: true},
			steps: []step{{rank: 3, data: "o\n"}, {rank: 3, data: "e\n", err: true}}, want: "[3] o\n[3] e\n"},
		{name: "empty lines", cfg: AssemblerConfig{Label: true}, steps: []step{{data: "\n\n"}}, want: "[0] \n[0] \n"},
		{name: "stdout and stderr of a rank do not mix", cfg: AssemblerConfig{},
			steps: []step{{rank: 1, data: "out"}, {rank: 1, data: "err\n", err: true}, {rank: 1, data: "put\n"}}, want: "err\noutput\n"},

		{name: "one rank is passed on at once", cfg: AssemblerConfig{Ranks: 1}, steps: []step{{data: "a"}, {data: "b"}}, want: "ab"},
		{name: "one rank ends without a newline", cfg: AssemblerConfig{Ranks: 1}, steps: []step{{data: "x"}, {}}, want: "x"},
		{name: "one labelled rank gets whole lines", cfg: AssemblerConfig{Ranks: 1, Label: true}, steps: []step{{data: "x"}, {}}, want: "[0] x\n"},
		{name: "the only writer ends without a newline", cfg: AssemblerConfig{Ranks: 4}, steps: []step{{rank: 2, data: "x"}, {rank: 2}, {}, {rank: 1}}, want: "x"},
		{name: "an unended last line is ended before other output", cfg: AssemblerConfig{},
			steps: []step{{rank: 1, data: "x"}, {rank: 1}, {rank: 2, data: "y\n"}, {rank: 3, data: "z"}, {rank: 3}}, want: "x\ny\nz"},
		{name: "a labelled last line gets its newline", cfg: AssemblerConfig{Label: true},
			steps: []step{{rank: 1, data: "x"}, {rank: 1}, {rank: 2, data: "y"}, {rank: 2}}, want: "[1] x\n[2] y\n"},
		{name: "end of a stream that never wrote, twice", cfg: AssemblerConfig{}, steps: []step{{rank: 9}, {rank: 9}}},

		{name: "rank 0's unfinished line is shown", cfg: AssemblerConfig{},
			steps: []step{{rank: 1, data: "busy\n"}, {ms: 1, data: "name? "}, {ms: 100, tick: true}, {ms: 101, tick: true}, {ms: 102, data: "ok\n"}},
			want:  "busy\nname? ok\n"},
		{name: "not before it rests", cfg: AssemblerConfig{},
			steps: []step{{rank: 1, data: "b"}, {data: "a"}, {ms: 99, tick: true}, {ms: 99, rank: 1, data: "\n"}}, want: "b\n"},
		{name: "a new byte starts the wait again", cfg: AssemblerConfig{}, steps: []step{{data: "a"}, {ms: 90, data: "b"}, {ms: 150, tick: true}}},
		{name: "another rank's is not shown while others write", cfg: AssemblerConfig{},
			steps: []step{{data: "x\n"}, {rank: 1, data: "a"}, {ms: 500, tick: true}, {ms: 501, rank: 1, data: "b\n"}}, want: "x\nab\n"},
		{name: "the only writer's is shown", cfg: AssemblerConfig{}, steps: []step{{rank: 3, data: "a"}, {ms: 100, tick: true}}, want: "a"},
		{name: "the last writer's is shown", cfg: AssemblerConfig{},
			steps: []step{{data: "x\n"}, {rank: 3, data: "a"}, {}, {ms: 100, tick: true}}, want: "x\na"},
		{name: "other output breaks a shown line", cfg: AssemblerConfig{},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, rank: 1, data: "x\n"}, {ms: 102, data: "b\n"}}, want: "a\nx\nb\n"},
		{name: "a broken line's lone newline is dropped", cfg: AssemblerConfig{},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, rank: 1, data: "x\n"}, {ms: 102, data: "\nb\n"}}, want: "a\nx\nb\n"},
		{name: "a broken line's empty rest is nothing at the end", cfg: AssemblerConfig{Label: true},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, rank: 1, data: "x\n"}, {}}, want: "[0] a\n[1] x\n"},
		{name: "no second label on a shown line", cfg: AssemblerConfig{Label: true},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, data: "b"}, {ms: 102, data: "c\nd\n"}}, want: "[0] abc\n[0] d\n"},
		{name: "a label after a break", cfg: AssemblerConfig{Label: true},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, rank: 1, data: "x\n"}, {ms: 102, data: "b\n"}}, want: "[0] a\n[1] x\n[0] b\n"},
		{name: "a shown line ends with its stream", cfg: AssemblerConfig{Label: true},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {}, {rank: 1, data: "x\n"}}, want: "[0] a\n[1] x\n"},
		{name: "a shown line ends with its stream, unlabelled", cfg: AssemblerConfig{},
			steps: []step{{data: "a"}, {ms: 100, tick: true}, {}, {rank: 1, data: "x\n"}}, want: "a\nx\n"},
		{name: "one stream of a rank breaks the other", cfg: AssemblerConfig{},
			steps: []step{{data: "a"}, {data: "b", err: true}, {ms: 100, tick: true}, {ms: 101, data: "c\n"}}, want: "a\nb\nc\n"},
		{name: "worlds have labels of their own", cfg: AssemblerConfig{Label: true},
			steps: []step{{data: "a\n"}, {in: 2, data: "b"}, {in: 12, rank: 3, data: "c\n"}, {in: 2, data: "\n"}, {in: 2, data: "d"}, {in: 2}}, want: "[0] a\n[12.3] c\n[2.0] b\n[2.0] d\n"},
		{name: "nothing is shown if not wanted", cfg: AssemblerConfig{ShowAfter: -1}, steps: []step{{data: "a"}, {ms: 1000, tick: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, rec := newAssembler(t, tt.cfg)
			play(t, a, tt.steps)
			assert.Equal(t, tt.want, rec.all.String())
		})
	}
}

// A lone rank's output goes through at once, until others are spawned.
func TestAssemblerThatGetsMoreRanks(t *testing.T) {
	a, rec := newAssembler(t, AssemblerConfig{Ranks: 1})
	play(t, a, []step{{data: "x\nwait"}})
	a.SetRanks(0)
	play(t, a, []step{{in: 1, data: "y\n"}, {data: "ed\n"}, {in: 1}, {}})
	require.NoError(t, a.EndAll())
	assert.Equal(t, "x\nwait\ny\ned\n", rec.all.String())
}

func TestAssemblerNext(t *testing.T) {
	a, _ := newAssembler(t, AssemblerConfig{})
	_, ok := a.Next()
	assert.False(t, ok, "nothing to show")
	play(t, a, []step{{ms: 5, data: "a"}, {ms: 9, data: "e", err: true}})
	due, ok := a.Next()
	assert.True(t, ok)
	assert.Equal(t, at(105), due)
	require.NoError(t, a.Tick(due))
	due, ok = a.Next()
	assert.True(t, ok)
	assert.Equal(t, at(109), due)
	require.NoError(t, a.Tick(due))
	_, ok = a.Next()
	assert.False(t, ok, "all shown")
}

func TestAssemblerLongLines(t *testing.T) {
	long := strings.Repeat("0123456789", 30_000) // several blocks
	for _, label := range []bool{false, true} {
		a, rec := newAssembler(t, AssemblerConfig{LineMax: 100, Label: label})
		play(t, a, []step{{rank: 1, data: "x\n"}})
		for piece := range slicesOf(long, 777) {
			require.NoError(t, a.Add(epoch, rankID(2), Stdout, piece))
			require.NoError(t, a.Add(epoch, rankID(1), Stdout, []byte("tick\n")))
		}
		assert.LessOrEqual(t, a.Held(), spillBlock)
		play(t, a, []step{{rank: 2, data: "end\nnext\n"}})
		want := long + "end\nnext\n"
		if label {
			want = "[2] " + long + "end\n[2] next\n"
		}
		assert.True(t, strings.HasSuffix(rec.all.String(), "tick\n"+want), "the line is whole")
		assert.Empty(t, rec.cuts)
		assert.Zero(t, a.Held())
		require.Len(t, rec.spills, 1)
		assert.True(t, rec.spills[0].closed)
	}
}

func slicesOf(s string, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(s) > 0 {
			k := min(n, len(s))
			if !yield([]byte(s[:k])) {
				return
			}
			s = s[k:]
		}
	}
}

func TestAssemblerSpillFails(t *testing.T) {
	body := strings.Repeat("x", 150)
	tests := []struct {
		name  string
		spill func(int) *memSpill
		want  string
		kept  int64
	}{
		{name: "no spill can be made", spill: func(int) *memSpill { return nil }, want: body, kept: 150},
		{name: "spill is full", spill: func(int) *memSpill { return &memSpill{limit: 30} }, want: body, kept: 150},
		{name: "spill cannot be read", spill: func(int) *memSpill { return &memSpill{limit: -1, unreadable: 1} }},
	}
	for _, tt := range tests {
		for _, last := range []string{"more\nnext\n", ""} {
			t.Run(tt.name+" "+last, func(t *testing.T) {
				a, rec := newAssembler(t, AssemblerConfig{LineMax: 100})
				rec.spillFail = tt.spill
				play(t, a, []step{{rank: 1, data: body}, {rank: 2, data: "other\n"}, {rank: 1, data: last}, {rank: 1}})
				got := strings.Split(strings.TrimSuffix(rec.all.String(), "\n"), "\n")
				assert.Contains(t, got, tt.want)
				assert.Contains(t, got, "other")
				if last != "" {
					assert.Equal(t, "next", got[len(got)-1], "the line after a cut one is whole")
				}
				assert.Len(t, got, 2+strings.Count(last, "\n")/2)
				require.Len(t, rec.cuts, 1)
				assert.Equal(t, tt.kept, rec.cuts[0].Kept)
				assert.Equal(t, rankID(1), rec.cuts[0].Rank)
				assert.Error(t, rec.cuts[0].Err)
				assert.Zero(t, a.Held())
			})
		}
	}
}

func TestAssemblerUnreadableSpillWhileShown(t *testing.T) {
	a, rec := newAssembler(t, AssemblerConfig{LineMax: 10})
	rec.spillFail = func(int) *memSpill { return &memSpill{limit: -1, unreadable: 1} }
	play(t, a, []step{{data: strings.Repeat("x", 20)}, {ms: 100, tick: true}, {ms: 101, data: "rest\nnext\n"}})
	assert.Equal(t, "\nnext\n", rec.all.String())
	assert.Len(t, rec.cuts, 1)
}

func TestAssemblerMemoryIsBounded(t *testing.T) {
	const memMax, chunk = 1 << 16, 1000
	a, rec := newAssembler(t, AssemblerConfig{MemMax: memMax})
	piece := bytes.Repeat([]byte("z"), chunk)
	for i := range 500 {
		require.NoError(t, a.Add(epoch, rankID(i%100+1), Stdout, piece))
		require.LessOrEqual(t, a.Held(), memMax+chunk)
	}
	assert.NotEmpty(t, rec.spills)
	require.NoError(t, a.EndAll())
	lines := strings.Split(rec.all.String(), "\n")
	assert.Len(t, lines, 100)
	for _, l := range lines {
		assert.Len(t, l, 5*chunk)
	}
}

func TestAssemblerEndAll(t *testing.T) {
	a, rec := newAssembler(t, AssemblerConfig{Label: true})
	play(t, a, []step{{rank: 7, data: "c"}, {rank: 3, data: "b", err: true}, {data: "a"}, {ms: 100, tick: true}})
	require.NoError(t, a.EndAll())
	assert.Equal(t, "[0] a\n[3] b\n[7] c\n", rec.all.String())
}

func TestAssemblerErrors(t *testing.T) {
	_, err := NewAssembler(AssemblerConfig{})
	require.ErrorContains(t, err, "no output")
	_, err = NewAssembler(AssemblerConfig{Out: &recorder{}, LineMax: -1})
	require.ErrorContains(t, err, "negative")

	a, rec := newAssembler(t, AssemblerConfig{})
	require.ErrorContains(t, a.Add(epoch, rankID(-1), Stdout, []byte("x")), "rank -1")
	require.ErrorContains(t, a.Add(epoch, rankID(1), 7, []byte("x")), "stream 7")
	rec.fail = errNoSpace
	require.ErrorIs(t, a.Add(epoch, rankID(1), Stdout, []byte("lost\n")), errNoSpace)
	rec.fail = nil
	require.NoError(t, a.Add(epoch, rankID(1), Stdout, []byte("fine\n")))
	assert.Equal(t, "fine\n", rec.all.String())
}

func TestAssemblerAllocations(t *testing.T) {
	chunk := bytes.Repeat([]byte("a line of usual length, as programs print them\n"), 600)
	half := chunk[:len(chunk)-20]
	for _, label := range []bool{false, true} {
		a, rec := newAssembler(t, AssemblerConfig{Label: label})
		discard := &discarder{}
		a.cfg.Out = discard
		n := testing.AllocsPerRun(100, func() {
			_ = a.Add(epoch, rankID(1), Stdout, chunk)
			_ = a.Add(epoch, rankID(2), Stdout, half)
			_ = a.Add(epoch, rankID(2), Stdout, chunk[len(half):])
		})
		assert.Zero(t, n, "label %v", label)
		assert.Zero(t, rec.writes)
		if !label {
			assert.LessOrEqual(t, discard.writes, 4*101, "whole lines go in one write")
		}
	}
}

type discarder struct {
	recorder
	writes int
}

func (d *discarder) Write(Stream, []byte) error {
	d.writes++
	return nil
}

func BenchmarkAssembler(b *testing.B) {
	chunk := bytes.Repeat([]byte("a line of usual length, as programs print them\n"), 600)
	for _, label := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "label"}[label], func(b *testing.B) {
			a, err := NewAssembler(AssemblerConfig{Out: &discarder{}, Label: label})
			require.NoError(b, err)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			now := time.Unix(0, 0)
			for i := 0; b.Loop(); i++ {
				_ = a.Add(now, rankID(i%64), Stdout, chunk)
			}
		})
	}
}

// A line has the time of its first byte, whoever writes meanwhile and wherever it is held.
func TestAssemblerLabelsWithTime(t *testing.T) {
	for _, x := range []struct {
		name    string
		lineMax int
		steps   []step
		want    string
	}{
		{name: "whole lines", steps: []step{{ms: 1, data: "a\nb\n"}, {ms: 2, rank: 1, data: "c\n"}}, want: "1/0 a\n1/0 b\n2/1 c\n"},
		{name: "the first byte", steps: []step{{ms: 1, data: "he"}, {ms: 2, rank: 1, data: "x\n"}, {ms: 3, data: "llo\nworld\n"}}, want: "2/1 x\n1/0 hello\n3/0 world\n"},
		{name: "a spilled line", lineMax: 3, steps: []step{{ms: 1, data: "0123"}, {ms: 2, rank: 1, data: "x\n"}, {ms: 3, data: "4567"}, {ms: 4, data: "\n5\n"}}, want: "2/1 x\n1/0 01234567\n4/0 5\n"},
		{name: "no newline", steps: []step{{ms: 1, data: "a"}, {ms: 2, rank: 1, data: "b"}, {ms: 3}}, want: "1/0 a\n"},
		{name: "a broken line", steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, rank: 1, data: "x\n"}, {ms: 102, data: "b"}, {ms: 103, data: "c\nd\n"}}, want: "0/0 a\n101/1 x\n102/0 bc\n103/0 d\n"},
		{name: "a broken line that ends at once", steps: []step{{data: "a"}, {ms: 100, tick: true}, {ms: 101, rank: 1, data: "x\n"}, {ms: 102, data: "b\n"}}, want: "0/0 a\n101/1 x\n102/0 b\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			a, rec := newAssembler(t, AssemblerConfig{Label: true, LineMax: x.lineMax, LabelText: func(b []byte, r job.RankID, at time.Time) []byte {
				return fmt.Appendf(b, "%d/%d ", at.Sub(epoch).Milliseconds(), r.Rank)
			}})
			play(t, a, x.steps)
			assert.Equal(t, x.want, rec.all.String())
		})
	}
	a, rec := newAssembler(t, AssemblerConfig{Label: true, LabelText: func(b []byte, _ job.RankID, at time.Time) []byte {
		return fmt.Appendf(b, "%d ", at.Unix())
	}})
	require.NoError(t, a.AddAt(at(5000), time.Unix(7, 0), rankID(0), Stdout, []byte("a\n")))
	assert.Equal(t, "7 a\n", rec.all.String())
}
