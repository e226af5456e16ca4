package commsplit

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawRows(t *rapid.T, label string, most int) []Row {
	rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Row {
		return NewRow(rapid.Uint32Range(0, 3).Draw(t, "colour"), rapid.Int32Range(-2, 2).Draw(t, "key"), 0)
	}), 0, most).Draw(t, label)
	for i := range rows {
		rows[i].Rank = uint32(i)
	}
	return rows
}

func TestMergeRuns(t *testing.T) {
	property(t, 2, func(t *rapid.T) {
		table := drawRows(t, "rows", 60)
		want := slices.Clone(table)
		SortRows(want)
		bounds := []int{0}
		for range rapid.IntRange(0, 8).Draw(t, "cuts") {
			bounds = append(bounds, rapid.IntRange(bounds[len(bounds)-1], len(table)).Draw(t, "cut"))
		}
		bounds = append(bounds, len(table))
		for i := range bounds[1:] {
			SortRows(table[bounds[i]:bounds[i+1]])
		}
		sorted, free := MergeRuns(table, make([]Row, len(table)), bounds)
		require.Equal(t, want, sorted)
		require.Len(t, free, len(table))
	})
}

func TestMerge(t *testing.T) {
	property(t, 5, func(t *rapid.T) {
		a, b := drawRows(t, "a", 20), drawRows(t, "b", 20)
		SortRows(a)
		SortRows(b)
		want := append(append([]Row{}, a...), b...) // some rows are in both
		SortRows(want)
		got := make([]Row, len(want))
		Merge(got, a, b)
		require.Equal(t, want, got)
	})
}

func TestRadixSort(t *testing.T) {
	for _, n := range []int{0, 1, 100, smallTable, 5*smallTable + 3} {
		for _, colors := range []uint64{1, 7, Undefined} {
			for _, scrambled := range []bool{false, true} {
				table := make([]Row, n)
				for i := range table {
					x := mix(uint64(i))
					rank := uint32(i)
					if scrambled {
						rank = uint32(mix(x))
					}
					table[i] = NewRow(uint32(x>>32%colors), int32(x), rank)
				}
				want := slices.Clone(table)
				SortRows(want)
				sorted, _ := RadixSort(table, make([]Row, n))
				require.Equal(t, want, sorted, "%d rows, %d colours", n, colors)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	ordered := []Row{
		NewRow(0, -1<<31, 9), NewRow(0, -1, 3), NewRow(0, 0, 1), NewRow(0, 0, 2), NewRow(0, 1<<31-1, 0),
		NewRow(1, -5, 7), NewRow(1<<31, 0, 0), NewRow(Undefined-1, 0, 0),
	}
	for i := range ordered {
		for j := range ordered {
			got := Compare(ordered[i], ordered[j])
			require.Equal(t, i < j, got < 0, "%v %v", ordered[i], ordered[j])
			require.Equal(t, i == j, got == 0)
		}
		require.Equal(t, i, lowerBound(ordered, &ordered[i]))
	}
	require.Equal(t, "1/-5/7", ordered[5].String())
}

func TestPayloadRoundTrip(t *testing.T) {
	property(t, 2, func(t *rapid.T) {
		m := Message{
			Rows:  drawRows(t, "rows", 9),
			Words: rapid.SliceOfN(rapid.Uint64(), 0, 9).Draw(t, "words"),
			Ranks: rapid.SliceOfN(rapid.Uint32(), 0, 9).Draw(t, "ranks"),
		}
		b := m.AppendPayload(nil)
		require.Len(t, b, m.Size()+headerBytes)
		var got Message
		require.NoError(t, got.ParsePayload(b))
		require.Equal(t, b, got.AppendPayload(nil))
		require.Equal(t, len(m.Rows), len(got.Rows))
	})
}

func FuzzParsePayload(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add((&Message{Rows: make([]Row, 1), Words: []uint64{7}, Ranks: []uint32{8}}).AppendPayload(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		if m.ParsePayload(b) == nil {
			require.Equal(t, b, m.AppendPayload(nil))
		}
	})
}
