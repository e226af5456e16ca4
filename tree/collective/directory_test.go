package collective

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawRows draws a table: the number and the endpoint of each rank, some in a row.
func drawRows(t *rapid.T) (rows []row, numbers []uint32) {
	size := rapid.IntRange(1, 60).Draw(t, "members")
	numbers = rapid.Permutation(upTo(size)).Draw(t, "numbers")
	if rapid.Bool().Draw(t, "nearly in order") {
		numbers = upTo(size)
		numbers[0], numbers[size-1] = numbers[size-1], numbers[0]
	}
	for rank, number := range numbers {
		rows = append(rows, row{rank: uint32(rank), number: number, endpoint: 100 + 2*number/3, count: 1})
	}
	return rows, numbers
}

func upTo(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// TestRows compares the table in runs, whole, in parts, and sent, with a list.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		single, numbers := drawRows(t)
		rows := joinRows(slices.Clone(single))
		check := func(rows []row, lo, hi int) {
			for rank := range numbers {
				p, ok := find(rows, rank)
				require.Equal(t, rank >= lo && rank < hi, ok)
				if ok {
					require.Equal(t, place{int(numbers[rank]), int(single[rank].endpoint)}, p)
				}
			}
		}
		check(rows, 0, len(numbers))
		lo := rapid.IntRange(0, len(numbers)).Draw(t, "from")
		hi := rapid.IntRange(lo, len(numbers)).Draw(t, "to")
		part := cutRows(rows, lo, hi)
		check(part, lo, hi)

		sent := append(appendRows(nil, part, numberOf), "rest"...)
		got, all, rest, err := parseRows(sent, len(numbers), 200, numberOf)
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest))
		require.Equal(t, hi-lo, all)
		at := uint32(lo)
		for i := range got {
			got[i].rank = at
			at += got[i].count
		}
		check(got, lo, hi)
		if lo < hi {
			_, _, _, err = parseRows(sent, hi-lo-1, 200, numberOf)
			require.Error(t, err, "more than there are members")
			_, _, _, err = parseRows(sent, len(numbers), 100, numberOf)
			require.Error(t, err, "endpoints that are none")
		}
	})
}

// FuzzRows reads what agents may be sent as rows.
func FuzzRows(f *testing.F) {
	f.Add(appendRows(nil, []row{{number: 3, endpoint: 9, count: 2}, {rank: 2, endpoint: 4, count: 3}}, numberOf))
	f.Add([]byte{2, 0, 0, 1})
	f.Add([]byte{255, 255, 3, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		const size, endpoints = 50, 70
		rows, all, _, err := parseRows(b, size, endpoints, numberOf)
		if err != nil {
			return
		}
		sum := 0
		for _, x := range rows {
			require.Positive(t, x.count)
			require.LessOrEqual(t, x.number+x.count, uint32(size))
			require.LessOrEqual(t, x.endpoint+x.count, uint32(endpoints))
			sum += int(x.count)
		}
		require.Equal(t, sum, all)
		require.LessOrEqual(t, all, size)
	})
}

// TestHomes has every rank's home be the process whose ranks it is among, and
// shares be equal.
func TestHomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := comm{size: rapid.IntRange(1, 500).Draw(t, "members")}
		c.processes = rapid.IntRange(1, c.size).Draw(t, "processes")
		require.Equal(t, 0, c.homeStart(0))
		require.Equal(t, c.size, c.homeStart(c.processes))
		for rank := range c.size {
			p := c.home(rank)
			require.True(t, c.homeStart(p) <= rank && rank < c.homeStart(p+1), "rank %d, home %d", rank, p)
			share := c.homeStart(p+1) - c.homeStart(p)
			require.Contains(t, []int{c.size / c.processes, (c.size + c.processes - 1) / c.processes}, share)
		}
	})
}
