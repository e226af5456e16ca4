package arrange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
	"github.com/golaunch/golaunch/network/topology/match"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// network is that of a word.
func network(t require.TestingT, word string) *Network {
	g, err := spec.Parse(word)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	return &Network{Router: r, Loop: topology.Serial}
}

func hosts(names ...string) []job.Host {
	list := make([]job.Host, len(names))
	for i, name := range names {
		list[i] = job.Host{Name: name, Slots: i + 1}
	}
	return list
}

func slots(hosts []job.Host) (list []int) {
	for _, h := range hosts {
		list = append(list, h.Slots)
	}
	return list
}

func names(hosts []job.Host) string {
	var list []string
	for _, h := range hosts {
		list = append(list, h.Name)
	}
	return strings.Join(list, " ")
}

// All hosts of a tree come in the order of its places, with their slots.
func TestArrangeOrders(t *testing.T) {
	a, err := network(t, "fattree:2,2/1,2/1,1").Arrange(hosts("h3", "h1", "far", "h0", "h2"))
	require.NoError(t, err)
	require.Equal(t, "h0 h1 h2 h3 far", names(a.Hosts))
	require.Equal(t, []int{4, 2, 5, 1, 3}, slots(a.Hosts), "slots stay with their host")
	require.Equal(t, "fat tree: no contention", a.Rule)
	require.Equal(t, [][]int{{0, 0}, {0, 0}, {0, 2}, {0, 2}, {4, 4}}, a.Clusters)
}

// Three pods of two leaf switches with four hosts each, of which the job has some,
// and two hosts that the network lacks.
func TestArrange(t *testing.T) {
	a, err := network(t, "fattree:4,2,3/1,2,2/1,1,1").Arrange(hosts("h0", "far", "h1", "h4", "h8", "h9", "h23", "off"))
	require.NoError(t, err)
	require.Equal(t, "h0 h1 h4 h8 h9 h23 far off", names(a.Hosts))
	require.Equal(t, "2 of 8 hosts are not in the network and keep their order: far,off; --map FILE says which of its hosts (h0, h1, ...) they are", a.Lacking)
	require.Equal(t, 3, a.Depth)
	require.Equal(t, [][]int{
		{0, 0, 0}, {0, 0, 0}, {0, 0, 2}, // h0 and h1 on a leaf switch, h4 in their pod
		{0, 3, 3}, {0, 3, 3}, // h8 and h9 in the second pod
		{0, 5, 5}, // h23 in the third
		{6, 6, 6}, {7, 7, 7},
	}, a.Clusters)
}

// A map says whose hosts they are.
func TestArrangeByMap(t *testing.T) {
	n := network(t, "fattree:2,2/1,2/1,1")
	var err error
	n.Names, err = match.ParseMap(strings.NewReader("b h0\nc h1\na h3\nd h2\n"), "map")
	require.NoError(t, err)
	a, err := n.Arrange(hosts("a", "b", "c", "d"))
	require.NoError(t, err)
	require.Equal(t, "b c d a", names(a.Hosts))
	require.Equal(t, [][]int{{0, 0}, {0, 0}, {0, 2}, {0, 2}}, a.Clusters)
}

// A network that has none of the hosts tells nothing.
func TestArrangeNobody(t *testing.T) {
	a, err := network(t, "torus:2x2").Arrange(hosts("b", "a"))
	require.NoError(t, err)
	require.Equal(t, "b a", names(a.Hosts))
	require.Empty(t, a.Rule)
	require.Zero(t, a.Depth)
	require.Nil(t, a.Clusters)
}

// Depth counts the levels between the job's hosts, whatever the network has beside
// them, and the last is that of leaf switches.
func TestArrangeDepth(t *testing.T) {
	for _, test := range []struct {
		name     string
		hosts    []job.Host
		clusters [][]int
	}{
		{"one host", hosts("h5"), [][]int{{0}}},
		{"one leaf switch", hosts("h4", "h5"), [][]int{{0}, {0}}},
		{"alone on their leaf switches", hosts("h0", "h4"), [][]int{{0, 0}, {0, 1}}},
		{"a leaf switch, and a pod", hosts("h0", "h1", "h8", "h12"), [][]int{{0, 0, 0}, {0, 0, 0}, {0, 2, 2}, {0, 2, 3}}},
		{"no two in a pod", hosts("h0", "h8", "h9", "h16"), [][]int{{0, 0}, {0, 1}, {0, 1}, {0, 3}}},
	} {
		a, err := network(t, "fattree:4,2,3/1,2,2/1,1,1").Arrange(test.hosts)
		require.NoError(t, err, test.name)
		require.Equal(t, test.clusters, a.Clusters, test.name)
		require.Len(t, test.clusters[0], a.Depth, test.name)
	}
}

