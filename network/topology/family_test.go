package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// tuples draws small trees.
func tuples() *rapid.Generator[Tuple] {
	return rapid.Custom(func(t *rapid.T) Tuple {
		h := rapid.IntRange(1, 4).Draw(t, "h")
		list := func(name string, hi int) []int {
			return rapid.SliceOfN(rapid.IntRange(1, hi), h, h).Draw(t, name)
		}
		return Tuple{M: list("m", 4), W: list("w", 3), P: list("p", 2)}
	})
}

// The definition in [Zahavi 3], by digits.
func TestPGFTIsWhatItsDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tuple := tuples().Draw(t, "tuple")
		g, err := NewPGFT(tuple, 100e9)
		require.NoError(t, err)
		f := g.Family().(*FatTree)
		h := tuple.Levels()
		require.Equal(t, tuple.Hosts(), g.Hosts())
		seen := 0
		for n := range Node(g.Nodes()) {
			l := f.Level(n)
			require.Equal(t, n, f.Node(l, f.Index(n)))
			downs := 0
			if l > 0 {
				downs = tuple.Down(l)
			}
			require.Len(t, g.Ports(n), downs+tuple.Up(l))
			for q := range tuple.Up(l) {
				out := f.UpLink(n, q)
				up := g.To(out).Node
				require.Equal(t, l+1, f.Level(up))
				for i := 1; i <= h; i++ {
					if i != l+1 {
						require.Equal(t, f.digit(n, i), f.digit(up, i), "digit %d", i)
					}
				}
				require.Equal(t, q%tuple.W[l], f.digit(up, l+1))
				r := f.digit(n, l+1) + q/tuple.W[l]*tuple.M[l]
				require.Equal(t, out.Reverse(), f.DownLink(up, r))
				require.Equal(t, End{n, int32(downs + q + 1)}, g.From(out))
				require.Equal(t, End{up, int32(r + 1)}, g.To(out))
				seen++
			}
		}
		require.Equal(t, g.Cables(), seen)
	})
}

func TestTuples(t *testing.T) {
	for _, x := range []struct {
		t                       Tuple
		hosts, switches, cables int
		rlft                    bool
	}{
		{t: Tuple{[]int{12, 12}, []int{1, 6}, []int{1, 2}}, hosts: 144, switches: 18, cables: 288, rlft: true},
		{t: Tuple{[]int{18, 18}, []int{1, 9}, []int{1, 2}}, hosts: 324, switches: 27, cables: 648, rlft: true},
		{t: Tuple{[]int{12, 12, 12}, []int{1, 12, 6}, []int{1, 1, 2}}, hosts: 1728, switches: 144 + 144 + 72, cables: 3 * 1728, rlft: true},
		{t: Tuple{[]int{12, 12, 12}, []int{1, 12, 12}, []int{1, 1, 2}}, hosts: 1728, switches: 3 * 144, cables: 4 * 1728},
		{t: Tuple{[]int{18, 18, 6}, []int{1, 18, 6}, []int{1, 1, 3}}, hosts: 1944, switches: 108 + 108 + 108, cables: 3 * 1944},
		{t: XGFT([]int{18, 18, 36}, []int{1, 18, 18}), hosts: 11664, switches: 648 + 648 + 324, cables: 3 * 11664, rlft: true},
	} {
		g, err := NewPGFT(x.t, 0)
		require.NoError(t, err)
		assert.Equal(t, []int{x.hosts, x.switches, x.cables}, []int{g.Hosts(), g.Switches(), g.Cables()}, x.t)
		if x.rlft {
			assert.NoError(t, x.t.RLFT(), x.t)
		} else {
			assert.Error(t, x.t.RLFT(), x.t)
		}
	}
	for want, bad := range map[string]Tuple{
		"0 levels: expected 1..16":                          {},
		"2, 1 and 2 numbers: expected as many w and p as m": {[]int{1, 2}, []int{1}, []int{1, 1}},
		"w2=0: expected 1..1048576":                         {[]int{1, 2}, []int{1, 0}, []int{1, 1}},
		"more than 2097152 nodes at level 0: too large":     XGFT([]int{1 << 11, 1 << 11}, []int{1, 1}),
		"more than 2097152 nodes at level 2: too large":     XGFT([]int{1, 1}, []int{1 << 11, 1 << 11}),
		"more than 8388608 cables: too large":               XGFT([]int{1 << 11, 1 << 9}, []int{1, 1 << 18}),
		"more than 1048576 ports at level 1: too large":     {[]int{4}, []int{1}, []int{1 << 20}},
	} {
		assert.EqualError(t, bad.Check(), want)
		_, err := NewPGFT(bad, 0)
		assert.Error(t, err)
	}
}

