package routing

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
)

// Dimension order is as short as the coordinates' distances, and stays on the
// lanes that it says.
func TestDimensionOrderIsShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := topology.Shape{Dims: rapid.SliceOfN(rapid.IntRange(1, 6), 1, 3).Draw(t, "sizes"), Hosts: rapid.IntRange(1, 2).Draw(t, "hosts")}
		s.Wrap = rapid.SliceOfN(rapid.Bool(), len(s.Dims), len(s.Dims)).Draw(t, "wrap")
		g, err := topology.NewTorusGraph(s, 0)
		require.NoError(t, err)
		maker := rapid.SampledFrom([]func(*topology.Graph) (*DimensionOrder, error){NewDimensionOrder, NewSplitDimensionOrder}).Draw(t, "ties")
		r, err := maker(g)
		require.NoError(t, err)
		src := topology.Node(rapid.IntRange(0, g.Hosts()-1).Draw(t, "from"))
		for dst := range g.AllHosts() {
			route, err := r.Append(nil, src, dst)
			require.NoError(t, err)
			checkRoute(t, g, route, src, dst)
			if src == dst {
				continue
			}
			links, a, b := 2, g.Leaf(src), g.Leaf(dst)
			for d, n := range s.Dims {
				far := r.torus.Coordinate(a, d) - r.torus.Coordinate(b, d)
				if far = max(far, -far); s.Wrap[d] {
					far = min(far, n-far)
				}
				links += far
			}
			assert.Equal(t, links, Links(route))
			for _, step := range route {
				assert.Less(t, int(step.Lane), r.Lanes())
			}
		}
		assert.Nil(t, CreditLoop(r, topology.Serial))
	})
}

// All ranks of a ring send to its other side: where ties are split, each link has
// half as many messages, and each way as many as the other.
func TestSplitTies(t *testing.T) {
	g := graph(t, "torus:8")
	opposite := ShiftBy(8, 4)
	for _, c := range []struct {
		make   func(*topology.Graph) (*DimensionOrder, error)
		name   string
		degree int
	}{{NewDimensionOrder, "dimension order", 4}, {NewSplitDimensionOrder, "dimension order, ties split", 2}} {
		r, err := c.make(g)
		require.NoError(t, err)
		assert.Equal(t, c.name, r.String())
		spots, err := HotSpots(r, hostsOf(g), opposite, topology.Serial)
		require.NoError(t, err)
		assert.Equal(t, c.degree, spots.Max())
	}
	_, err := NewSplitDimensionOrder(graph(t, tree144))
	require.ErrorContains(t, err, "needs a torus or mesh")
}

// The dateline: lane 0 as long as the way leads around, lane 1 behind.
func TestDateline(t *testing.T) {
	r := router(t, "torus:8")
	route, err := r.Append(nil, 6, 1)
	require.NoError(t, err)
	var lanes []uint8
	for _, s := range route {
		lanes = append(lanes, s.Lane)
	}
	assert.Equal(t, []uint8{0, 0, 0, 1, 0}, lanes)
	assert.Equal(t, 4, Hops(route))
}

// Minimal routes are no longer than the shortest among those that leave their
// group at most once, which is found by looking at all cables between the groups.
func TestMinimalAndValiant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chassis := rapid.IntRange(1, 2).Draw(t, "chassis")
		a, h := chassis*rapid.IntRange(1, 3).Draw(t, "routers of a chassis"), rapid.IntRange(1, 3).Draw(t, "h")
		groups := rapid.IntRange(1, a*h+1).Draw(t, "groups")
		g, err := topology.NewDragonflyGraph(topology.Layout{P: 2, A: a, H: h, G: groups, Chassis: chassis}, topology.Rates{})
		require.NoError(t, err)
		m, err := NewMinimal(g)
		require.NoError(t, err)
		v, err := newValiant(g, rapid.Uint64().Draw(t, "seed"))
		require.NoError(t, err)
		f := m.fly
		within := func(a, b topology.Node) int { return int(m.far[f.Router(a)*f.A+f.Router(b)]) }
		src := topology.Node(rapid.IntRange(0, g.Hosts()-1).Draw(t, "from"))
		for dst := range g.AllHosts() {
			route, err := m.Append(nil, src, dst)
			require.NoError(t, err)
			checkRoute(t, g, route, src, dst)
			if src == dst {
				continue
			}
			from, to := g.Leaf(src), g.Leaf(dst)
			shortest := within(from, to)
			if f.Group(from) != f.Group(to) {
				shortest = 5
				for _, gate := range f.Gates(f.Group(from), f.Group(to)) {
					shortest = min(shortest, within(from, g.From(gate).Node)+1+within(g.To(gate).Node, to))
				}
			}
			assert.Equal(t, shortest+2, Links(route))

			route, err = v.Append(nil, src, dst)
			require.NoError(t, err)
			between := 0
			at := src
			for _, s := range route {
				next := g.To(s.Link).Node
				require.Equal(t, at, g.From(s.Link).Node)
				if !g.IsHost(at) && !g.IsHost(next) && f.Group(at) != f.Group(next) {
					assert.EqualValues(t, between, s.Lane)
					between++
				}
				at = next
			}
			require.Equal(t, dst, at)
			switch {
			case f.Group(from) == f.Group(to):
				assert.Equal(t, 0, between)
			case groups > 2:
				assert.Equal(t, 2, between)
			}
		}
		assert.Nil(t, CreditLoop(m, topology.Serial))
		assert.Nil(t, CreditLoop(v, topology.Serial))
	})
}

func TestWhatIsMissing(t *testing.T) {
	cut := func(text string, cable int) *topology.Graph {
		g := graph(t, text)
		less := g.Without(func(c int) bool { return c == cable })
		f, err := g.Family().On(less)
		require.NoError(t, err)
		return less.WithFamily(f)
	}
	_, err := NewDimensionOrder(cut("mesh:3x3", 1))
	require.EqualError(t, err, "dimension order: s0 has no cable upward in dimension 0")
	_, err = NewDimensionOrder(graph(t, tree144))
	require.ErrorContains(t, err, "needs a torus or mesh")
	_, err = NewMinimal(cut("dragonfly:p=1,a=2,h=1,g=3", 1))
	require.EqualError(t, err, "minimal routing: no cable from s0 to router 1 of its group")
	_, err = NewMinimal(cut("dragonfly:p=1,a=2,h=1,g=3", 10))
	require.ErrorContains(t, err, "minimal routing: no cable between groups")
	_, err = newValiant(graph(t, tree144), 1)
	require.ErrorContains(t, err, "needs a dragonfly")
}
