package commsplit

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func makeHash(c Config, process int, rows []Row) (solver, error) { return NewHash(c, process, rows) }

func makeRanges(c Config, process int, rows []Row) (solver, error) {
	return NewRanges(c, process, rows)
}

func makeQuick(c Config, process int, rows []Row) (solver, error) {
	return NewQuick(c, process, rows)
}

func TestHashIsTheDefinition(t *testing.T) {
	property(t, 10, func(t *rapid.T) {
		w := drawWorld(t, 40, 0, 200)
		c := Config{Cache: rapid.SampledFrom([]int{0, 16}).Draw(t, "cache")}
		check(t, w, solve(t, w, c, makeHash), 7)
	})
}

// Ranks of one process that follow each other, of one colour and key, travel as one,
// so that it does not matter how many they are.
func TestHashSendsStretches(t *testing.T) {
	sent := func(each uint32) (bytes int) {
		w := make(world, 9)
		for rank := range 27 * each {
			p := rank / each * 5 % 9
			w[p] = append(w[p], NewRow(rank/each%4, int32(p%2), rank))
		}
		list := solve(t, w, Config{}, makeHash)
		check(t, w, list, 1)
		for _, m := range list {
			bytes += m.Stats().Bytes
		}
		return bytes
	}
	require.Equal(t, sent(1), sent(20))
	require.Positive(t, sent(1))
}

// one deals a world's rows out so that process i has rank i.
func (w world) one() world {
	n := 0
	for _, rows := range w {
		n += len(rows)
	}
	single := make(world, n)
	for _, rows := range w {
		for _, r := range rows {
			single[r.Rank] = []Row{r}
		}
	}
	return single
}

func TestQuickIsTheDefinition(t *testing.T) {
	property(t, 5, func(t *rapid.T) {
		w := drawWorld(t, 3, 1, 150).one()
		list := solve(t, w, Config{}, makeQuick)
		check(t, w, list, 7)
		for _, m := range list {
			require.LessOrEqual(t, m.Stats().PeakRows, 200, "constant memory")
			require.LessOrEqual(t, m.Result().Table.Rows(), 1)
		}
	})
}

func TestQuickAtScale(t *testing.T) {
	n := 1 << 14
	if raced {
		n >>= 3
	}
	w := make(world, n)
	for i := range w {
		w[i] = []Row{NewRow(uint32(i%7), int32(mix(uint64(i))), uint32(i))}
	}
	checkSome(t, w, solve(t, w, Config{}, makeQuick))
}

func TestQuickRefusesOtherRows(t *testing.T) {
	for _, rows := range [][]Row{nil, {NewRow(0, 0, 2)}, {NewRow(0, 0, 1), NewRow(0, 0, 2)}} {
		_, err := NewQuick(Config{Processes: 3}, 1, rows)
		require.ErrorContains(t, err, "process 1")
	}
}

// ranged is the definition of what Ranges can do.
func ranged(w world) bool {
	var rows []Row
	for _, r := range w {
		rows = append(rows, r...)
	}
	up, down := true, true
	last := Row{}
	seen := false
	for i, r := range rows {
		if int(r.Rank) != int(rows[0].Rank)+i {
			return false
		}
		if r.Color == Undefined {
			continue
		}
		if seen && r.Color == last.Color {
			if r.Rank != last.Rank+1 || r.Key() < last.Key() {
				return false
			}
		} else if seen {
			up, down = up && r.Color > last.Color, down && r.Color < last.Color
		}
		last, seen = r, true
	}
	return up || down
}

func TestRangesIsTheDefinition(t *testing.T) {
	recognised := 0
	property(t, 10, func(t *rapid.T) {
		w := drawWorld(t, 30, 0, 60)
		if rapid.Bool().Draw(t, "contiguous") {
			n, rank := uint32(0), uint32(0)
			for i := range w {
				for j := range w[i] {
					if rapid.IntRange(0, 9).Draw(t, "next class") == 0 {
						n++
					}
					color := n
					if rapid.IntRange(0, 40).Draw(t, "undefined") == 0 {
						color, n = Undefined, n+1
					}
					w[i][j] = NewRow(color, 5, rank)
					rank++
				}
			}
		}
		list := solve(t, w, Config{}, makeRanges)
		want := ranged(w)
		for _, m := range list {
			require.Equal(t, want, m.(*Ranges).Err() == nil)
			require.True(t, want || errors.Is(m.(*Ranges).Err(), ErrNotRanged))
		}
		if want {
			recognised++
			check(t, w, list, 7)
			require.Zero(t, list[0].Result().Table.Bytes())
		}
	})
	require.Greater(t, recognised, 50)
}

func TestCacheIsBounded(t *testing.T) {
	c := NewCache(64)
	for key := range uint64(1000) {
		c.Put(key, key)
		got, ok := c.Get(key)
		require.True(t, ok && got == key, "what was learnt last is known")
	}
	known := 0
	for key := range uint64(1000) {
		if value, ok := c.Get(key); ok {
			require.Equal(t, key, value)
			known++
		}
	}
	require.Len(t, c.entries, 64)
	require.Equal(t, 64, known, "full")

	c = NewCache(4)
	for key := range uint64(4) {
		c.Put(key, 0)
	}
	c.Get(0)
	c.Put(9, 0)
	_, used := c.Get(0)
	_, unused := c.Get(1)
	require.True(t, used && !unused, "the least recently used entry goes")

	none := NewCache(0)
	none.Put(1, 1)
	_, ok := none.Get(1)
	require.False(t, ok)
}
