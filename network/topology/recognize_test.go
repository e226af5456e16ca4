package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shuffled is g with hosts, switches, cables and the ports of each node in
// another order. It returns the new number of each node as well.
func shuffled(t *rapid.T, g *Graph) (*Graph, []Node) {
	order := func(n int, name string) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return rapid.Permutation(list).Draw(t, name)
	}
	number := make([]Node, 0, g.Nodes())
	for _, n := range order(g.Hosts(), "hosts") {
		number = append(number, Node(n))
	}
	for _, n := range order(g.Switches(), "switches") {
		number = append(number, g.Switch(n))
	}
	port := make([][]int, g.Nodes())
	for n := range port {
		port[n] = order(len(g.Ports(Node(n))), "ports")
	}
	end := func(e End) End {
		for i, p := range g.Ports(e.Node) {
			if p.Number == e.Port {
				return End{number[e.Node], int32(port[e.Node][i] + 1)}
			}
		}
		panic("no such port")
	}
	b, err := NewBuilder(g.Hosts(), g.Switches())
	require.NoError(t, err)
	for _, i := range order(g.Cables(), "cables") {
		c := g.Cable(i)
		b.Cable(Cable{A: end(c.A), B: end(c.B)})
	}
	other, err := b.Build()
	require.NoError(t, err)
	return other, number
}

func TestRecognizeFatTree(t *testing.T) {
	for _, tuple := range []Tuple{
		{[]int{4, 4}, []int{1, 2}, []int{1, 2}},
		{[]int{8, 16}, []int{1, 4}, []int{1, 2}},
		{[]int{4, 4, 8}, []int{1, 4, 2}, []int{1, 1, 2}},
		{[]int{18, 18, 6}, []int{1, 18, 6}, []int{1, 1, 3}},
		{[]int{2, 2, 2, 4}, []int{1, 2, 2, 2}, []int{1, 1, 1, 1}},
		{[]int{3, 2}, []int{2, 2}, []int{1, 1}},
		{[]int{20, 36}, []int{1, 16}, []int{1, 1}},
		{[]int{5}, []int{1}, []int{1}},
		XGFT([]int{32, 32, 64}, []int{1, 32, 32}),
	} {
		g, err := NewPGFT(tuple, 0)
		require.NoError(t, err)
		f, err := Recognize(g)
		require.NoError(t, err, tuple)
		require.Equal(t, g.Family().String(), f.String())
		for n := range Node(g.Nodes()) {
			require.Equal(t, g.Family().(*FatTree).Level(n), f.(*FatTree).Level(n))
			require.Equal(t, g.Family().(*FatTree).Index(n), f.(*FatTree).Index(n), "%v: %s", tuple, g.Name(n))
		}
	}
}

func TestRecognizeShuffledFatTree(t *testing.T) {
	for _, tuple := range []Tuple{
		{[]int{4, 4}, []int{1, 2}, []int{1, 2}},
		{[]int{3, 2, 4}, []int{1, 2, 2}, []int{1, 2, 1}},
		{[]int{2, 2, 3, 2}, []int{1, 2, 3, 2}, []int{1, 1, 1, 2}},
		{[]int{3, 2, 2}, []int{2, 2, 2}, []int{1, 1, 1}},
	} {
		g, err := NewPGFT(tuple, 0)
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			other, _ := shuffled(t, g)
			f, err := Recognize(other)
			require.NoError(t, err)
			require.Equal(t, g.Family().String(), f.String())
			// A few cables less do not hide it.
			lost := rapid.IntRange(0, other.Cables()-1).Draw(t, "lost")
			if _, err := Recognize(other.Without(func(c int) bool { return c == lost })); err != nil {
				assert.ErrorContains(t, err, "irregular")
			}
		})
	}
}

func TestRecognizeTorus(t *testing.T) {
	for _, s := range []Shape{
		{Dims: []int{8, 8, 8}, Wrap: []bool{true, true, true}, Hosts: 1},
		{Dims: []int{4, 4, 4}, Wrap: []bool{true, true, true}, Hosts: 2},
		{Dims: []int{3, 5}, Wrap: []bool{true, true}, Hosts: 1},
		{Dims: []int{8, 5, 6}, Wrap: []bool{false, false, false}, Hosts: 1},
		{Dims: []int{6, 5, 2}, Wrap: []bool{true, false, false}, Hosts: 3},
		{Dims: []int{7}, Wrap: []bool{true}, Hosts: 1},
		{Dims: []int{5}, Wrap: []bool{false}, Hosts: 1},
		{Dims: []int{16, 16, 24}, Wrap: []bool{true, true, true}, Hosts: 2},
		{Dims: []int{4, 4, 4, 4, 2}, Wrap: []bool{true, true, true, true, true}, Hosts: 1},
		{Dims: []int{100, 100}, Wrap: []bool{true, false}, Hosts: 1},
	} {
		g, err := NewTorusGraph(s, 0)
		require.NoError(t, err)
		f, err := Recognize(g)
		require.NoError(t, err, g.Family())
		require.Equal(t, g.Family().String(), f.String())
		for n := range g.AllSwitches() {
			require.Equal(t, g.Family().(*Torus).Index(n), f.(*Torus).Index(n), f)
		}
	}
}

