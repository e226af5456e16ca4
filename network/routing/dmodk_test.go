package routing

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
)

// Figure 6: with four ports upward at each switch, a leaf switch sends to
// destination 9 by port 1, and the switch above by port 2.
func TestPortsOfFigure6(t *testing.T) {
	r := dmodk(t, "fattree:4,4,8/1,4,4/1,1,1")
	assert.Equal(t, 1, r.Up(1, 9))
	assert.Equal(t, 2, r.Up(2, 9))
	f, g := r.tree, r.graph
	right := f.Node(0, g.Hosts()-1)
	route, err := r.Append(nil, right, f.Node(0, 9))
	require.NoError(t, err)
	require.Equal(t, []int{5, 6}, []int{Hops(route), Links(route)})
	assert.Equal(t, f.UpLink(f.Node(1, 31), 1), route[1].Link)
	assert.Equal(t, f.UpLink(g.To(route[1].Link).Node, 2), route[2].Link)
	for j := range 4 {
		assert.Equal(t, j, r.Up(1, 8+j), "level 1: j mod 4")
		assert.Equal(t, j, r.Up(2, 4*j), "level 2: j/4 mod 4")
	}
}

// Figure 1: shift by 4 among 16 hosts has three hot spots in one order, and none
// in the order of the routing. The leftmost switch sends to 4, 8 and 12 by its
// first port.
func TestHotSpotsOfFigure1(t *testing.T) {
	r := dmodk(t, "fattree:4,4/1,4/1,1")
	leaf := r.graph.Leaf(0)
	var first []topology.Node
	for h := range r.graph.AllHosts() {
		if s, ok := r.Next(leaf, h); ok && s.Link == r.tree.UpLink(leaf, 0) {
			first = append(first, h)
		}
	}
	assert.Equal(t, []topology.Node{4, 8, 12}, first)

	q := ShiftBy(16, 4)
	c, err := HotSpots(r, hostsOf(r.graph), q, topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, Contention{Degrees: []int{1}}, *c)

	random := []topology.Node{8, 3, 10, 6, 12, 5, 15, 13, 9, 2, 4, 1, 0, 7, 11, 14}
	c, err = HotSpots(r, random, q, topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, Contention{Degrees: []int{2}, Hot: 3}, *c)
}

// Shift in tree order has one message per link in every stage, on the trees of
// table 3.
func TestShiftIsFreeOfContention(t *testing.T) {
	for _, tree := range []string{tree144, tree324, tree1728, tree1944, "fattree:18,18,6/1,18,3/1,1,6"} {
		r := dmodk(t, tree)
		require.Positive(t, Unit(r.tree.Tuple))
		q := Shift(r.graph.Hosts())
		if testing.Short() {
			q = q.Sample(100)
		}
		c, err := HotSpots(r, hostsOf(r.graph), q, parallel)
		require.NoError(t, err)
		assert.Equal(t, []int{1, 0}, []int{c.Max(), c.Hot}, tree)
		assert.Equal(t, 1.0, c.Mean())
	}
}

// Theorem 1: no port upward has more than one destination in a stage of Shift.
// Theorem 2: no port downward has more than one destination at all, and lemma 5:
// all messages to a destination meet at one switch at the top.
func TestTheorems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawTree(t, rlfts())
		g, f, n := r.graph, r.tree, r.graph.Hosts()
		distance := upTo(max(1, n-1)).Draw(t, "distance")
		up := map[topology.Link]int{}
		down := map[topology.Link]topology.Node{}
		top := map[topology.Node]topology.Node{}
		var route []Step
		for i := range n {
			for _, j := range []int{(i + distance) % n, i * 7 % n} {
				src, dst := topology.Node(i), topology.Node(j)
				var err error
				route, err = r.Append(route[:0], src, dst)
				require.NoError(t, err)
				highest := src
				for _, s := range route {
					to := g.To(s.Link).Node
					if f.Level(to) > f.Level(highest) {
						highest = to
						if j == (i+distance)%n {
							other, taken := up[s.Link]
							if taken && other != j {
								t.Fatalf("%v: %d and %d go up the same link of %s", f.Tuple, j, other, g.Name(g.From(s.Link).Node))
							}
							up[s.Link] = j
						}
						continue
					}
					if other, taken := down[s.Link]; taken && other != dst {
						t.Fatalf("%v: %d and %d go down the same link", f.Tuple, dst, other)
					}
					down[s.Link] = dst
				}
				if f.Level(highest) == f.Levels() {
					if other, met := top[dst]; met && other != highest {
						t.Fatalf("%v: messages to %d meet at %d and %d", f.Tuple, dst, other, highest)
					}
					top[dst] = highest
				}
			}
		}
		c, err := HotSpots(r, hostsOf(g), ShiftBy(n, distance), topology.Serial)
		require.NoError(t, err)
		assert.LessOrEqual(t, c.Max(), 1)
	})
}

// On any PGFT routes are as short as can be, and up/down finds the same ones.
func TestDModKGoesToTheLowestCommonLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawTree(t, pgfts())
		g, tuple := r.graph, r.tree.Tuple
		u, err := NewUpDown(g, topology.Serial)
		require.NoError(t, err)
		assert.Equal(t, "up/down", u.String())
		src := topology.Node(rapid.IntRange(0, g.Hosts()-1).Draw(t, "from"))
		for dst := range g.AllHosts() {
			route, err := r.Append(nil, src, dst)
			require.NoError(t, err)
			level := 0
			for int(src)/tuple.Below(level) != int(dst)/tuple.Below(level) {
				level++
			}
			assert.Equal(t, 2*level, Links(route))
			same, err := u.Append(nil, src, dst)
			require.NoError(t, err)
			assert.Equal(t, route, same, "%v: %d to %d", tuple, src, dst)
		}
	})
}

func TestDModKNeedsAWholeTree(t *testing.T) {
	_, err := NewDModK(graph(t, "torus:4x4"))
	require.ErrorContains(t, err, "needs a fat tree")
	g := graph(t, "fattree:4,4/1,4/1,1")
	cut := g.Without(func(c int) bool { return c == 16 })
	family, err := g.Family().On(cut)
	require.NoError(t, err)
	_, err = NewDModK(cut.WithFamily(family))
	require.EqualError(t, err, fmt.Sprintf("d-mod-k: port 0 upward of %s has no cable", g.Name(16)))
	r, err := New(cut.WithFamily(family), topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, "up/down", r.String())
}
