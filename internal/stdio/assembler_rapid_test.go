package stdio

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// script has the output of the ranks of a random run: rank r's bytes are newlines and
// the letter 'a'+r, so that any mixture shows.
type script struct {
	cfg   AssemblerConfig
	input [][]byte // by rank
	order []int
	sizes []int // of the pieces, by position in order
}

func drawScript(t *rapid.T) script {
	s := script{cfg: AssemblerConfig{
		Label:   rapid.Bool().Draw(t, "label"),
		LineMax: rapid.IntRange(1, 40).Draw(t, "lineMax"),
		MemMax:  rapid.IntRange(1, 200).Draw(t, "memMax"),
	}}
	ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
	left := 0
	for r := range ranks {
		var b []byte
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			b = append(b, strings.Repeat(string(rune('a'+r)), rapid.IntRange(0, 60).Draw(t, "length"))...)
			b = append(b, '\n')
		}
		if rapid.Bool().Draw(t, "unended") && len(b) > 0 {
			b = b[:len(b)-1]
		}
		s.input = append(s.input, b)
		left += len(b)
	}
	rest := make([]int, ranks)
	for i, b := range s.input {
		rest[i] = len(b)
	}
	for left > 0 {
		r := rapid.IntRange(0, ranks-1).Draw(t, "who")
		for rest[r] == 0 {
			r = (r + 1) % ranks
		}
		n := min(rest[r], rapid.IntRange(1, 70).Draw(t, "size"))
		s.order, s.sizes = append(s.order, r), append(s.sizes, n)
		rest[r] -= n
		left -= n
	}
	return s
}

// run feeds the script to an Assembler, calling between after every piece.
func (s script) run(t *rapid.T, between func(a *Assembler, now int)) string {
	rec := &recorder{}
	s.cfg.Out = rec
	a, err := NewAssembler(s.cfg)
	require.NoError(t, err)
	done := make([]int, len(s.input))
	for i, r := range s.order {
		piece := s.input[r][done[r] : done[r]+s.sizes[i]]
		done[r] += s.sizes[i]
		require.NoError(t, a.Add(at(i), rankID(r), Stdout, bytes.Clone(piece)))
		require.LessOrEqual(t, a.Held(), s.cfg.MemMax+70)
		if done[r] == len(s.input[r]) {
			require.NoError(t, a.End(rankID(r), Stdout))
		}
		between(a, i)
	}
	require.Empty(t, rec.cuts)
	require.Zero(t, a.Held())
	require.Empty(t, a.pending)
	require.Empty(t, a.writers)
	for _, sp := range rec.spills {
		require.True(t, sp.closed, "a spill stays open")
	}
	return rec.all.String()
}

// linesOf splits text into lines, dropping labels after checking them.
func (s script) linesOf(t *rapid.T, text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if s.cfg.Label {
		for i, l := range lines {
			label, body, ok := strings.Cut(l, "] ")
			require.True(t, ok, "no label: %q", l)
			if body != "" {
				require.Equal(t, fmt.Sprintf("[%d", body[0]-'a'), label)
			}
			lines[i] = body
		}
	}
	return lines
}

// The oracle: without time passing, each rank's lines are exactly its input's.
func TestAssemblerKeepsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		byRank := make([][]string, len(s.input))
		empty, wantEmpty := 0, 0
		for _, l := range s.linesOf(t, s.run(t, func(*Assembler, int) {})) {
			if l == "" {
				empty++
				continue
			}
			r := l[0] - 'a'
			require.Equal(t, strings.Repeat(l[:1], len(l)), l, "ranks mix in a line")
			byRank[r] = append(byRank[r], l)
		}
		for r, b := range s.input {
			var want []string
			for l := range bytes.Lines(b) {
				if l = bytes.TrimSuffix(l, newline); len(l) == 0 {
					wantEmpty++
				} else {
					want = append(want, string(l))
				}
			}
			require.Equal(t, want, byRank[r], "rank %d", r)
		}
		require.Equal(t, wantEmpty, empty, "empty lines")
	})
}

// With lines shown early, ranks still never share a line, and every rank's
// letters come out complete and in order.
func TestAssemblerShowsWithoutMixing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		ticks := rapid.SliceOfN(rapid.Bool(), len(s.order), len(s.order)).Draw(t, "ticks")
		s.cfg.ShowAfter = 1
		text := s.run(t, func(a *Assembler, i int) {
			if ticks[i] {
				require.NoError(t, a.Tick(at(i+1)))
				_, waits := a.Next()
				require.False(t, waits, "a line rests on")
			}
		})
		var got [5]int
		for _, l := range s.linesOf(t, text) {
			if l != "" {
				require.Equal(t, strings.Repeat(l[:1], len(l)), l, "ranks mix in a line")
				got[l[0]-'a'] += len(l)
			}
		}
		for r, b := range s.input {
			require.Equal(t, len(b)-bytes.Count(b, newline), got[r], "rank %d", r)
		}
	})
}

// A lone writer's bytes come out as they went in, binary and unended.
func TestAssemblerLoneWriterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, rec := newAssembler(t, AssemblerConfig{Ranks: rapid.IntRange(0, 3).Draw(t, "ranks"), LineMax: 5})
		var want []byte
		now := 0
		for _, piece := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "pieces") {
			want = append(want, piece...)
			require.NoError(t, a.Add(at(now), rankID(0), Stdout, piece))
			now += rapid.IntRange(0, 200).Draw(t, "pause")
			require.NoError(t, a.Tick(at(now)))
		}
		require.NoError(t, a.EndAll())
		require.Equal(t, string(want), rec.all.String())
	})
}
