package routing

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

func router(t testing.TB, text string) ByDestination {
	t.Helper()
	r, err := New(graph(t, text), topology.Serial)
	require.NoError(t, err)
	return r
}

func TestNoCreditLoops(t *testing.T) {
	for text, rule := range map[string]string{
		tree144: "d-mod-k", tree324: "d-mod-k", "fattree:4,4,4/1,2,2/1,2,1": "d-mod-k",
		"torus:4x4x4": "dimension order", "torus:5x3m,hosts=2": "dimension order", "mesh:5x6": "dimension order", "torus:6": "dimension order",
		"dragonfly:p=2,a=4,h=2,g=9": "minimal", "dragonfly:p=1,a=4,h=2,g=5": "minimal", "cray:3,4,2,2,12,groups=3": "minimal", "cray:3,4,2,2,12,groups=4,h=3": "minimal",
	} {
		r := router(t, text)
		assert.Equal(t, rule, r.String())
		if c := CreditLoop(r, parallel); c != nil {
			assert.Fail(t, "credit loop", "%s by %v: %v", text, r, c)
		}
		u, err := NewUpDown(r.Graph(), parallel)
		require.NoError(t, err)
		if c := CreditLoop(u, parallel); c != nil {
			assert.Fail(t, "credit loop", "%s by %v: %v", text, u, c)
		}
		if rule == "minimal" {
			v, err := newValiant(r.Graph(), 1)
			require.NoError(t, err)
			if c := CreditLoop(v, parallel); c != nil {
				assert.Fail(t, "credit loop", "%s by %v: %v", text, v, c)
			}
		}
	}
}

// Each step of a loop leaves the switch that the step before goes to.
func checkCycle(t *testing.T, r Router, name string, c *Cycle) {
	t.Helper()
	require.NotNil(t, c, name)
	g := r.Graph()
	for i, s := range c.Steps {
		next := c.Steps[(i+1)%len(c.Steps)]
		assert.Equal(t, g.To(s.Link).Node, g.From(next.Link).Node)
		assert.False(t, g.IsHost(g.To(s.Link).Node))
		assert.Zero(t, s.Lane)
	}
	assert.Contains(t, c.String(), " -> ")
	assert.True(t, strings.HasSuffix(c.String(), " (lane 0)"), c.String())
}

// Without lanes a torus and a dragonfly can deadlock.
func TestCreditLoopsOnOneLane(t *testing.T) {
	for _, text := range []string{"torus:4x4", "torus:5x5x5", "dragonfly:p=2,a=4,h=2,g=9", "cray:3,4,1,2,12,groups=4"} {
		r := onLaneZero(router(t, text))
		checkCycle(t, r, text, CreditLoop(r, parallel))
	}
	v, err := newValiant(graph(t, "dragonfly:p=1,a=2,h=2,g=5"), 1)
	require.NoError(t, err)
	checkCycle(t, onLaneZero(v), "valiant", CreditLoop(onLaneZero(v), parallel))
	mesh := onLaneZero(router(t, "mesh:4x4"))
	assert.Nil(t, CreditLoop(mesh, topology.Serial))
}

func TestCycleIsPrinted(t *testing.T) {
	r := router(t, "torus:5")
	c := CreditLoop(onLaneZero(r), topology.Serial)
	require.NotNil(t, c)
	assert.Equal(t, "s0 -> s1 -> s2 -> s3 -> s4 -> s0 (lane 0)", c.String())
	c.Steps[2].Lane = 1
	assert.Equal(t, "s0 -> [lane 0] s1 -> [lane 0] s2 -> [lane 1] s3 -> [lane 0] s4 -> [lane 0] s0", c.String())
}

// Whatever is left of a network, up/down finds a way between all hosts that
// cables connect, without a circle and without a credit loop; and New finds a
// router for it.
func TestDegradedFabrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g *topology.Graph
		var err error
		switch rapid.SampledFrom([]string{"tree", "torus", "dragonfly"}).Draw(t, "kind") {
		case "tree":
			g, err = topology.NewPGFT(pgfts().Draw(t, "tree"), 0)
		case "torus":
			s := topology.Shape{Dims: rapid.SliceOfN(upTo(5), 1, 3).Draw(t, "sizes"), Hosts: rapid.IntRange(1, 2).Draw(t, "hosts")}
			s.Wrap = rapid.SliceOfN(rapid.Bool(), len(s.Dims), len(s.Dims)).Draw(t, "wrap")
			g, err = topology.NewTorusGraph(s, 0)
		case "dragonfly":
			a, h := upTo(4).Draw(t, "a"), upTo(3).Draw(t, "h")
			g, err = topology.NewDragonflyGraph(topology.Layout{P: 1, A: a, H: h, G: upTo(a*h+1).Draw(t, "g"), Chassis: 1}, topology.Rates{})
		}
		require.NoError(t, err)
		family := g.Family()
		g = degraded(t, g)
		if rapid.Bool().Draw(t, "family known") {
			of, err := family.On(g)
			require.NoError(t, err)
			g = g.WithFamily(of)
		}
		r, err := New(g, topology.Serial)
		require.NoError(t, err)
		u, err := NewUpDown(g, topology.Serial)
		require.NoError(t, err)
		parts := components(g)
		for _, r := range []Router{r, u} {
			for src := range g.AllHosts() {
				for dst := range g.AllHosts() {
					route, err := r.Append(nil, src, dst)
					linked := src == dst
					for _, a := range g.Ports(src) {
						for _, b := range g.Ports(dst) {
							linked = linked || parts[g.SwitchIndex(a.Peer)] == parts[g.SwitchIndex(b.Peer)]
						}
					}
					if !linked {
						require.Error(t, err)
						continue
					}
					require.NoError(t, err, "%v", r)
					checkRoute(t, g, route, src, dst)
				}
			}
			if c := CreditLoop(r, topology.Serial); c != nil {
				t.Fatalf("%v: credit loop %v", r, c)
			}
		}
	})
}

