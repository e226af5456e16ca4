package launcher

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/arrange"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/match"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// networkOf is that of a word, with a map of its hosts.
func networkOf(t *testing.T, word, names string) *Network {
	g, err := spec.Parse(word)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	m, err := match.ParseMap(strings.NewReader(names), "map")
	require.NoError(t, err)
	return &Network{Network: &arrange.Network{Router: r, Names: m, Loop: topology.Serial}, From: word}
}

// Hosts are in the order of the network: ranks, tree and unused hosts go by it. The
// clusters of a host stay its own where others have no ranks, are dead or come later.
func TestPlanByNetwork(t *testing.T) {
	o := options(t, "h3:2,h1,far,h0,h2", 4)
	o.Hosts.Network = networkOf(t, "fattree:2,2/1,2/1,1", "")
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, "h[0-3]", hostlist.Fold(bare(p.Hosts)))
	require.Equal(t, "far", hostlist.Fold(bare(p.Unused)))
	require.Equal(t, 2, p.Hosts[3].Slots)
	require.Equal(t, []string{"network fattree:2,2/1,2/1,1: 1 of 5 hosts are not in the network and keep their order: far; --map FILE says which of its hosts (h0, h1, ...) they are"}, p.network.notes)
	require.Contains(t, p.String(), "\norder  fat tree: no contention, by network fattree:2,2/1,2/1,1, 2 levels of switches between the hosts\n")
	require.Equal(t, []int{0, 0, 0, 0, 0, 2, 0, 2}, p.clustersOf(p.Blocks.hosts()))

	more := p.withUnused()
	require.Equal(t, []int{0, 2, 4, 4}, more.clustersOf([]job.HostIndex{3, 4}), "a host that the network lacks is alone")
	q, err := p.Without([]job.HostIndex{0})
	require.NoError(t, err)
	require.Equal(t, []int{0, 0, 0, 2, 0, 2}, q.clustersOf(q.Blocks.hosts()))
}

// The tree's ranges are cut between switches, as the agents are told: in a tree of even
// ranges h1 would have h2, h3 and h4 below it, which are below two switches.
func TestTreeByNetwork(t *testing.T) {
	cuts := func(p *Plan) (cuts []int) {
		for _, e := range p.toStart(p.entries()) {
			cuts = append(cuts, e.Cut)
		}
		return cuts
	}
	o := options(t, "h[0-8]", 9)
	o.Tree.Degree = 2
	o.Hosts.Network = networkOf(t, "fattree:3,3/1,3/1,1", "")
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Contains(t, p.String(), "tree of degree 2 and depth 3\n")
	require.Contains(t, p.String(), "\ntree   2 of 8 edges between switches, of which there are 3\n")
	require.Equal(t, []int{8, 4, 0, 2, 0, 0, 2, 0, 0}, cuts(p))

	// Hosts that the network lacks are below no switch, and no edge of theirs is between two.
	o = options(t, "h[0-8],far,off", 11)
	o.Tree.Degree = 2
	o.Hosts.Network = networkOf(t, "fattree:3,3/1,3/1,1", "")
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Contains(t, p.String(), "\ntree   2 of 10 edges between switches, of which there are 3; 2 of hosts that the network lacks\n")

	o = options(t, "h[0-8]", 9)
	o.Tree.Degree = 1
	o.Hosts.Network = networkOf(t, "fattree:3,3/1,3/1,1", "")
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, make([]int, 9), cuts(p), "a chain")
	require.NotContains(t, p.String(), "\ntree ")

	o.Tree.Degree, o.Hosts.Network = 2, nil
	p, err = NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, make([]int, 9), cuts(p))
	require.NotContains(t, p.String(), "\ntree ")
}

// Where the order of hosts mixes switches, that of the tree does not: each switch is one
// range, and the first host stays the root.
func TestTreeOfShuffledHosts(t *testing.T) {
	o := options(t, "h[0-63]", 64)
	o.Hosts.Network = networkOf(t, "dragonfly:p=2,a=4,h=2,g=8", "")
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Contains(t, p.String(), "\norder  shuffled")
	require.Contains(t, p.String(), "\ntree   31 of 63 edges between switches, of which there are 32\n")
	list := p.toStart(p.entries())
	require.Equal(t, p.entries()[0].Name, list[0].Name)
	var index []job.HostIndex
	switches := map[int]bool{}
	last := -1
	for _, e := range list {
		require.Equal(t, p.Hosts[e.Index].Name, e.Name)
		index = append(index, e.Index)
		leaf := p.clustersOf(index[len(index)-1:])[p.network.depth-1]
		require.True(t, leaf == last || !switches[leaf], "switch %d is entered again", leaf)
		switches[leaf], last = true, leaf
	}
	slices.Sort(index)
	require.Len(t, slices.Compact(index), 64)
}

// A rule of placement that leaves hosts out does not mix clusters up.
func TestClustersOfAnyRule(t *testing.T) {
	o := options(t, "h0,h1,h2,h3", 2)
	o.Placement.Rule = listed{3, 1}
	o.Hosts.Network = networkOf(t, "fattree:2,2/1,2/1,1", "")
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, "h[1,3]", hostlist.Fold(bare(p.Hosts)))
	require.Equal(t, []int{0, 0, 0, 2}, p.clustersOf(p.Blocks.hosts()))
}

// Nodes of this machine are hosts, too, which a map finds.
func TestNetworkOfNodes(t *testing.T) {
	o := options(t, "", 2)
	o.Hosts.Nodes = 2
	o.Hosts.Network = networkOf(t, "torus:4", "here.0 h0\nhere.1 h2\n")
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Empty(t, p.network.notes)
	require.Positive(t, p.network.depth)
	require.Len(t, p.clustersOf(p.Blocks.hosts()), 2*p.network.depth)
}

// A network that does not suit the hosts is the user's error where they named it, and
// left out where they did not.
func TestPlanWithWrongNetwork(t *testing.T) {
	o := options(t, "h0,h0.a", 2)
	o.Hosts.Network = networkOf(t, "torus:4", "")
	_, err := NewPlan(o, "here")
	require.EqualError(t, err, "--topology: torus:4: hosts h0 and h0.a are both h0 of the network; a map file can tell them apart")
	o.Hosts.Network.Optional = true
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	require.Equal(t, []string{"network torus:4 is not used: hosts h0 and h0.a are both h0 of the network; a map file can tell them apart"}, p.network.notes)
	require.Equal(t, "h0,h0.a", hostlist.Fold(bare(p.Hosts)))
	require.Empty(t, p.clustersOf(p.Blocks.hosts()))
	require.NotContains(t, p.String(), "order")
}