func TestClos(t *testing.T) {
	for want, got := range map[string]func() (Tuple, error){
		"20,36/1,16/1,1":         func() (Tuple, error) { return Clos(36, 20, 0.8, 2) },
		"18,36/1,18/1,1":         func() (Tuple, error) { return Clos(36, 0, 1, 2) },
		"24,36/1,12/1,1":         func() (Tuple, error) { return Clos(36, 0, 0.5, 2) },
		"20,18,36/1,16,18/1,1,1": func() (Tuple, error) { return Clos(36, 20, 0.8, 3) },
	} {
		tuple, err := got()
		require.NoError(t, err)
		assert.Equal(t, want, tuple.String())
	}
	for want, got := range map[string]func() (Tuple, error){
		"switches of R=1: expected 2..1048576 ports of a switch":                                       func() (Tuple, error) { return Clos(1, 1, 1, 2) },
		"mu=0: expected more than 0 and at most 1":                                                     func() (Tuple, error) { return Clos(36, 20, 0, 2) },
		"bottom switches of T=36: expected 1..35 hosts of a switch, of R=36 ports":                     func() (Tuple, error) { return Clos(36, 36, 0.5, 2) },
		"bottom switches of T=24: leaves 12 ports upward, 0.5 for each host, expected at least mu=0.8": func() (Tuple, error) { return Clos(36, 24, 0.8, 2) },
		"switches of R=35: expected an even number: inner switches have half of their ports upward":    func() (Tuple, error) { return Clos(35, 10, 0.8, 3) },
		"levels=1: expected 2..16": func() (Tuple, error) { return Clos(36, 20, 0.8, 1) },
	} {
		_, err := got()
		assert.EqualError(t, err, want)
	}
}

func TestTorusIsWhatItsDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 4).Draw(t, "dimensions")
		s := Shape{
			Dims:  rapid.SliceOfN(rapid.IntRange(1, 5), d, d).Draw(t, "dims"),
			Wrap:  rapid.SliceOfN(rapid.Bool(), d, d).Draw(t, "wrap"),
			Hosts: rapid.IntRange(0, 2).Draw(t, "hosts"),
		}
		g, err := NewTorusGraph(s, 0)
		require.NoError(t, err)
		f := g.Family().(*Torus)
		cables := g.Hosts()
		for n := range g.AllSwitches() {
			for d := range s.Dims {
				for _, up := range []bool{true, false} {
					to, ok := f.Coordinate(n, d)+1, s.Dims[d] > 1
					if !up {
						to -= 2
					}
					if to < 0 || to == s.Dims[d] {
						to = (to + s.Dims[d]) % s.Dims[d]
						ok = s.Wrap[d] && s.Dims[d] > 2
					}
					links := f.Step(n, d, up)
					if !ok {
						require.Empty(t, links)
						continue
					}
					require.Len(t, links, 1)
					cables++
					peer := g.To(links[0]).Node
					for k := range s.Dims {
						want := f.Coordinate(n, k)
						if k == d {
							want = to
						}
						require.Equal(t, want, f.Coordinate(peer, k))
					}
				}
			}
		}
		require.Equal(t, g.Hosts()+(cables-g.Hosts())/2, g.Cables())
	})
}