func TestRecognizeShuffledTorus(t *testing.T) {
	for _, s := range []Shape{
		{Dims: []int{3, 4, 5}, Wrap: []bool{true, true, true}, Hosts: 1},
		{Dims: []int{3, 4, 2}, Wrap: []bool{false, false, false}, Hosts: 2},
		{Dims: []int{5, 5}, Wrap: []bool{true, true}, Hosts: 1},
	} {
		g, err := NewTorusGraph(s, 0)
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			other, _ := shuffled(t, g)
			f, err := Recognize(other)
			require.NoError(t, err)
			require.ElementsMatch(t, s.Dims, f.(*Torus).Dims)
			require.Equal(t, g.Family().Kind(), f.Kind())
		})
	}
}

func TestRecognizeDragonfly(t *testing.T) {
	for _, d := range []Layout{
		{P: 4, A: 8, H: 2, G: 16, Chassis: 1},
		{P: 2, A: 4, H: 2, G: 9, Chassis: 1},
		{P: 1, A: 6, H: 1, G: 1, Chassis: 1},
		{P: 2, A: 8, H: 4, G: 3, Chassis: 1},
		{P: 4, A: 16, H: 8, G: 64, Chassis: 1},
	} {
		g, err := NewDragonflyGraph(d, Rates{})
		require.NoError(t, err)
		f, err := Recognize(g)
		require.NoError(t, err, g.Family())
		if d.G == 1 { // nothing tells the number of ports for other groups
			continue
		}
		require.Equal(t, g.Family().String(), f.String())
	}
	g, err := NewDragonflyGraph(Layout{P: 2, A: 4, H: 2, G: 9, Chassis: 1}, Rates{})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		other, _ := shuffled(t, g)
		f, err := Recognize(other)
		require.NoError(t, err)
		require.Contains(t, f.String(), "dragonfly:p=2,a=4,h=2,g=9")
	})
}

// Two of a hundred cables between switches, a switch and a tenth of the hosts are
// missing: the family is still recognised.
func TestRecognizeDegraded(t *testing.T) {
	tree := func(m, w, p []int) *Graph {
		g, err := NewPGFT(Tuple{m, w, p}, 0)
		require.NoError(t, err)
		return g
	}
	torus, err := NewTorusGraph(Shape{Dims: []int{8, 8, 8}, Wrap: []bool{true, true, true}, Hosts: 2}, 0)
	require.NoError(t, err)
	fly, err := NewDragonflyGraph(Layout{P: 4, A: 8, H: 2, G: 16, Chassis: 1}, Rates{})
	require.NoError(t, err)
	for i, g := range []*Graph{
		tree([]int{18, 18}, []int{1, 9}, []int{1, 2}), tree([]int{20, 36}, []int{1, 16}, []int{1, 1}),
		tree([]int{18, 18, 6}, []int{1, 18, 6}, []int{1, 1, 3}), torus, fly,
	} {
		for seed := range 5 {
			r := splitMix(seed)
			dead := g.Switch(r.next(9))
			if i < 2 { // without a switch, a tree of two levels is a smaller whole tree
				dead = NoNode
			}
			less := g.Without(func(c int) bool {
				a, b := g.Cable(c).A.Node, g.Cable(c).B.Node
				if g.IsHost(a) {
					return r.next(10) == 0 || b == dead
				}
				return r.next(50) == 0 || a == dead || b == dead
			})
			f, err := Recognize(less)
			if assert.NoError(t, err, "%v, seed %d", g.Family(), seed) {
				assert.Contains(t, f.String(), g.Family().String())
			}
		}
	}
}

