package partition

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/commgraph"
)

// any graph of up to so many ranks.
func drawGraph(t *rapid.T, most int) *commgraph.Graph {
	n := rapid.IntRange(1, most).Draw(t, "ranks")
	rank := rapid.Int32Range(0, int32(n-1))
	g, err := commgraph.New(n, rapid.SliceOf(rapid.Custom(func(t *rapid.T) commgraph.Edge {
		return commgraph.Edge{A: rank.Draw(t, "a"), B: rank.Draw(t, "b"), Weight: rapid.Int64Range(0, 100).Draw(t, "weight")}
	})).Draw(t, "edges"))
	require.NoError(t, err)
	return g
}

// drawSizes cuts n in parts, some of which may be empty.
func drawSizes(t *rapid.T, n int) (sizes []int) {
	for n > 0 && len(sizes) < 9 {
		size := rapid.IntRange(0, n).Draw(t, "size")
		sizes = append(sizes, size)
		n -= size
	}
	return append(sizes, n)
}

func TestSizesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 120)
		sizes := drawSizes(t, g.Ranks())
		o := Options{Seed: rapid.Uint64().Draw(t, "seed"), Tries: rapid.IntRange(0, 2).Draw(t, "tries")}
		part, err := Parts(g, sizes, o)
		require.NoError(t, err)
		got := make([]int, len(sizes))
		for _, p := range part {
			got[p]++
		}
		require.Equal(t, sizes, got)
		again, err := Parts(g, sizes, o)
		require.NoError(t, err)
		require.Equal(t, part, again)
	})
}

// grid returns a periodic grid of n x n x n ranks, 6 neighbors each.
func grid(t testing.TB, n int) *commgraph.Graph {
	var edges []commgraph.Edge
	for v := range n * n * n {
		for stride := 1; stride < n*n*n; stride *= n {
			up := v + stride
			if v/stride%n == n-1 {
				up -= n * stride
			}
			edges = append(edges, commgraph.Edge{A: int32(v), B: int32(up), Weight: 1})
		}
	}
	g, err := commgraph.New(n*n*n, edges)
	require.NoError(t, err)
	return g
}

func cut(g *commgraph.Graph, part []int32) (cut int64) {
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			if p > r && part[p] != part[r] {
				cut += weights[i]
			}
		}
	}
	return cut
}

// Eight cubes of 4 x 4 x 4 are the least that can be between parts: 8 * 6 * 16 / 2.
func TestCubesOfATorus(t *testing.T) {
	g := grid(t, 8)
	for seed := range uint64(5) {
		part, err := Parts(g, []int{64, 64, 64, 64, 64, 64, 64, 64}, Options{Seed: seed, Tries: 20, Quality: 1 - 384./1536})
		require.NoError(t, err)
		require.EqualValues(t, 384, cut(g, part))
	}
}

func TestPartsRefuses(t *testing.T) {
	g, err := commgraph.New(3, nil)
	require.NoError(t, err)
	for _, x := range []struct {
		sizes []int
		want  string
	}{
		{nil, "no parts"},
		{[]int{1, 1}, "parts for 2 ranks: the graph has 3"},
		{[]int{4, -1}, "part 0 of size 4: expected 0..3"},
		{[]int{1, -1, 3}, "part 1 of size -1: expected 0..3"},
	} {
		_, err := Parts(g, x.sizes, Options{})
		require.EqualError(t, err, x.want)
	}
	_, err = Bisect(g, 4, nil, Options{})
	require.EqualError(t, err, "side of size 4: expected 0..3")
	_, err = Bisect(g, 2, make([]int64, 2), Options{})
	require.EqualError(t, err, "pull on 2 ranks: the graph has 3")
}

// Where nothing is sent, each rank goes where it is pulled to.
func TestBisectPulls(t *testing.T) {
	g, err := commgraph.New(6, nil)
	require.NoError(t, err)
	side, err := Bisect(g, 3, []int64{-5, 2, -1, 3, -2, 7}, Options{})
	require.NoError(t, err)
	require.Equal(t, []int32{1, 0, 1, 0, 1, 0}, side)
}

func BenchmarkLarge(b *testing.B) {
	g := grid(b, 40)
	sizes := make([]int, 64)
	for i := range sizes {
		sizes[i] = 1000
	}
	for b.Loop() {
		part, err := Parts(g, sizes, Options{})
		require.NoError(b, err)
		b.ReportMetric(float64(cut(g, part)), "cut")
	}
}
