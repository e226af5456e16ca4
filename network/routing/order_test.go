package routing

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
)

// A job of Unit hosts, or several times as many, that are contiguous is free of
// contention, wherever it begins; one of 126 of 144 is not, though 126 is a
// multiple of the product of all w.
func TestPartsOfATree(t *testing.T) {
	r := dmodk(t, tree144)
	all := hostsOf(r.graph)
	assert.Equal(t, 12, Unit(r.tree.Tuple))
	for n, want := range map[int]int{144: 1, 132: 1, 126: 2, 120: 1, 138: 2} {
		c, err := HotSpots(r, all[:n], Shift(n), parallel)
		require.NoError(t, err)
		assert.Equal(t, want, c.Max(), "%d of 144", n)
		orders, err := Orders(r, all[:n], 1, parallel)
		require.NoError(t, err)
		assert.Equal(t, want == 1, orders[0].Free, "%d of 144", n)
		if n == 126 {
			assert.InDelta(t, 1.79, c.Mean(), 0.005)
		}
	}
	for tree, unit := range map[string]int{tree324: 18, tree1728: 144, tree1944: 324, "fattree:4,2,4/1,2,2/1,2,2": 8,
		"fattree:4,4/2,4/1,1": 0, "fattree:4,4/1,2/1,1": 0} {
		assert.Equal(t, unit, Unit(graph(t, tree).Family().(*topology.FatTree).Tuple), tree)
	}
}

func TestMultiplesOfUnitAreFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawTree(t, rlfts())
		unit, size := Unit(r.tree.Tuple), r.graph.Hosts()
		n := unit * upTo(size/unit).Draw(t, "units")
		start := rapid.IntRange(0, size-1).Draw(t, "first host")
		job := make([]topology.Node, n)
		for i := range job {
			job[i] = topology.Node((start + i) % size)
		}
		orders, err := Orders(r, rapid.Permutation(job).Draw(t, "job"), 1, topology.Serial)
		require.NoError(t, err)
		require.Len(t, orders, 1)
		require.True(t, orders[0].Free)
		assert.Equal(t, "fat tree: no contention", orders[0].String())
		if n < size {
			assert.Equal(t, job, orders[0].Hosts)
		}
		if n > 1 {
			c, err := HotSpots(r, orders[0].Hosts, ShiftBy(n, upTo(n-1).Draw(t, "distance")), topology.Serial)
			require.NoError(t, err)
			assert.Equal(t, 1, c.Max())
		}
	})
}

// Routes alone tell the order, whatever numbers the hosts have: D-Mod-K for
// indices that somebody shuffled below each switch.
func TestOrderFromRoutesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTree(t, rlfts())
		g, tuple := d.graph, d.tree.Tuple
		other, err := topology.NewFatTree(g, tuple, levels(d.tree), relabeled(t, d.tree))
		require.NoError(t, err)
		order := byRoutes(d, other)
		require.ElementsMatch(t, hostsOf(g), order)
		if n := len(order); n > 1 {
			c, err := HotSpots(d, order, ShiftBy(n, upTo(n-1).Draw(t, "distance")), topology.Serial)
			require.NoError(t, err)
			assert.Equal(t, 1, c.Max(), "%v", tuple)
		}
	})
}

func levels(f *topology.FatTree) []int8 {
	var level []int8
	for l := range f.Levels() + 1 {
		level = append(level, slices.Repeat([]int8{int8(l)}, f.Count(l))...)
	}
	return level
}

// relabeled gives each node of a whole tree another index: the children of each
// node come in another order.
func relabeled(t *rapid.T, f *topology.FatTree) []int32 {
	h := f.Levels()
	number := make([][]int, h+1) // number[l][x]: new number of the x-th subtree of height l
	number[h] = []int{0}
	for l := h - 1; l >= 0; l-- {
		m := f.M[l]
		for _, parent := range number[l+1] {
			places := make([]int, m)
			for i := range places {
				places[i] = parent*m + i
			}
			number[l] = append(number[l], rapid.Permutation(places).Draw(t, "children")...)
		}
	}
	var index []int32
	for l := range h + 1 {
		for x := range f.Count(l) {
			roots := f.Roots(l)
			index = append(index, int32(number[l][x/roots]*roots+x%roots))
		}
	}
	return index
}

