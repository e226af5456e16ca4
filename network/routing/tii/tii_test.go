package tii

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// network discovers that of a spec.
func network(t testing.TB, text string) *Network {
	t.Helper()
	g, err := spec.Parse(text)
	require.NoError(t, err)
	return discover(t, g)
}

func discover(t testing.TB, g *topology.Graph) *Network {
	t.Helper()
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	n, err := Discover(r, topology.Serial)
	require.NoError(t, err)
	return n
}

// first returns the first hosts of a network.
func first(n int) []topology.Node {
	hosts := make([]topology.Node, n)
	for i := range hosts {
		hosts[i] = topology.Node(i)
	}
	return hosts
}

// The tree of what OpenSM made of networks that ibsim simulates is exact, by its own
// tables as by the closed form: its hosts are named h0000, h0001, ... by leaf switch.
func TestFabrics(t *testing.T) {
	const here = "../../topology/ibnet/testdata/"
	for _, test := range []struct {
		open         func(testing.TB, string) io.Reader
		path, tables string
		hosts, below int
	}{
		{open: filestest.Open, path: here + "pgft_16.opensm-subnet.lst", tables: here + "pgft_16.opensm-lfts.dump", hosts: 16, below: 4},
		{open: filestest.Open, path: here + "pgft_128.ibnetdiscover.out.gz", tables: here + "pgft_128.opensm-lfts.dump.gz", hosts: 128, below: 8},
		{open: filestest.Shared, path: "ib-sim/pgft_324.ibnetdiscover.out.gz", tables: "ib-sim/pgft_324.opensm-lfts.dump.gz", hosts: 324, below: 18},
	} {
		t.Run(filepath.Base(test.path), func(t *testing.T) {
			read := ibnet.Discover
			if strings.Contains(test.path, "subnet.lst") {
				read = ibnet.SubnetList
			}
			fabric, err := read(test.open(t, test.path), test.path)
			require.NoError(t, err)
			parsed, err := ibnet.ParseTables(test.open(t, test.tables), test.tables)
			require.NoError(t, err)
			tables, err := routing.NewTables(fabric, parsed, topology.Serial)
			require.NoError(t, err)
			family, err := topology.Recognize(fabric.Graph)
			require.NoError(t, err)
			closed, err := routing.NewDModK(fabric.Graph.WithFamily(family))
			require.NoError(t, err)
			for _, r := range []routing.ByDestination{tables, closed} {
				n, err := Discover(r, topology.Serial)
				require.NoError(t, err)
				checkLeaves(t, n, test.hosts, test.below)
				job, err := n.Job(first(test.hosts))
				require.NoError(t, err)
				assert.Empty(t, job.SharingLinks(topology.Serial), "%s: as many links as hosts", r)
			}
		})
	}
}

// checkLeaves holds a tree of two levels against the names of its hosts, of which
// so many are below each leaf switch.
func checkLeaves(t *testing.T, n *Network, hosts, below int) {
	t.Helper()
	assert.Empty(t, n.Problems())
	assert.Equal(t, 2, n.Depth())
	assert.Len(t, n.Tree().Groups(1), 1)
	groups := n.Tree().Groups(2)
	assert.Len(t, groups, hosts/below)
	for _, group := range groups {
		require.Len(t, group, below)
		leaves := map[int]bool{}
		for _, host := range group {
			var number int
			_, err := fmt.Sscanf(n.Graph().Name(topology.Node(host)), "h%d", &number)
			require.NoError(t, err)
			leaves[number/below] = true
		}
		assert.Len(t, leaves, 1, "leaf switches of a group")
	}
}

func TestDepths(t *testing.T) {
	for text, depth := range map[string]int{
		"fattree:4/1/1":                   1,
		"fattree:4,4/1,2/1,2":             2,
		"fattree:3,3,3/1,3,3/1,1,1":       3,
		"fattree:2,2,2,2/1,2,2,2/1,1,1,1": 4,
	} {
		assert.Equal(t, depth, network(t, text).Depth(), text)
	}
}

