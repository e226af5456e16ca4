package levels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/measure"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// chain is the bytes of a process for each of its six neighbors in [Sahoo, table 4.1]:
// of 2131 MB a sixth.
const chain = 2131_000_000 / 6

// grid returns a periodic grid, the last dimension fastest, with so many bytes from each
// rank to each neighbor.
func grid(t testing.TB, dims []int, bytes int64) *commgraph.Graph {
	sizes := strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
	g, err := commgraph.Parse(fmt.Sprintf("cart:%s:periodic:%d:%d", sizes, 2*len(dims), 2*bytes))
	require.NoError(t, err)
	return g
}

func cray(t testing.TB, groups int) *topology.Graph {
	g, err := spec.Parse(fmt.Sprintf("cray:6,16,4,2,12,groups=%d", groups))
	require.NoError(t, err)
	return g
}

// sahasrat returns the machine of the first hosts of one group, with the costs measured
// there.
func sahasrat(t testing.TB, hosts int) *Costs {
	list := make([]topology.Node, hosts)
	for i := range list {
		list[i] = topology.Node(i)
	}
	m, err := OnCray(cray(t, 1), list)
	require.NoError(t, err)
	c, err := NewCosts(m, Cray())
	require.NoError(t, err)
	return c
}

// drawn is any machine, with any costs, and any graph of as many ranks.
type drawn struct {
	*Costs
	place [][]int32
	lines []measure.Line
	graph *commgraph.Graph
}

func draw(t *rapid.T, most int) drawn {
	d := drawn{}
	cores, deep := rapid.IntRange(1, most).Draw(t, "cores"), rapid.IntRange(1, 4).Draw(t, "levels")
	var names []string
	for l := range deep {
		names = append(names, fmt.Sprint("level ", l))
	}
	for range cores {
		d.place = append(d.place, rapid.SliceOfN(rapid.Int32Range(0, 2), deep, deep).Draw(t, "coordinates"))
	}
	m, err := New(names, d.place)
	require.NoError(t, err)
	for range deep + 1 {
		d.lines = append(d.lines, measure.Line{Latency: float64(rapid.IntRange(0, 20).Draw(t, "latency")),
			Bandwidth: float64(rapid.IntRange(0, 9).Draw(t, "bandwidth"))})
	}
	d.Costs, err = NewCosts(m, d.lines)
	require.NoError(t, err)
	rank := rapid.Int32Range(0, int32(cores-1))
	d.graph, err = commgraph.New(cores, rapid.SliceOf(rapid.Custom(func(t *rapid.T) commgraph.Edge {
		return commgraph.Edge{A: rank.Draw(t, "a"), B: rank.Draw(t, "b"), Weight: rapid.Int64Range(0, 1000).Draw(t, "weight")}
	})).Draw(t, "edges"))
	require.NoError(t, err)
	return d
}

// drawMap is any map.
func (d drawn) drawMap(t *rapid.T) []int32 {
	return rapid.Permutation(d.Machine.Default()).Draw(t, "map")
}

// level returns the first level at which coordinates differ.
func (d drawn) level(a, b int32) int {
	l := 0
	for l < d.Machine.Levels() && d.place[a][l] == d.place[b][l] {
		l++
	}
	return l
}

// megabytes returns the mean volume of a rank at each level, summed from the top.
func megabytes(c *Costs, g *commgraph.Graph, at []int32) (each, sum []float64) {
	total := 0.0
	for _, s := range c.Shares(g, at) {
		mb := float64(s.Volume) / 1e6 / float64(g.Ranks())
		total += mb
		each, sum = append(each, mb), append(sum, total)
	}
	return each, sum
}
