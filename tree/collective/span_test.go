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
		slices.Sort(numbers)
		set := newSpans(numbers)
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
	})
}

// TestWays compares directions with a list of them.
func TestWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SampledFrom([]Direction{Up, Up, Local, 0, 1, 2}), 1, 40).Draw(t, "towards")
		var list []directedSpan
		for i, toward := range want {
			if toward != Up {
				list = append(list, directedSpan{span{uint32(i), 1}, toward})
			}
		}
		w := newDirections(list)
		runs := 1
		for i, toward := range want {
			require.Equal(t, toward, w.find(i))
			if i > 0 && want[i-1] != toward {
				runs++
			}
		}
		require.LessOrEqual(t, len(w.starts), runs+1, "as few runs as can be")
	})
}