// Depth 1 is the whole network, the last depth that of leaf switches.
func TestJobClusters(t *testing.T) {
	n := network(t, "fattree:4,2,3/1,2,2/1,1,1") // pods of two leaf switches with four hosts
	job, err := n.Job([]topology.Node{0, 0, 1, 4, 8, 9, 8, 23})
	require.NoError(t, err)
	assert.Equal(t, []topology.Node{0, 1, 4, 8, 9, 23}, job.Hosts())
	assert.Equal(t, 3, n.Depth())
	assert.Equal(t, []int{1, 3, 4}, []int{job.Clusters(1), job.Clusters(2), job.Clusters(3)})
	same := func(depth int) string {
		var marks strings.Builder
		mark := map[int]byte{}
		for rank := range 8 {
			id := job.Cluster(rank, depth)
			assert.GreaterOrEqual(t, id, 0)
			if mark[id] == 0 {
				mark[id] = 'a' + byte(len(mark))
			}
			marks.WriteByte(mark[id])
		}
		return marks.String()
	}
	assert.Equal(t, []string{"aaaaaaaa", "aaaabbbc", "aaabcccd"}, []string{same(1), same(2), same(3)})
	_, err = n.Job([]topology.Node{0, 24})
	assert.EqualError(t, err, "rank 1: the network has no host 24")
}

func TestPaths(t *testing.T) {
	n := network(t, "fattree:4,2,3/1,2,2/1,1,1")
	job, err := n.Job([]topology.Node{0, 1, 4, 8})
	require.NoError(t, err)
	paths := job.Paths(topology.Serial)
	assert.Len(t, paths.bulk, 4, "one query for each host")
	want := [][]uint8{{0, 1, 3, 5}, {1, 0, 3, 5}, {3, 3, 0, 5}, {5, 5, 5, 0}}
	for a := range want {
		for b := range want[a] {
			assert.Equal(t, want[a][b], paths.Hops(a, b), "%d to %d", a, b)
		}
	}
}

// Twenty hosts with sixteen links above them, a host's link being its number
// modulo 16: the first four share theirs with the last four.
func TestSharingLinks(t *testing.T) {
	n := network(t, "fattree:20,4/1,16/1,1")
	job, err := n.Job(first(80))
	require.NoError(t, err)
	var want []topology.Node
	for host := range topology.Node(80) {
		for other := range topology.Node(80) {
			if host != other && host/20 == other/20 && host%16 == other%16 {
				want = append(want, host)
			}
		}
	}
	assert.Len(t, want, 4*8)
	assert.Equal(t, want, job.SharingLinks(topology.Serial))

	alone, err := n.Job(first(20))
	require.NoError(t, err)
	assert.Empty(t, alone.SharingLinks(topology.Serial), "nothing leaves the leaf switch")
	full, err := network(t, "fattree:4,4/1,4/1,1").Job(first(16))
	require.NoError(t, err)
	assert.Empty(t, full.SharingLinks(topology.Serial), "as many links as hosts")
	narrow, err := network(t, "fattree:4,2/1,1/1,1").Job([]topology.Node{0, 1, 4})
	require.NoError(t, err)
	assert.Equal(t, []topology.Node{0, 1}, narrow.SharingLinks(topology.Serial), "host 4 has its link alone")
}

func TestLeaves(t *testing.T) {
	n := network(t, "fattree:4,4/1,4/1,1")
	job, err := n.Job([]topology.Node{0, 1, 2, 4, 8, 9})
	require.NoError(t, err)
	assert.InDelta(t, 2.0, job.HostsPerLeaf(), 1e-9)
	assert.InDelta(t, 1.5, job.Balance(), 1e-9)
	none, err := n.Job(nil)
	require.NoError(t, err)
	assert.Zero(t, none.HostsPerLeaf())
}

// forward goes as a router does, but for messages at one node to one host.
type forward struct {
	routing.ByDestination
	at, to topology.Node
	other  func() (routing.Step, bool)
}

func (f forward) Next(at, to topology.Node) (routing.Step, bool) {
	if at == f.at && to == f.to {
		return f.other()
	}
	return f.ByDestination.Next(at, to)
}