func TestDragonfly(t *testing.T) {
	g, err := NewDragonflyGraph(Layout{P: 4, A: 8, H: 2, G: 16, Chassis: 1}, Rates{})
	require.NoError(t, err)
	f := g.Family().(*Dragonfly)
	assert.Equal(t, "dragonfly:p=4,a=8,h=2,g=16", f.String())
	assert.Equal(t, []int{512, 128, 512 + 16*28 + 120}, []int{g.Hosts(), g.Switches(), g.Cables()})
	for a := range 16 {
		for b := range 16 {
			if a == b {
				assert.Empty(t, f.Gates(a, b))
				continue
			}
			require.Len(t, f.Gates(a, b), 1)
			l := f.Gates(a, b)[0]
			assert.Equal(t, ((b-a-1+16)%16)/2, f.Router(g.From(l).Node), "the router that leads from %d to %d", a, b)
			assert.Equal(t, []int{a, b}, []int{f.Group(g.From(l).Node), f.Group(g.To(l).Node)})
		}
	}

	g, err = NewDragonflyGraph(Layout{P: 4, A: 96, H: 1, G: 4, Chassis: 6, Sockets: 2, Cores: 12}, CrayRates)
	require.NoError(t, err)
	f = g.Family().(*Dragonfly)
	assert.Equal(t, "cray:6,16,4,2,12,groups=4", f.String())
	assert.Equal(t, []int{1536, 384}, []int{g.Hosts(), g.Switches()})
	assert.Len(t, g.Ports(g.Switch(0)), 4+15+5+1)
	assert.Len(t, f.Gates(2, 3), 32)

	rapid.Check(t, func(t *rapid.T) {
		d := Layout{P: rapid.IntRange(0, 3).Draw(t, "p"), A: rapid.IntRange(1, 6).Draw(t, "a"), H: rapid.IntRange(1, 4).Draw(t, "h"), Chassis: 1}
		d.G = rapid.IntRange(1, d.A*d.H+1).Draw(t, "g")
		if d.A%2 == 0 && rapid.Bool().Draw(t, "rows") {
			d.Chassis = 2
		}
		g, err := NewDragonflyGraph(d, Rates{})
		require.NoError(t, err)
		f := g.Family().(*Dragonfly)
		require.NotContains(t, f.String(), "other")
		for a := range d.G {
			for b := range d.G {
				if a != b {
					require.Len(t, f.Gates(a, b), d.A*d.H/(d.G-1))
				}
			}
		}
	})
}

func TestFamiliesRefuse(t *testing.T) {
	yes := []bool{true, true}
	for want, err := range map[string]error{
		"0 dimensions: expected 1..16":                            Shape{}.Check(),
		"dimension 0: expected 1..2097152":                        Shape{Dims: []int{4, 0}, Wrap: yes, Hosts: 1}.Check(),
		"2 dimensions, of which 1 wrap or do not":                 Shape{Dims: []int{4, 4}, Wrap: yes[:1], Hosts: 1}.Check(),
		"more than 2097152 hosts and switches: too large":         Shape{Dims: []int{1 << 20, 4}, Wrap: yes, Hosts: 1}.Check(),
		"-1 hosts of a switch: expected 0..524288":                Shape{Dims: []int{4, 4}, Wrap: yes, Hosts: -1}.Check(),
		"h=1: a group has 8 ports to 15 other groups":             Layout{P: 4, A: 8, H: 1, G: 16, Chassis: 1}.Check(),
		"a=0: expected 1..262144":                                 Layout{P: 4, H: 1, G: 16, Chassis: 1}.Check(),
		"3 chassis for 8 routers of a group: expected equal rows": Layout{P: 4, A: 8, H: 2, G: 16, Chassis: 3}.Check(),
		"more than 2097152 hosts and routers: too large":          Layout{P: 1 << 10, A: 1 << 10, H: 2, G: 1 << 10, Chassis: 1}.Check(),
		"more than 8388608 cables: too large":                     Layout{P: 1, A: 1 << 15, H: 2, G: 4, Chassis: 1}.Check(),
	} {
		assert.EqualError(t, err, want)
	}

	g, err := NewTorusGraph(Shape{Dims: []int{4, 4}, Wrap: yes, Hosts: 1}, 0)
	require.NoError(t, err)
	places := func(edit func(index []int32)) []int32 {
		index := make([]int32, 16)
		for i := range index {
			index[i] = int32(i)
		}
		edit(index)
		return index
	}
	_, err = NewTorus(g, g.Family().(*Torus).Shape, places(func(x []int32) { x[1] = 0 }))
	assert.EqualError(t, err, "s0 and s1 are both number 0")
	_, err = NewTorus(g, g.Family().(*Torus).Shape, places(func(x []int32) { x[1] = 16 }))
	assert.EqualError(t, err, "s1: no place 16")
	_, err = NewTorus(g, g.Family().(*Torus).Shape, places(func(x []int32) { x[1] = -1 }))
	assert.EqualError(t, err, "s1 has cables and no place")
	_, err = NewTorus(g, g.Family().(*Torus).Shape, places(func(x []int32) { x[1], x[7] = 7, 1 }))
	assert.ErrorContains(t, err, "they are no neighbors")
	_, err = NewDragonfly(g, Layout{P: 1, A: 4, H: 1, G: 4, Chassis: 1}, places(func([]int32) {}))
	assert.EqualError(t, err, "s0: more than 1 cables to other groups")
	_, err = NewDragonfly(g, Layout{P: 1, A: 4, H: 2, G: 4, Chassis: 2}, places(func([]int32) {}))
	assert.EqualError(t, err, "cable between s0 and s3: they are in one group, but in no common row or column")
}

