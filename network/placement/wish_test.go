package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/placement/rankfile"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// inputOf is some hosts, the first of the network of a word ("" for none), with as many
// slots as are given for each; ranks of one app.
func inputOf(t require.TestingT, word string, ranks int, slots ...int) *Input {
	in := &Input{Apps: []int{ranks}}
	for i, n := range slots {
		in.Hosts = append(in.Hosts, host(fmt.Sprintf("h%d", i), n, 0, job.HostIndex(i)))
	}
	if word == "" {
		return in
	}
	g, err := spec.Parse(word)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	in.Network = &Network{Router: r, From: word}
	for i := range slots {
		in.Network.Nodes = append(in.Network.Nodes, topology.Node(i))
	}
	return in
}

// graphOf returns the graph of a word.
func graphOf(t require.TestingT, word string) *Graph {
	g, err := commgraph.Parse(word)
	require.NoError(t, err)
	return &Graph{g, word}
}

// placed returns the host of each rank.
func placed(t require.TestingT, w Wish, in *Input) ([]int, *Placed) {
	require.NoError(t, w.Check(in.Network != nil))
	var hosts []job.Host
	for _, h := range in.Hosts {
		hosts = append(hosts, h.Host)
	}
	found, err := w.At(hosts)
	require.NoError(t, err)
	p, err := found.Place(in)
	require.NoError(t, err)
	blocks, err := found.Chosen(in)
	require.NoError(t, err)
	quick, all := in.expand(blocks), in.expand(p.Blocks)
	require.Equal(t, slices.Sorted(slices.Values(quick)), slices.Sorted(slices.Values(all)), "Chosen has the same hosts")
	return all, p
}

func TestRules(t *testing.T) {
	file, err := rankfile.Parse(strings.NewReader("0 h2\n1-2 +n0\n3 h1\n"), "ranks")
	require.NoError(t, err)
	const tree = "fattree:2,2/1,1/1,1" // leaf switches of h0 and h1, of h2 and h3
	for _, c := range []struct {
		name string
		wish Wish
		in   *Input
		want []int
	}{
		{name: "slot", wish: Wish{}, in: inputOf(t, "", 5, 2, 2, 2), want: []int{0, 0, 1, 1, 2}},
		{name: "slot by node", wish: Wish{Order: "node"}, in: inputOf(t, "", 5, 2, 2, 2), want: []int{0, 1, 2, 0, 1}},
		{name: "node", wish: Wish{Rule: Node}, in: inputOf(t, "", 6, 1, 3, 2), want: []int{0, 1, 2, 1, 2, 1}},
		{name: "node without slots", wish: Wish{Rule: Node}, in: inputOf(t, "", 5, 0, 0, 0), want: []int{0, 1, 2, 0, 1}},
		{name: "node by slot", wish: Wish{Rule: Node, Order: "slot"}, in: inputOf(t, "", 4, 3, 3, 3), want: []int{0, 0, 1, 2}},
		{name: "switch", wish: Wish{Rule: Switch}, in: inputOf(t, tree, 6, 2, 2, 2, 2), want: []int{0, 2, 0, 2, 1, 3}},
		{name: "switch of three hosts", wish: Wish{Rule: Switch}, in: inputOf(t, tree, 6, 0, 0, 0), want: []int{0, 2, 0, 2, 1, 1}},
		{name: "file", wish: Wish{Rule: File, RankFile: file}, in: inputOf(t, "", 4, 0, 0, 0), want: []int{2, 0, 0, 1}},
		{name: "seq", wish: Wish{Rule: Seq, Sequence: []string{"h1", "h0", "h1"}}, in: inputOf(t, "", 3, 2, 2), want: []int{1, 0, 1}},
		{name: "seq, fewer", wish: Wish{Rule: Seq, Sequence: []string{"h1", "h0", "h1"}}, in: inputOf(t, "", 2, 2, 2), want: []int{1, 0}},
		{name: "seq of hosts", wish: Wish{Rule: Seq}, in: inputOf(t, "", 2, 2, 2), want: []int{0, 1}},
		{name: "morton", wish: Wish{Order: mapping.Morton}, in: inputOf(t, "mesh:2x4", 8, 0, 0, 0, 0, 0, 0, 0, 0), want: []int{0, 2, 1, 3, 4, 6, 5, 7}},
		{name: "hilbert", wish: Wish{Order: mapping.Hilbert}, in: inputOf(t, "mesh:2x2", 4, 0, 0, 0, 0), want: []int{0, 2, 3, 1}},
	} {
		got, p := placed(t, c.wish, c.in)
		require.Equal(t, c.want, got, c.name)
		require.Empty(t, p.Notes, c.name)
		require.Nil(t, p.Mapped, c.name)
	}
}