func TestWrongRoutes(t *testing.T) {
	right := network(t, "fattree:2,2/1,1/1,1") // s0 and s1 below s2
	r := right.router
	toward := func(at, to topology.Node) func() (routing.Step, bool) {
		return func() (routing.Step, bool) { return r.Next(at, to) }
	}
	for _, test := range []struct {
		name    string
		at      int
		other   func() (routing.Step, bool)
		problem string
	}{
		{name: "a circle", at: 2, other: toward(6, 0), problem: "messages for h3 go in a circle: s0, s2"},
		{name: "nothing", at: 2, other: func() (routing.Step, bool) { return routing.Step{}, false }, problem: "switch s2 forwards nothing for h3"},
		{name: "another host", at: 1, other: toward(5, 2), problem: "switch s1 forwards messages for h3 to host h2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, err := Discover(forward{ByDestination: r, at: r.Graph().Switch(test.at), to: 3, other: test.other}, topology.Serial)
			require.NoError(t, err)
			require.NotEmpty(t, n.Problems())
			assert.EqualError(t, n.Problems()[0], test.problem)
			_, err = n.Route(0, 3)
			assert.ErrorContains(t, err, "no route from h0 to h3: ")
			assert.NotEqual(t, right.Fingerprint(), n.Fingerprint())
		})
	}
}

// Only routes between the hosts that were asked about are looked at.
func TestReach(t *testing.T) {
	g := network(t, "fattree:2,2/1,1/1,1").Graph() // s0 and s1 below s2
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, &Reached{Hops: []int{0, 4, 0, 8}}, Reach(r, first(4), topology.Serial))
	assert.Equal(t, &Reached{Hops: []int{0, 2}}, Reach(r, first(2), topology.Serial))
	assert.Equal(t, &Reached{}, Reach(r, nil, topology.Serial))

	cut := forward{ByDestination: r, at: g.Switch(2), to: 3, other: func() (routing.Step, bool) { return routing.Step{}, false }}
	assert.Equal(t, &Reached{Hops: []int{0, 2, 0, 4}}, Reach(cut, first(3), topology.Serial), "h3 is not asked about")
	broken := Reach(cut, first(4), topology.Serial)
	assert.Equal(t, []int{0, 4, 0, 6}, broken.Hops)
	assert.Equal(t, 2, broken.Unreachable)
	require.Len(t, broken.Problems, 1)
	assert.EqualError(t, broken.Problems[0], "switch s2 forwards nothing for h3")
}

// There may be more hosts than are clustered.
func TestReachOfManyHosts(t *testing.T) {
	g, err := spec.Parse("fattree:20000,2/1,1/1,1")
	require.NoError(t, err)
	require.Greater(t, g.Hosts(), cluster.MaxHosts)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 4, 0, 8}, Reach(r, []topology.Node{0, 1, 20000, 39999}, topology.Serial).Hops)
}

func TestInPieces(t *testing.T) {
	g, err := spec.Parse("fattree:2,2/1,1/1,1")
	require.NoError(t, err)
	n := discover(t, g.Without(func(cable int) bool { return !g.IsHost(g.Cable(cable).A.Node) && !g.IsHost(g.Cable(cable).B.Node) }))
	assert.Equal(t, 1, n.Depth())
	assert.Equal(t, [][]int{{0, 1}, {2, 3}}, n.Tree().Groups(1))
	alone := discover(t, g.Without(func(cable int) bool { return true }))
	assert.Zero(t, alone.Depth())
	assert.Empty(t, alone.Problems(), "hosts without a cable")
	job, err := alone.Job(first(4))
	require.NoError(t, err)
	assert.Equal(t, 4, job.Clusters(1))
	assert.Zero(t, job.HostsPerLeaf())
	assert.Equal(t, cluster.Unreachable, job.Paths(topology.Serial).Hops(0, 1))
}

func TestFingerprint(t *testing.T) {
	const text = "fattree:4,4/1,2/1,2"
	n := network(t, text)
	assert.Equal(t, n.Fingerprint(), network(t, text).Fingerprint())
	g := n.Graph()
	dropped := discover(t, g.Without(func(cable int) bool { return cable == g.Cables()-1 }))
	assert.NotEqual(t, n.Fingerprint(), dropped.Fingerprint())
	names := make([]string, g.Hosts())
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	named, err := g.Named(names)
	require.NoError(t, err)
	assert.NotEqual(t, n.Fingerprint(), discover(t, named).Fingerprint())
}