// Hosts of several leaf switches, of which cables connect some and not others: h0
// and h2 have just s2 and s8 in one part, whose only way goes down and up again.
func TestLeafSwitchesInSeveralParts(t *testing.T) {
	whole := graph(t, "fattree:1,3/3,2/1,1")
	kept := [][2]string{
		{"h0", "s0"}, {"h0", "s1"}, {"h0", "s2"}, {"h1", "s4"}, {"h1", "s5"}, {"h2", "s7"}, {"h2", "s8"},
		{"s0", "s9"}, {"s2", "s11"}, {"s3", "s12"}, {"s4", "s10"}, {"s4", "s13"}, {"s5", "s11"}, {"s5", "s14"}, {"s7", "s10"}, {"s8", "s14"},
	}
	cut := whole.Without(func(i int) bool {
		c := whole.Cable(i)
		return !slices.Contains(kept, [2]string{whole.Name(c.A.Node), whole.Name(c.B.Node)})
	})
	require.Equal(t, len(kept), cut.Cables())
	family, err := whole.Family().On(cut)
	require.NoError(t, err)
	g := cut.WithFamily(family)
	u, err := NewUpDown(g, topology.Serial)
	require.NoError(t, err)
	for _, x := range []struct {
		src, dst topology.Node
		want     string
	}{
		{0, 1, "h0 s2 s11 s5 h1"},
		{0, 2, "h0 s2 s11 s5 s14 s8 h2"},
		{1, 0, "h1 s5 s11 s2 h0"},
		{1, 2, "h1 s4 s10 s7 h2"},
		{2, 0, "h2 s8 s14 s5 s11 s2 h0"},
		{2, 1, "h2 s8 s14 s5 h1"},
	} {
		route, err := u.Append(nil, x.src, x.dst)
		require.NoError(t, err)
		names := []string{g.Name(x.src)}
		for _, s := range route {
			names = append(names, g.Name(g.To(s.Link).Node))
		}
		assert.Equal(t, x.want, strings.Join(names, " "))
	}
	assert.Nil(t, CreditLoop(u, topology.Serial))
}

// wrongAt forwards as a router does, but at some switches to some hosts by any port,
// or not at all.
type wrongAt struct {
	ByDestination
	wrong map[[2]topology.Node]int // at, to: number of the port, or behind the last
}

func (w wrongAt) Next(at, dst topology.Node) (Step, bool) {
	i, ok := w.wrong[[2]topology.Node{at, dst}]
	if !ok {
		return w.ByDestination.Next(at, dst)
	}
	ports := w.Graph().Ports(at)
	if i >= len(ports) {
		return Step{}, false
	}
	return Step{Link: ports[i].Out, Lane: uint8(i % w.Lanes())}, true
}

func (w wrongAt) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	return Walk(w, steps, src, dst)
}

// Going from destination to destination finds the waits that all pairs have, also
// where routes lead nowhere, in circles or to other hosts.
func TestWaitsByDestination(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"fattree:2,3/1,2/1,2", "fattree:2,3/2,2/1,1", "torus:4x3", "torus:5,hosts=2", "mesh:3x3", "dragonfly:p=1,a=2,h=1,g=3"}).Draw(t, "network")
		g, err := spec.Parse(text)
		require.NoError(t, err)
		r, err := New(degraded(t, g), topology.Serial)
		require.NoError(t, err)
		g = r.Graph()
		node := func(from, to int) *rapid.Generator[topology.Node] {
			return rapid.Map(rapid.IntRange(from, to-1), func(i int) topology.Node { return topology.Node(i) })
		}
		w := wrongAt{r, map[[2]topology.Node]int{}}
		for range rapid.IntRange(0, 12).Draw(t, "wrong entries") {
			at := node(g.Hosts(), g.Nodes()).Draw(t, "at")
			w.wrong[[2]topology.Node{at, node(0, g.Hosts()).Draw(t, "to")}] = rapid.IntRange(0, len(g.Ports(at))).Draw(t, "port")
		}
		naive, fast := newWaits(g, r.Lanes()), newWaits(g, r.Lanes())
		naive.addPairs(w, 0, 1)
		for i := range 3 {
			fast.addDestinations(w, i, 3)
		}
		assert.Equal(t, naive.bits, fast.bits)
	})
}

// checkRoute requires that a route leads from src to dst and to no node twice.
func checkRoute(t require.TestingT, g *topology.Graph, route []Step, src, dst topology.Node) {
	at, seen := src, map[topology.Node]bool{src: true}
	for _, s := range route {
		require.Equal(t, at, g.From(s.Link).Node)
		at = g.To(s.Link).Node
		require.False(t, seen[at], "%s twice", g.Name(at))
		seen[at] = true
	}
	require.Equal(t, dst, at)
}

// onLaneZero is a router that goes as r does, with all messages on lane 0. It shows
// what the lanes of r are for.
func onLaneZero(r Router) Router { return oneLane{r} }

type oneLane struct{ Router }

func (r oneLane) String() string { return r.Router.String() + " on one lane" }
func (oneLane) Lanes() int       { return 1 }

func (r oneLane) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	first := len(steps)
	steps, err := r.Router.Append(steps, src, dst)
	for i := range steps[first:] {
		steps[first+i].Lane = 0
	}
	return steps, err
}