func TestRecognizeCray(t *testing.T) {
	for _, d := range []Layout{
		{P: 4, A: 96, H: 1, G: 4, Chassis: 6}, {P: 2, A: 24, H: 1, G: 2, Chassis: 3},
	} { // one group alone is as well a dragonfly whose groups are the rows
		g, err := NewDragonflyGraph(d, Rates{})
		require.NoError(t, err)
		f, err := Recognize(g)
		require.NoError(t, err)
		require.Equal(t, g.Family().String(), f.String())
		for n := range g.AllSwitches() {
			require.Equal(t, g.Family().(*Dragonfly).Index(n), f.(*Dragonfly).Index(n))
		}
		less := g.Without(func(c int) bool { return c%50 == 49 && !g.IsHost(g.Cable(c).A.Node) })
		_, err = Recognize(less)
		require.NoError(t, err)
	}
	g, err := NewDragonflyGraph(Layout{P: 2, A: 24, H: 1, G: 3, Chassis: 3}, Rates{})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		other, _ := shuffled(t, g)
		f, err := Recognize(other)
		require.NoError(t, err)
		require.Contains(t, f.String(), "cray:3,8,2,1,1,groups=3")
	})
}

// Leaf switches whose hosts are all away are still leaf switches.
func TestRecognizeLeavesWithoutHosts(t *testing.T) {
	for _, tuple := range []Tuple{
		{[]int{8, 16}, []int{1, 4}, []int{1, 2}},
		{[]int{6, 6, 12}, []int{1, 6, 6}, []int{1, 1, 1}},
	} {
		g, err := NewPGFT(tuple, 0)
		require.NoError(t, err)
		away := map[Node]bool{g.Switch(0): true, g.Switch(5): true}
		less := g.Without(func(c int) bool { return away[g.Cable(c).B.Node] && g.IsHost(g.Cable(c).A.Node) })
		f, err := Recognize(less)
		require.NoError(t, err)
		assert.Equal(t, g.Family().String(), f.String())
		assert.Equal(t, 1, f.(*FatTree).Level(g.Switch(5)))
	}
}

// Whatever a graph is, it has a family or a reason.
func TestRecognizeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts, switches := rapid.IntRange(0, 8).Draw(t, "hosts"), rapid.IntRange(1, 8).Draw(t, "switches")
		b, err := NewBuilder(hosts, switches)
		require.NoError(t, err)
		ports := make([]int32, hosts+switches)
		plug := func(n Node) End {
			ports[n]++
			return End{n, ports[n]}
		}
		for i := range hosts {
			if rapid.IntRange(0, 9).Draw(t, "alone") > 0 {
				b.Cable(Cable{A: plug(Node(i)), B: plug(b.Switch(rapid.IntRange(0, switches-1).Draw(t, "leaf")))})
			}
		}
		for range rapid.IntRange(0, 20).Draw(t, "cables") {
			end := rapid.IntRange(hosts, hosts+switches-1)
			if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
				end = rapid.IntRange(0, hosts+switches-1)
			}
			b.Cable(Cable{A: plug(Node(end.Draw(t, "a"))), B: plug(Node(end.Draw(t, "b")))})
		}
		g, err := b.Build()
		require.NoError(t, err)
		f, err := Recognize(g)
		require.Equal(t, f == nil, err != nil)
		if f != nil {
			again, err := f.On(g)
			require.NoError(t, err)
			require.Equal(t, f.String(), again.String())
		}
	})
}

// Much may be missing of a tree: it has a family or a reason.
func TestRecognizeRuins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := NewPGFT(tuples().Draw(t, "tuple"), 0)
		require.NoError(t, err)
		share := rapid.IntRange(2, 10).Draw(t, "share")
		r := splitMix(rapid.Uint64().Draw(t, "seed"))
		less := g.Without(func(int) bool { return r.next(share) == 0 })
		f, err := Recognize(less)
		require.Equal(t, f == nil, err != nil)
	})
}

func TestIrregular(t *testing.T) {
	b, err := NewBuilder(3, 3)
	require.NoError(t, err)
	for i := range 3 {
		b.Cable(Cable{A: End{Node(i), 1}, B: End{b.Switch(i), 1}})
	}
	b.Cable(Cable{A: End{b.Switch(0), 2}, B: End{b.Switch(1), 2}})
	g, err := b.Build()
	require.NoError(t, err)
	_, err = Recognize(g)
	assert.EqualError(t, err, "irregular: no fat tree (s0 and s1 are both at level 1 and joined), "+
		"no torus or mesh (s2 has cables and no place), no dragonfly (no three switches are joined to each other)")
	empty, err := NewBuilder(0, 0)
	require.NoError(t, err)
	g, err = empty.Build()
	require.NoError(t, err)
	_, err = Recognize(g)
	assert.ErrorContains(t, err, "no host has a cable to a switch")
}

func BenchmarkRecognizeLargeTree(b *testing.B) {
	g, err := NewPGFT(XGFT([]int{32, 32, 64}, []int{1, 32, 32}), 200e9)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := Recognize(g); err != nil {
			b.Fatal(err)
		}
	}
}
