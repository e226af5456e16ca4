package commgraph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNewRefuses(t *testing.T) {
	for _, x := range []struct {
		ranks int
		edges []Edge
		want  string
	}{
		{0, nil, "0 ranks: a graph has 1 to 4194304"},
		{2, []Edge{{0, 2, 1}}, "edge between ranks 0 and 2: there are ranks 0 to 1"},
		{2, []Edge{{-1, 1, 1}}, "edge between ranks -1 and 1: there are ranks 0 to 1"},
		{2, []Edge{{0, 1, -1}}, "edge between ranks 0 and 1: weight -1 is negative"},
		{2, []Edge{{0, 1, 1 << 60}, {1, 0, 1 << 61}}, "edge between ranks 1 and 0: the weights add up to more than 2^61"},
	} {
		_, err := New(x.ranks, x.edges)
		require.EqualError(t, err, x.want)
	}
}

// A graph is the matrix that the edges add up to.
func TestGraphIsItsMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "ranks")
		rank := rapid.Int32Range(0, int32(n-1))
		edges := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Edge {
			return Edge{rank.Draw(t, "a"), rank.Draw(t, "b"), rapid.Int64Range(0, 3).Draw(t, "weight")}
		})).Draw(t, "edges")
		want := map[[2]int32]int64{}
		var total int64
		for _, e := range edges {
			if e.A != e.B && e.Weight > 0 {
				want[[2]int32{e.A, e.B}] += e.Weight
				want[[2]int32{e.B, e.A}] += e.Weight
				total += e.Weight
			}
		}
		g, err := New(n, edges)
		require.NoError(t, err)
		got := map[[2]int32]int64{}
		for r := range int32(n) {
			peers, weights := g.Peers(r)
			require.IsIncreasing(t, append([]int32{-1}, peers...))
			for i, p := range peers {
				got[[2]int32{r, p}] = weights[i]
			}
		}
		require.Equal(t, want, got)
		require.Equal(t, total, g.Total())
		require.Equal(t, len(want)/2, g.Edges())
		require.Equal(t, n, g.Ranks())
	})
}

func TestUniform(t *testing.T) {
	for _, x := range []struct {
		edges []Edge
		want  bool
	}{
		{[]Edge{{0, 1, 3}, {0, 2, 3}, {2, 1, 3}}, true},
		{[]Edge{{0, 1, 3}, {0, 2, 3}, {2, 1, 2}, {1, 2, 1}}, true},
		{[]Edge{{0, 1, 3}, {0, 2, 3}, {2, 1, 2}}, false},
		{[]Edge{{0, 1, 3}, {0, 2, 3}}, false},
		{nil, false},
	} {
		g, err := New(3, x.edges)
		require.NoError(t, err)
		require.Equal(t, x.want, g.Uniform(), x.edges)
	}
	alone, err := New(1, nil)
	require.NoError(t, err)
	require.False(t, alone.Uniform())
}