// Of a large network only the job's hosts count.
func TestArrangeLargeNetwork(t *testing.T) {
	n := network(t, "torus:200x200")
	asked := 0
	n.Loop = func(count int, do func(i int)) { asked += count; topology.Serial(count, do) }
	a, err := n.Arrange(hosts("h0", "h39999"))
	require.NoError(t, err)
	require.Equal(t, "h0 h39999", names(a.Hosts))
	require.Equal(t, [][]int{{0, 0}, {0, 1}}, a.Clusters)
	require.Less(t, asked, 100, "queries")
}

// More hosts than are clustered have an order.
func TestArrangeManyHosts(t *testing.T) {
	given := make([]job.Host, cluster.MaxHosts+1)
	for i := range given {
		given[i].Name = fmt.Sprintf("h%d", i)
	}
	a, err := network(t, "xgft:4,8193/1,1").Arrange(given)
	require.NoError(t, err)
	require.Equal(t, given, a.Hosts)
	require.Zero(t, a.Depth)
	require.Equal(t, "switch clusters are not known: the job has 32769 hosts of it, more than 32768", a.Unclustered)
}

// Hosts that could be several are refused; those that do not reach each other are
// named, and stay as they are.
func TestArrangeUnsuitable(t *testing.T) {
	n := network(t, "torus:2x2")
	_, err := n.Arrange(hosts("h0", "h0.a"))
	require.EqualError(t, err, "hosts h0 and h0.a are both h0 of the network; a map file can tell them apart")

	b, err := topology.NewBuilder(2, 2)
	require.NoError(t, err)
	for i := range 2 {
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(i), Port: 1}, B: topology.End{Node: b.Switch(i), Port: 1}})
	}
	g, err := b.Build()
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	a, err := (&Network{Router: r, Loop: topology.Serial}).Arrange(hosts("h1", "far", "h0"))
	require.NoError(t, err)
	require.Equal(t, hosts("h1", "far", "h0"), a.Hosts)
	require.Equal(t, []topology.Node{1, topology.NoNode, 0}, a.Nodes)
	require.Equal(t, []any{"", 0}, []any{a.Rule, a.Depth})
	require.Equal(t, "h1 to h0: h1 has no way on", a.Unrouted)
}

// Whatever the hosts are, all of them are there once, with their slots. Clusters of a
// tree are the hosts that are so many hops from each other at most; in any network
// all are together at depth 1, clusters lie in each other, and the last are those of
// leaf switches.
func TestArrangeAgainstPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"fattree:4,2,3/1,2,2/1,1,1", "fattree:3,4/1,2/1,1", "torus:3x8", "dragonfly:p=2,a=4,h=1,g=3"}).Draw(t, "network")
		n := network(t, word)
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 29), 1, 20, func(i int) int { return i }).Draw(t, "hosts") // some networks have 12 or 24
		given := make([]job.Host, len(numbers))
		for i, number := range numbers {
			given[i] = job.Host{Name: fmt.Sprintf("h%d", number), Slots: 1 + i}
		}
		a, err := n.Arrange(given)
		require.NoError(t, err)
		require.ElementsMatch(t, given, a.Hosts)
		var ranks []topology.Node
		for _, h := range a.Hosts {
			if i := slices.Index(given, h); numbers[i] < n.Router.Graph().Hosts() {
				ranks = append(ranks, topology.Node(numbers[i]))
			}
		}
		if len(ranks) == 0 {
			require.Zero(t, a.Depth)
			return
		}
		known, err := tii.Discover(n.Router, topology.Serial)
		require.NoError(t, err)
		all, err := known.Job(ranks)
		require.NoError(t, err)
		paths, levels := all.Paths(topology.Serial), []uint8{1}
		for i := range ranks {
			for j := range i {
				levels = append(levels, max(paths.Hops(i, j), paths.Hops(j, i)))
			}
		}
		slices.Sort(levels)
		levels = slices.Compact(levels)
		slices.Reverse(levels)
		tree := strings.HasPrefix(word, "fattree")
		if tree {
			require.Len(t, levels, a.Depth)
		}
		for i, row := range a.Clusters {
			for j, other := range a.Clusters[:i] {
				for d := range a.Depth {
					together := row[d] == other[d]
					switch near := i < len(ranks) && d < len(levels) && max(paths.Hops(i, j), paths.Hops(j, i)) <= levels[d]; {
					case i >= len(ranks):
						require.False(t, together, "%v is not in the network", a.Hosts[i])
					case tree:
						require.Equal(t, near, together, "%v and %v at depth %d", a.Hosts[i], a.Hosts[j], d+1)
					case d == 0:
						require.True(t, together || a.Depth == 1, "%v and %v", a.Hosts[i], a.Hosts[j])
					case d == a.Depth-1:
						require.Equal(t, paths.Hops(i, j) == 1, together, "%v and %v on a leaf switch", a.Hosts[i], a.Hosts[j])
					}
					require.False(t, d > 0 && together && row[d-1] != other[d-1], "%v and %v at depth %d", a.Hosts[i], a.Hosts[j], d)
				}
			}
		}
	})
}
