package partition

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/internal/random"
)

// drawSides puts each vertex on a side.
func drawSides(t *rapid.T, n int) []int8 {
	return rapid.SliceOfN(rapid.Int8Range(0, 1), n, n).Draw(t, "sides")
}

// drawPulled is any graph with any pull.
func drawPulled(t *rapid.T) *graph {
	c := newGraph(drawGraph(t, 60))
	copy(c.pull, rapid.SliceOfN(rapid.Int64Range(-50, 50), c.vertices(), c.vertices()).Draw(t, "pull"))
	return c
}

// A division of the smaller graph costs what it costs in the larger one.
func TestCoarserGraphCostsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawPulled(t)
		r := random.Source(rapid.Uint64().Draw(t, "seed"))
		coarse, to := coarsen(c, &r)
		if coarse == nil {
			return
		}
		above := drawSides(t, coarse.vertices())
		side := make([]int8, c.vertices())
		for v := range side {
			side[v] = above[to[v]]
		}
		require.Equal(t, c.cost(side), coarse.cost(above))
		require.Equal(t, imbalance(c, side, 7), imbalance(coarse, above, 7))
	})
}

// After any moves the gains equal those worked out anew, and each equals the saving of
// its move.
func TestGains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawPulled(t)
		n := c.vertices()
		mover := func(side []int8) *mover {
			m := &mover{graph: c, side: side, gain: make([]int64, n), locked: make([]bool, n)}
			m.heaps = [2]*heap{newHeap(m.gain), newHeap(m.gain)}
			m.begin(true)
			return m
		}
		m := mover(drawSides(t, n))
		order := random.Source(rapid.Uint64().Draw(t, "seed"))
		for _, v := range order.Order(n)[:n/2+1] {
			before, gain := c.cost(m.side), m.gain[v]
			m.move(v)
			require.Equal(t, before-gain, c.cost(m.side))
		}
		require.Equal(t, mover(m.side).gain, m.gain)
	})
}

// A division never becomes worse by refinement.
func TestRefineNeverHarms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawPulled(t)
		side, size := drawSides(t, c.vertices()), rapid.IntRange(0, c.vertices()).Draw(t, "size")
		before := stateOf(c, side, size)
		refine(c, side, size)
		after := stateOf(c, side, size)
		require.False(t, before.before(after))
		require.Zero(t, after.over)
	})
}

// Three cliques that are scattered over three parts come together.
func TestPairs(t *testing.T) {
	var edges []commgraph.Edge
	for a := range int32(30) {
		for b := a + 3; b < 30; b += 3 {
			edges = append(edges, commgraph.Edge{A: a, B: b, Weight: 1})
		}
	}
	g, err := commgraph.New(30, edges)
	require.NoError(t, err)
	d := &divider{part: make([]int32, 30)}
	for v := range d.part {
		d.part[v] = int32(v / 10)
	}
	d.pairs(newGraph(g), 3)
	require.Zero(t, cut(g, d.part))
}