// Each family goes on with what is left of its cables.
func TestFamilyOfADegradedGraph(t *testing.T) {
	tree, err := NewPGFT(Tuple{[]int{4, 4}, []int{1, 2}, []int{1, 2}}, 0)
	require.NoError(t, err)
	torus, err := NewTorusGraph(Shape{Dims: []int{4, 3}, Wrap: []bool{true, true}, Hosts: 1}, 0)
	require.NoError(t, err)
	fly, err := NewDragonflyGraph(Layout{P: 1, A: 4, H: 2, G: 5, Chassis: 1}, Rates{})
	require.NoError(t, err)
	for _, g := range []*Graph{tree, torus, fly} {
		for dropped := range g.Cables() {
			less := g.Without(func(c int) bool { return c == dropped })
			require.Nil(t, less.Family())
			f, err := g.Family().On(less)
			require.NoError(t, err)
			require.Equal(t, g.Family().String(), f.String())
		}
	}
	// The second of two parallel cables stays the second.
	f := tree.Family().(*FatTree)
	leaf := f.Node(1, 0)
	less := tree.Without(func(c int) bool { return c == f.UpLink(leaf, 0).Cable() })
	on, err := f.On(less)
	require.NoError(t, err)
	assert.Equal(t, NoLink, on.(*FatTree).UpLink(leaf, 0))
	assert.Equal(t, int32(4+2+1), less.From(on.(*FatTree).UpLink(leaf, 2)).Port)
	_, err = f.On(torus)
	assert.Error(t, err)
}

func TestLargeTree(t *testing.T) {
	g, err := NewPGFT(XGFT([]int{32, 32, 64}, []int{1, 32, 32}), 200e9)
	require.NoError(t, err)
	assert.Equal(t, 65536, g.Hosts())
	assert.Equal(t, 3*65536, g.Cables())
}

func BenchmarkLargeTree(b *testing.B) {
	for b.Loop() {
		if _, err := NewPGFT(XGFT([]int{32, 32, 64}, []int{1, 32, 32}), 200e9); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
}

func Example() {
	g, _ := NewPGFT(XGFT([]int{4, 4}, []int{1, 4}), 0)
	f := g.Family().(*FatTree)
	out := f.UpLink(g.Leaf(0), 2)
	fmt.Println(g.Hosts(), g.Switches(), g.Name(g.To(out).Node), f)
	// Output: 16 8 s6 fattree:4,4/1,4/1,1
}

// digit is digit a_i of a node, i from 1.
func (f *FatTree) digit(n Node, i int) int {
	l, x := int(f.level[n]), int(f.index[n])
	for k := range i - 1 {
		x /= f.radix(l, k)
	}
	return x % f.radix(l, i-1)
}
