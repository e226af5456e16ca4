package tree

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// runs is apart for hosts of which so many in turn are below one switch each; the
// switches are in groups of wide, 0 for one level of switches.
func runs(wide int, sizes ...int) []int {
	var apart []int
	for i, n := range sizes {
		for range n {
			apart = append(apart, 0)
		}
		apart[len(apart)-n] = 1
		if wide > 0 && i%wide == 0 {
			apart[len(apart)-n] = 2
		}
	}
	return apart
}

// walkCut calls edge for each edge of a laid out tree, and checks that it is one: ranges
// within each other, of degree k at the most.
func walkCut(t require.TestingT, below []int, k int, edge func(parent, child, depth int)) {
	var walk func(a, depth int)
	walk = func(a, depth int) {
		children, end := 0, a+below[a]+1
		for child := a + 1; child < end; child += below[child] + 1 {
			require.GreaterOrEqual(t, below[child], 0)
			edge(a, child, depth+1)
			walk(child, depth+1)
			children++
			require.LessOrEqual(t, child+below[child]+1, end, "within the parent's range")
		}
		require.LessOrEqual(t, children, k)
	}
	require.Equal(t, len(below)-1, below[0])
	walk(0, 0)
}

// crossed counts the edges between switches, of each at how many levels.
func crossed(t require.TestingT, apart, below []int, k int) (edges, levels, depth int) {
	walkCut(t, below, k, func(parent, child, d int) {
		far := slices.Max(apart[parent+1 : child+1])
		edges += min(far, 1)
		levels += far
		depth = max(depth, d)
	})
	require.Equal(t, depth, CutDepth(below))
	return edges, levels, depth
}

// perEdge makes a cost of which edges between switches count first, and then levels.
const perEdge = 1000

// least returns the least cost of all trees on hosts a to b-1: each way to cut what is
// below a into k parts is tried.
func least(apart []int, a, b, k, depth int) int {
	const none = 1 << 30
	var rest func(at, parts int) int
	rest = func(at, parts int) int {
		switch {
		case at == b:
			return 0
		case parts == 0 || depth == 0:
			return none
		}
		best := none
		far := slices.Max(apart[a+1 : at+1])
		cost := perEdge*min(far, 1) + far
		for end := at + 1; end <= b; end++ {
			best = min(best, cost+least(apart, at, end, k, depth-1)+rest(end, parts-1))
		}
		return best
	}
	return rest(a+1, k)
}

// The edges between switches are one less than switches where degree and depth allow
// that, and then they cross as few levels as they can; else they are as few as any
// contiguous cuts have.
func TestCutIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "hosts")
		k := rapid.IntRange(2, 4).Draw(t, "degree")
		apart := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 1, 1, 2}), n, n).Draw(t, "apart")
		below := Cut(apart, k)
		if below == nil {
			require.Zero(t, slices.Max(apart[1:]), "one switch")
			return
		}
		edges, levels, depth := crossed(t, apart, below, k)
		switches := 0
		for _, far := range apart[1:] {
			switches += min(far, 1)
		}
		most := Depth(n, k)
		best := least(apart, 0, n, k, most)
		if best/perEdge > switches {
			most++
			best = least(apart, 0, n, k, most)
		}
		require.LessOrEqual(t, depth, most)
		require.Equal(t, best/perEdge, edges)
		if edges == switches {
			require.Equal(t, best, edges*perEdge+levels)
		}
	})
}

// The least excess is found for any depth, not just those at which there mostly is
// none.
func TestCutterAgainstAllCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 10).Draw(t, "hosts")
		k := rapid.IntRange(1, 3).Draw(t, "degree")
		depth := Depth(n, k) + rapid.IntRange(0, 1).Draw(t, "more")
		apart := rapid.SliceOfN(rapid.IntRange(0, 1), n, n).Draw(t, "apart")
		apart[0] = 0
		c := newCutter(apart, k, n)
		require.Equal(t, n, c.reach(0, depth)[n])
		below := c.layOut(depth)
		edges, _, deep := crossed(t, apart, below, k)
		require.Equal(t, least(apart, 0, n, k, depth)/perEdge, edges)
		require.LessOrEqual(t, deep, depth)
	})
}

func TestCuts(t *testing.T) {
	for _, x := range []struct {
		name                 string
		apart                []int
		k                    int
		edges, levels, depth int
	}{
		{name: "two switches of four: a level more", apart: runs(0, 4, 4), k: 8, edges: 1, levels: 1, depth: 2},
		{name: "no deeper than need be", apart: runs(0, 4, 4), k: 4, edges: 1, levels: 1, depth: 2},
		{name: "a host on its own", apart: runs(0, 1, 4), k: 8, edges: 1, levels: 1, depth: 2},
		{name: "every host on its own", apart: runs(0, 1, 1, 1, 1), k: 2, edges: 3, levels: 3, depth: 2},
		{name: "racks of a cluster", apart: runs(0, slices.Repeat([]int{40}, 100)...), k: 8, edges: 99, levels: 99, depth: 5},
		{name: "racks in rows of ten", apart: runs(10, slices.Repeat([]int{40}, 100)...), k: 8, edges: 99, levels: 110, depth: 5},
		{name: "65,536 hosts", apart: runs(16, slices.Repeat([]int{32}, 2048)...), k: 8, edges: 2047, levels: 2366, depth: 6},
		{name: "a full tree, one level more", apart: runs(0, slices.Repeat([]int{45}, 13)...), k: 8, edges: 12, levels: 12, depth: 4},
		{name: "degree 2", apart: runs(4, slices.Repeat([]int{7, 2, 11}, 20)...), k: 2, edges: 59, levels: 73, depth: 9},
	} {
		t.Run(x.name, func(t *testing.T) {
			below := Cut(x.apart, x.k)
			edges, levels, depth := crossed(t, x.apart, below, x.k)
			require.Equal(t, []int{x.edges, x.levels, x.depth}, []int{edges, levels, depth}, "edges, levels, depth; without a network %d", Depth(len(x.apart), x.k))
		})
	}
}

// One switch leaves ranges as they are, and so does a chain.
func TestNothingToCut(t *testing.T) {
	require.Nil(t, Cut(nil, 8))
	require.Nil(t, Cut([]int{1}, 8))
	require.Nil(t, Cut([]int{1, 0, 0}, 8))
	require.Nil(t, Cut(runs(0, 2, 2), 1))
}

// Parts are about as large as each other where the network has no say.
func TestCutBalances(t *testing.T) {
	below := Cut(runs(0, 31, 32), 2)
	require.Equal(t, 31, below[31], "the second switch is one range")
	var within []int
	walkCut(t, below, 2, func(parent, child, _ int) {
		if parent == 31 {
			within = append(within, below[child]+1)
		}
	})
	require.Equal(t, []int{16, 15}, within)
}
