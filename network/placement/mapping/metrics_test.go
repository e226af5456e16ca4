package mapping

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// boxed puts box after box of a grid on the hosts, in the order of their
// coordinates.
func boxed(dims []int, box ...int) Map {
	return pair(inBoxes(gridPlaces(dims), [][]int{box}), Identity(product(dims)))
}

func product(list []int) int {
	n := 1
	for _, x := range list {
		n *= x
	}
	return n
}

// The shares of 2 x 4 x 4 ranks on four hosts of eight, of which the first and the
// last are on one leaf switch [Subramoni, table 5.1]. It counts each direction.
func TestTable51(t *testing.T) {
	g := grid(t, "cart:2x4x4")
	r := router(t, "xgft:2,3/1,1")
	four := target(t, r, times(8, 0, 2, 4, 1), Hops)
	blocks := boxed([]int{2, 4, 4}, 2, 2, 2)
	aware := make(Map, 32)
	for rank, place := range blocks { // hosts 1 and 3 change places
		aware[rank] = [4]int32{0, 3, 2, 1}[place/8]*8 + place%8
	}
	for _, x := range []struct {
		name string
		m    Map
		want [3]int // within a host, 1 hop, 3 hops
	}{
		{"default", Identity(32), [3]int{80, 0, 48}},
		{"blocks", blocks, [3]int{96, 0, 32}},
		{"blocks, network aware", aware, [3]int{96, 8, 24}},
	} {
		var got [3]int
		for _, v := range Histogram(g, four, x.m) {
			got[slices.Index([]string{"0 hops", "1 hop", "3 hops"}, v.Name)] = 2 * v.Edges
		}
		require.Equal(t, x.want, got, x.name)
	}
	o, err := Choose(g, four, Options{Seed: 1, Steps: 1_000_000})
	require.NoError(t, err)
	levels := Levels(g, four, o.Map)
	require.Equal(t, []string{"network", "switch", "host"}, []string{levels[0].Name, levels[1].Name, levels[2].Name})
	require.GreaterOrEqual(t, 2*levels[2].Edges, 96)
	require.LessOrEqual(t, 2*levels[0].Edges, 24)
}

// Weight within hosts, each pair once: rows of ranks and boxes of them [Subramoni
// 8.3.2].
func TestWithinHosts(t *testing.T) {
	for _, x := range []struct {
		graph       string
		dims        []int
		perHost     int
		rows, boxes int
		edges       int
		row, box    []int
		mapped      int
	}{
		{graph: "cart:8x8x8", dims: []int{8, 8, 8}, perHost: 8, rows: 448, boxes: 768, edges: 1344, row: []int{1, 1, 8}, box: []int{2, 2, 2}, mapped: 768},
		{graph: "cart:8x8x16", dims: []int{8, 8, 16}, perHost: 16, rows: 960, boxes: 1792, edges: 2752, row: []int{1, 1, 16}, box: []int{2, 2, 4}, mapped: 1792},
	} {
		g := grid(t, x.graph)
		r := router(t, "xgft:8,8/1,1")
		hosts := target(t, r, times(x.perHost, slices.Collect(r.Graph().AllHosts())...), Hops)
		within := func(m Map) int {
			levels := Levels(g, hosts, m)
			require.Equal(t, "host", levels[len(levels)-1].Name)
			return levels[len(levels)-1].Edges
		}
		require.Equal(t, x.edges, g.Edges())
		require.Equal(t, x.rows, within(Identity(g.Ranks())))
		require.Equal(t, x.rows, within(boxed(x.dims, x.row...)))
		require.Equal(t, x.boxes, within(boxed(x.dims, x.box...)))
		o, err := Choose(g, hosts, Options{Seed: 1})
		require.NoError(t, err)
		require.Equal(t, x.mapped, within(o.Map))
	}
}