// A host without as many slots as --ppn says takes no ranks in turn while others have
// room.
func TestRanksPerHostBeyondSlots(t *testing.T) {
	in := inputOf(t, "fattree:2,2/1,1/1,1", 4, 4, 4, 1)
	in.PPN = 2
	got, _ := placed(t, Wish{Rule: Switch}, in)
	require.Equal(t, []int{0, 0, 1, 1}, got)
	in.Apps[0] = 5
	got, _ = placed(t, Wish{Rule: Switch}, in)
	require.Equal(t, []int{0, 2, 0, 1, 1}, got)
	in.Apps[0] = 6
	_, err := (&Wish{Rule: Switch}).Place(in)
	require.ErrorContains(t, err, "not enough slots on host h2: 2 ranks by --ppn, 1 slot")
	in.Oversubscribe = true
	got, _ = placed(t, Wish{Rule: Switch}, in)
	require.Equal(t, []int{0, 2, 0, 2, 1, 1}, got)
}

// dealtInTurn returns the naive oracle of rule node: rounds over the hosts that have
// room.
func dealtInTurn(room []int, n int) (hosts []int) {
	room = slices.Clone(room)
	for len(hosts) < n {
		for h := range room {
			if room[h] > 0 && len(hosts) < n {
				room[h]--
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}

// Dealt ranks are on the hosts on which rounds put them, in blocks by rank by slot, and
// the number on each host is the same for every order.
func TestNodeAgainstRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 7).Draw(t, "slots")
		n := rapid.IntRange(1, total(slots)).Draw(t, "ranks")
		in := inputOf(t, "", n, slots...)
		want := dealtInTurn(slots, n)
		got, _ := placed(t, Wish{Rule: Node}, in)
		require.Equal(t, want, got)
		got, _ = placed(t, Wish{Rule: Node, Order: "slot"}, in)
		slices.Sort(want)
		require.Equal(t, want, got)
		got, _ = placed(t, Wish{Rule: Node, Order: "node"}, in)
		in.Oversubscribe = true
		in.Apps[0] += total(slots)
		all, _ := placed(t, Wish{Rule: Node}, in)
		require.Len(t, all, n+total(slots))
		slices.Sort(got)
		require.Equal(t, want, got)
	})
}

// A map by a graph costs no more than the default order, by the metric that was asked
// for, and what is printed of it is so.
func TestMapsAreNeverWorse(t *testing.T) {
	for _, metric := range mapping.Metrics() {
		for _, x := range [][2]string{{"torus:4x4", "cart:4x4x4"}, {"fattree:4,4/1,2/1,1", "cart:8x8:periodic"}, {"dragonfly:p=2,a=4,h=2,g=3", "cart:2x4x8"}} {
			in := inputOf(t, x[0], 64, slices.Repeat([]int{4}, 16)...)
			w := Wish{Rule: Comm, Graph: graphOf(t, x[1]), Metric: metric}
			hosts, p := placed(t, w, in)
			require.Empty(t, p.Notes)
			byDefault, _ := placed(t, Wish{}, in)
			for _, f := range p.Mapped.Figures {
				if f.Name == string(metric) {
					require.LessOrEqual(t, f.Map, f.Default, x)
				}
				if f.Name == "within host" {
					require.Equal(t, within(w.Graph, byDefault), f.Default)
					require.Equal(t, within(w.Graph, hosts), f.Map)
				}
			}
			require.True(t, slices.ContainsFunc(p.Mapped.Figures, func(f Figure) bool { return f.Name == "within host" }))
		}
	}
}

// within returns the weight between ranks of one host.
func within(g *Graph, hosts []int) (sum float64) {
	for r := range g.Ranks() {
		peers, weights := g.Peers(int32(r))
		for i, p := range peers {
			if int(p) > r && hosts[p] == hosts[r] {
				sum += float64(weights[i])
			}
		}
	}
	return sum
}

