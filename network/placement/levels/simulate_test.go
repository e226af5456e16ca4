package levels

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

func sharing(t testing.TB, g *topology.Graph, copies float64) Sharing {
	r, err := routing.NewMinimal(g)
	require.NoError(t, err)
	return Sharing{r, copies}
}

// simulated returns the outcome of messages of size bytes, both ways, between pairs of
// cores of a machine whose other ranks are silent.
func simulated(t *testing.T, c *Costs, s Sharing, size int64, pairs ...[2]int32) Simulated {
	var edges []commgraph.Edge
	for _, p := range pairs {
		edges = append(edges, commgraph.Edge{A: p[0], B: p[1], Weight: 2 * size})
	}
	g, err := commgraph.New(c.Machine.Cores(), edges)
	require.NoError(t, err)
	out, err := s.Simulate(g, c, c.Machine.Default())
	require.NoError(t, err)
	return out
}

// Host 0 and 1 share a blade, 4 is on the next, 64 in the next chassis. 16 Gb/s are 2
// bytes in a nanosecond.
func TestMessagesShareLinks(t *testing.T) {
	net := cray(t, 1)
	m, err := OnCray(net, []topology.Node{0, 1, 4, 64})
	require.NoError(t, err)
	c, err := NewCosts(m, Cray())
	require.NoError(t, err)
	s := sharing(t, net, 3e9)
	const size = 1_000_000_000
	one := simulated(t, c, s, size, [2]int32{0, 24})
	assert.InDelta(t, 0.5+4.2312e-6, one.Time, 1e-12)
	assert.Zero(t, one.Inner)
	two := simulated(t, c, s, size, [2]int32{0, 24}, [2]int32{1, 24})
	assert.InDelta(t, 1+4.2312e-6, two.Time, 1e-12)
	blades := simulated(t, c, s, size, [2]int32{0, 48})
	assert.InDelta(t, 8/14., blades.Inner, 1e-12)
	assert.InDelta(t, 8/14.+9.3519e-6, blades.Time, 1e-12)
	chassis := simulated(t, c, s, size, [2]int32{0, 72})
	assert.InDelta(t, 8/14.+12.3422e-6, chassis.Time, 1e-12)

	// Within a socket each message is copied twice, and there are two.
	socket := simulated(t, c, s, size, [2]int32{0, 1})
	assert.InDelta(t, 4/3., socket.Copies, 1e-12)
	assert.InDelta(t, 4/3.+0.3632e-6, socket.Time, 1e-12)
	sockets := simulated(t, c, s, size, [2]int32{0, 12})
	assert.InDelta(t, 2/3., sockets.Copies, 1e-12)
	s.Copy = 0
	assert.InDelta(t, 0.3632e-6, simulated(t, c, s, size, [2]int32{0, 1}).Time, 1e-15)
}

// Below some size messages are faster within a socket than between nodes, above it they
// are slower [Sahoo, figure 3.4].
func TestLargeMessagesInvertTheLevels(t *testing.T) {
	net := cray(t, 1)
	m, err := OnCray(net, []topology.Node{0, 1})
	require.NoError(t, err)
	c, err := NewCosts(m, Cray())
	require.NoError(t, err)
	s := sharing(t, net, 3e9)
	near, far := [2]int32{0, 1}, [2]int32{0, 24}
	assert.Less(t, simulated(t, c, s, 1000, near).Time, simulated(t, c, s, 1000, far).Time)
	assert.Greater(t, simulated(t, c, s, 1e6, near).Time, simulated(t, c, s, 1e6, far).Time)
}

// Shared carriers decide the mapping depth: without copies the last two are equal and
// the first of them is taken; slow copies make a shallower map the best.
func TestDynamicDepth(t *testing.T) {
	c, net := sahasrat(t, 334), cray(t, 1)
	g := grid(t, []int{6, 8, 167}, chain)
	at, err := Recursive(g, c.Machine, Plan{})
	require.NoError(t, err)
	for _, x := range []struct {
		copies float64
		depth  int
	}{{0, 3}, {3e9, 3}, {2e9, 2}} {
		depth, outcome, err := Dynamic(g, c, at, sharing(t, net, x.copies))
		require.NoError(t, err)
		assert.Equal(t, x.depth, depth)
		for d, o := range outcome {
			if d < depth {
				assert.Greater(t, o.Time, outcome[depth].Time)
			}
			assert.GreaterOrEqual(t, o.Time, max(o.Adapters, o.Inner, o.Copies))
		}
		if x.copies == 2e9 {
			assert.Greater(t, outcome[4].Time, 1.02*outcome[2].Time)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	c, g := sahasrat(t, 1), grid(t, []int{4, 6}, 1)
	_, err := sharing(t, cray(t, 1), -1).Simulate(g, c, c.Machine.Default())
	assert.EqualError(t, err, "copies at -1 bytes/s: expected 0, for no limit, or more")
	m, err := New([]string{"node"}, [][]int32{{0}})
	require.NoError(t, err)
	bare, err := NewCosts(m, Cray()[:2])
	require.NoError(t, err)
	_, err = sharing(t, cray(t, 1), 0).Simulate(grid(t, []int{1}, 1), bare, []int32{0})
	assert.EqualError(t, err, "the machine's network is not known")

	net, err := spec.Parse("cray:6,16,4,1,1")
	require.NoError(t, err)
	unknown := topology.Rates{}
	without, err := topology.NewDragonflyGraph(net.Family().(*topology.Dragonfly).Layout, unknown)
	require.NoError(t, err)
	m, err = OnCray(net, []topology.Node{0, 1})
	require.NoError(t, err)
	c, err = NewCosts(m, Cray())
	require.NoError(t, err)
	_, err = sharing(t, without, 0).Simulate(grid(t, []int{2}, 1), c, []int32{0, 1})
	assert.ErrorContains(t, err, "its rate is not known")
}