// Where the order cannot be free of contention the best that was found comes
// first, with its figure, and what was given is among the rest.
func TestOrdersOfOtherFabrics(t *testing.T) {
	for _, text := range []string{"dragonfly:p=2,a=4,h=2,g=9", "torus:4x4x4", "mesh:6x6", "fattree:4,8/1,2/1,1"} {
		r := router(t, text)
		given := shuffled(hostsOf(r.Graph()), 7)
		orders, err := Orders(r, given, 1, parallel)
		require.NoError(t, err)
		rules := map[string]bool{}
		for i, o := range orders {
			rules[o.Rule] = true
			assert.ElementsMatch(t, given, o.Hosts)
			assert.False(t, o.Free)
			assert.Equal(t, len(given)-1, o.Stages)
			c, err := HotSpots(r, o.Hosts, Shift(len(given)), parallel)
			require.NoError(t, err)
			assert.Equal(t, []any{c.Mean(), c.Max()}, []any{o.Mean, o.Max})
			assert.True(t, i == 0 || orders[i-1].Mean <= o.Mean)
			assert.Contains(t, o.String(), "messages on the busiest link of a stage of shift")
		}
		for _, rule := range []string{"as given", "leaf by leaf", "shuffled, seed 1"} {
			if rule == "leaf by leaf" && rules["fat tree"] {
				continue // the same order
			}
			assert.True(t, rules[rule], "%s: %v", text, rules)
		}
		t.Logf("%s: %v", text, &orders[0])
	}
}

// Rules that make the order given are not counted again.
func TestEqualOrdersCompeteOnce(t *testing.T) {
	for text, want := range map[string][]string{
		"torus:4x4":                 {"as given", "leaf by leaf", "shuffled, seed 1"},
		"dragonfly:p=2,a=4,h=2,g=9": {"as given", "leaf by leaf", "shuffled, seed 1"},
		"fattree:4,8/1,2/1,1":       {"as given", "shuffled, seed 1"},
		"fattree:4,4,4/1,2,2/1,1,1": {"as given", "shuffled, seed 1"},
	} {
		r := router(t, text)
		orders, err := Orders(r, hostsOf(r.Graph()), 1, topology.Serial)
		require.NoError(t, err)
		var rules []string
		for i, o := range orders {
			rules = append(rules, o.Rule)
			for _, other := range orders[:i] {
				assert.NotEqual(t, other.Hosts, o.Hosts, "%s: %s and %s", text, other.Rule, o.Rule)
			}
		}
		assert.ElementsMatch(t, want, rules, text)
	}
}

// A job on a part of a degraded tree, its hosts selected, gets an order no worse
// than the one given.
func TestOrdersOfADegradedTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := topology.NewPGFT(topology.Tuple{M: []int{4, 4, 4}, W: []int{1, 4, 2}, P: []int{1, 1, 2}}, 0)
		require.NoError(t, err)
		family := g.Family()
		g = degraded(t, g)
		of, err := family.On(g)
		require.NoError(t, err)
		u, err := NewUpDown(g.WithFamily(of), topology.Serial)
		require.NoError(t, err)
		job := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 63), func(i int) topology.Node { return topology.Node(i) }), 0, 30, rapid.ID).Draw(t, "job")
		orders, err := Orders(u, job, 1, topology.Serial)
		if err != nil {
			require.ErrorContains(t, err, "has no way on")
			return
		}
		require.ElementsMatch(t, job, orders[0].Hosts)
		for _, o := range orders {
			assert.LessOrEqual(t, orders[0].Mean, o.Mean)
		}
	})
}

func TestSampledStages(t *testing.T) {
	r := router(t, "torus:8x8x8")
	orders, err := orders(r, hostsOf(r.Graph()), 1, parallel, 4*512*64)
	require.NoError(t, err)
	assert.Equal(t, 64, orders[0].Stages)
	assert.Contains(t, orders[0].String(), "mean of 64 of 511 stages")
}

// A job's hosts as a graph of their own keep their places in the tree.
func TestOrderOfSelectedHosts(t *testing.T) {
	g := graph(t, tree144)
	var job []topology.Node
	for i := range 132 {
		job = append(job, topology.Node((100+i)%144))
	}
	less, err := g.Select(shuffled(job, 5))
	require.NoError(t, err)
	r, err := New(less, topology.Serial)
	require.NoError(t, err)
	require.Equal(t, "d-mod-k", r.String())
	orders, err := Orders(r, hostsOf(less), 1, topology.Serial)
	require.NoError(t, err)
	require.True(t, orders[0].Free)
	for i, h := range orders[0].Hosts {
		assert.Equal(t, g.Name(job[i]), less.Name(h))
	}
	c, err := HotSpots(r, orders[0].Hosts, Shift(132), topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, 1, c.Max())

	orders, err = Orders(r, nil, 1, topology.Serial)
	require.NoError(t, err)
	assert.Empty(t, orders[0].Hosts)
	_, err = HotSpots(r, orders[0].Hosts, Ring(2), topology.Serial)
	require.EqualError(t, err, "0 hosts for 2 ranks of ring")
}
