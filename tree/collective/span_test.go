package collective

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSpans compares sets of numbers with lists of them.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 60
		numbers := rapid.SliceOfNDistinct(rapid.Uint32Range(0, limit-1), 0, limit, rapid.ID[uint32]).Draw(t, "numbers")
		var list []span
		for _, x := range numbers {
			list = append(list, span{x, 1})
		}
		set, err := unite(list)
		require.NoError(t, err)
		slices.Sort(numbers)
		require.Equal(t, len(numbers), set.size())
		for i, x := range numbers {
			require.Equal(t, x, set.at(i))
			at, ok := set.index(x)
			require.True(t, ok)
			require.Equal(t, i, at)
		}
		for x := range uint32(limit) {
			_, ok := set.index(x)
			require.Equal(t, slices.Contains(numbers, x), ok)
		}
		again, rest, err := parseSpans(append(set.append(nil), "rest"...), limit)
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest))
		require.True(t, slices.Equal(set, again))
		if len(numbers) > 0 {
			_, _, err = parseSpans(set.append(nil), int(numbers[len(numbers)-1]))
			require.Error(t, err, "beyond the limit")
			_, err = unite(append(slices.Clone(set), span{numbers[0], 1}))
			require.Error(t, err, "a number twice")
		}
	})
}

// TestWays compares directions with a list of them.
func TestWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SampledFrom([]Hop{Up, Up, Local, 0, 1, 2}), 1, 40).Draw(t, "hops")
		var list []way
		for i, hop := range want {
			if hop != Up {
				list = append(list, way{span{uint32(i), 1}, hop})
			}
		}
		w := newWays(list)
		runs := 1
		for i, hop := range want {
			require.Equal(t, hop, w.of(i))
			if i > 0 && want[i-1] != hop {
				runs++
			}
		}
		require.LessOrEqual(t, len(w.starts), runs+1, "as few runs as can be")
	})
}