// Notes name the obstacles to a map, with the choice made instead.
func TestMapsInstead(t *testing.T) {
	slots := []int{4, 4, 4, 4}
	order := []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}
	known := inputOf(t, "fattree:2,2/1,1/1,1", 16, slots...)
	got, p := placed(t, Wish{Rule: Comm, Graph: graphOf(t, "cart:4x2")}, known)
	require.Equal(t, order, got)
	require.Equal(t, []string{"communication graph cart:4x2 has 8 ranks, the job 16: all ranks count as alike, and follow the order of hosts"}, p.Notes)
	got, p = placed(t, Wish{Rule: Topology}, known)
	require.Equal(t, order, got)
	require.Equal(t, []string{"it is not known what ranks send each other: all count as alike, and follow the order of hosts; --map-by comm:GRAPH names a communication graph"}, p.Notes)

	got, p = placed(t, Wish{Rule: Comm, Graph: graphOf(t, "uniform:16")}, known)
	require.Equal(t, order, got)
	require.Equal(t, []string{"communication graph uniform:16: all ranks send each other the same, so that no order is better than that of hosts, which they follow"}, p.Notes)
	require.Nil(t, p.Mapped, "no map, no figures of it")

	by := Wish{Rule: Comm, Graph: graphOf(t, "cart:4x4")}
	got, p = placed(t, by, inputOf(t, "", 16, slots...))
	require.Equal(t, []string{"no network is known (--topology names it): all hosts count as equally far from each other"}, p.Notes)
	require.Equal(t, 16., within(by.Graph, got), "squares of four")

	known.Network.Nodes[2] = topology.NoNode
	got, p = placed(t, by, known)
	require.Equal(t, []string{"network fattree:2,2/1,1/1,1 lacks h2: all hosts count as equally far from each other"}, p.Notes)
	require.Equal(t, 16., within(by.Graph, got))

	apart := inputOf(t, "", 16, slots...)
	b, err := topology.NewBuilder(4, 2)
	require.NoError(t, err)
	for i := range 4 {
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(i), Port: 1}, B: topology.End{Node: b.Switch(i / 2), Port: int32(i + 1)}})
	}
	g, err := b.Build()
	require.NoError(t, err)
	r, err := routing.NewUpDown(g, topology.Serial)
	require.NoError(t, err)
	apart.Network = &Network{Router: r, Nodes: []topology.Node{0, 1, 2, 3}, From: "halves"}
	_, p = placed(t, by, apart)
	require.Len(t, p.Notes, 1)
	require.Regexp(t, `^network halves: h\d to h\d: h\d has no way on: all hosts count as equally far from each other$`, p.Notes[0])

	one, p := placed(t, by, inputOf(t, "", 16, 16))
	require.Empty(t, p.Notes, "one host is as good as any")
	require.Equal(t, slices.Repeat([]int{0}, 16), one)
}

// Wishes that contradict themselves are refused by the flag.
func TestChecks(t *testing.T) {
	graph, file := graphOf(t, "cart:4x2"), &rankfile.File{}
	for _, c := range []struct {
		wish    Wish
		network bool
		want    string
	}{
		{Wish{Rule: "odd"}, true, `--map-by: "odd" is no rule`},
		{Wish{Order: "odd"}, true, `--rank-by: "odd" is no order; slot, node, morton, hilbert and plane:N are`},
		{Wish{Rule: Comm, Graph: graph, Metric: "odd"}, true, `--metric: "odd" is none; hop-bytes, max-load are`},
		{Wish{Rule: Switch}, false, "--map-by switch: it is not known which host is below which switch; name the network with --topology"},
		{Wish{Rule: Topology}, false, "--map-by topology: it is not known which host is below which switch; name the network with --topology"},
		{Wish{Order: "hilbert"}, false, "--rank-by hilbert: it is not known which host is below which switch; name the network with --topology"},
		{Wish{AvoidConflicts: true}, false, "--avoid-path-conflict: it is not known which hosts share links; name the network with --topology"},
		{Wish{Rule: File, RankFile: file, Order: "node"}, true, "--rank-by: --map-by file says already where each rank is; leave one out"},
		{Wish{Rule: Seq, Order: "node"}, true, "--rank-by: --map-by seq says already where each rank is; leave one out"},
		{Wish{Rule: Comm, Graph: graph, Order: "node"}, true, "--rank-by: ranks are numbered by cart:4x2; leave one out"},
		{Wish{Rule: Node, Graph: graph}, true, "--map-by node: it does not go by cart:4x2; leave one out"},
		{Wish{Rule: Comm}, true, "--map-by comm: there is no communication graph"},
		{Wish{Metric: mapping.ByMaxLoad}, true, "--metric: maps are chosen by it where a communication graph is given, with --map-by comm:GRAPH"},
		{Wish{Rule: File}, true, "--map-by file: there is no rank file"},
	} {
		require.EqualError(t, c.wish.Check(c.network), c.want)
	}
	// A network that was named may turn out not to suit.
	_, err := (&Wish{Order: mapping.Morton}).Place(inputOf(t, "", 2, 1, 1))
	require.EqualError(t, err, "--rank-by morton: it is not known which host is below which switch; name the network with --topology")
	_, err = (&Wish{Rule: Switch}).Place(inputOf(t, "", 2, 1, 1))
	require.EqualError(t, err, "--map-by switch: it is not known which host is below which switch; name the network with --topology")
	_, err = (&Wish{Order: mapping.Morton}).Place(inputOf(t, "fattree:2,2/1,1/1,1", 4, 1, 1, 1, 1))
	require.EqualError(t, err, "--rank-by morton: hosts of fattree:2,2/1,1/1,1 have no coordinates: expected a torus or a mesh")
}