// Faces, edges and corners are one, two and three steps away.
func TestHistogram(t *testing.T) {
	for _, x := range []struct {
		graph, network string
		want           []Volume
	}{
		{"cart:8x8x8:periodic:27:64/8/1", torus512, []Volume{
			{"1 link between switches", 1536, 64 * 1536}, {"2 links between switches", 3072, 8 * 3072}, {"3 links between switches", 2048, 2048}}},
		{"cart:4x4x4x4:periodic:8", "torus:4x4x4x4", []Volume{{"1 link between switches", 1024, 1024}}},
		{"cart:4x4x4x4:periodic:80", "torus:4x4x4x4", []Volume{
			{"1 link between switches", 1024, 1024}, {"2 links between switches", 3072, 3072},
			{"3 links between switches", 4096, 4096}, {"4 links between switches", 2048, 2048}}},
		{"cart:8x8x8", tree512, []Volume{{"2 links", 448, 448}, {"4 links", 448, 448}, {"6 links", 448, 448}}},
	} {
		g := grid(t, x.graph)
		require.Equal(t, x.want, Histogram(g, on(t, x.network), Identity(g.Ranks())), x.graph)
	}
}

// Distances are those of the routes, of the two directions the longer one.
func TestDistancesAreThoseOfRoutes(t *testing.T) {
	for _, network := range []string{"torus:3x4x5", "mesh:4x4,hosts=2", "torus:6x3m", "xgft:2,3,2/1,2,1",
		"dragonfly:p=2,a=4,h=1,g=5", "cray:2,2,2,1,1,groups=3"} {
		r := router(t, network)
		route := func(from, to topology.Node) int {
			steps, err := r.Append(nil, from, to)
			require.NoError(t, err)
			return len(steps)
		}
		rapid.Check(t, func(t *rapid.T) {
			hosts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) topology.Node {
				return topology.Node(rapid.IntRange(0, r.Graph().Hosts()-1).Draw(t, "host"))
			}), 2, 12).Draw(t, "hosts")
			unit := rapid.SampledFrom([]Unit{Links, Hops, Inner}).Draw(t, "unit")
			places, err := OnNetwork(r, hosts, unit)
			require.NoError(t, err)
			for a := range hosts {
				for b := range hosts {
					links := max(route(hosts[a], hosts[b]), route(hosts[b], hosts[a]))
					require.EqualValues(t, max(0, links-int(unit)), places.Distance(int32(a), int32(b)), "%d to %d of %s", hosts[a], hosts[b], network)
				}
			}
		})
	}
}

// The link of a leaf switch has half of each edge that goes over it.
func TestMaxLoad(t *testing.T) {
	r := router(t, "xgft:2,2/1,1")
	g := grid(t, "cart:2x2:open:4:6")
	hosts := target(t, r, []topology.Node{0, 1, 2, 3}, Links)
	for _, x := range []struct {
		m    Map
		want float64
	}{{Map{0, 1, 2, 3}, 6}, {Map{0, 2, 1, 3}, 6}, {Map{0, 2, 3, 1}, 12}} {
		load, err := MaxLoad(g, r, hosts, x.m)
		require.NoError(t, err)
		require.Equal(t, x.want, load, x.m)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, Map{1, 0}.Check(2))
	require.EqualError(t, Map{1}.Check(2), "a map of 1 ranks: expected 2")
	require.EqualError(t, Map{1, 1}.Check(2), "rank 1 is at place 1, which is none, or taken")
	require.EqualError(t, Map{0, 2}.Check(2), "rank 1 is at place 2, which is none, or taken")
}

func TestOnNetworkRefuses(t *testing.T) {
	r := router(t, "xgft:2,2/1,1")
	_, err := OnNetwork(r, nil, Links)
	require.EqualError(t, err, "0 places for ranks: expected 1..131072")
	_, err = OnNetwork(r, []topology.Node{0}, 3)
	require.EqualError(t, err, "unit 3 of distances: expected 0..2")
	_, err = OnNetwork(r, []topology.Node{0, 4}, Links)
	require.EqualError(t, err, "place 1 is on node 4, which is no host of the network")
	cut := r.Graph().Without(func(cable int) bool {
		c := r.Graph().Cable(cable)
		return !r.Graph().IsHost(c.A.Node) && !r.Graph().IsHost(c.B.Node)
	})
	apart, err := routing.NewUpDown(cut, topology.Serial)
	require.NoError(t, err)
	_, err = OnNetwork(apart, []topology.Node{0, 1, 2}, Links)
	require.ErrorContains(t, err, "no way on")
}
