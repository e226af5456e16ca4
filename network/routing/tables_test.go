package routing

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
)

// fabric reads what OpenSM (-R ftree) and ibnetdiscover said of a network of
// ibsim's.
func fabric(t testing.TB, size string) (*ibnet.Fabric, *ibnet.Tables) {
	t.Helper()
	dir := "testdata"
	if size == "128" {
		dir = "../topology/ibnet/testdata"
	}
	f, err := ibnet.Discover(filestest.Open(t, filepath.Join(dir, "pgft_"+size+".ibnetdiscover.out.gz")), "ibnetdiscover")
	require.NoError(t, err)
	tables, err := ibnet.ParseTables(filestest.Open(t, filepath.Join(dir, "pgft_"+size+".opensm-lfts.dump.gz")), "opensm-lfts")
	require.NoError(t, err)
	return recognized(t, f), tables
}

// recognized gives a fabric's graph its family.
func recognized(t testing.TB, f *ibnet.Fabric) *ibnet.Fabric {
	t.Helper()
	family, err := topology.Recognize(f.Graph)
	require.NoError(t, err)
	f.Graph = f.Graph.WithFamily(family)
	return f
}

// equalAtLeaves requires that leaf switches forward as D-Mod-K does.
func equalAtLeaves(t testing.TB, want *Tables, d *DModK) {
	t.Helper()
	g, entries, different := d.graph, 0, 0
	for n := range g.AllSwitches() {
		for h := range g.AllHosts() {
			if d.tree.Level(n) != 1 {
				continue
			}
			a, aOK := want.Next(n, h)
			b, bOK := d.Next(n, h)
			require.True(t, aOK && bOK)
			if entries++; a != b {
				different++
			}
		}
	}
	assert.Zero(t, different, "of %d entries", entries)
}

// OpenSM's ftree is D-Mod-K at leaf switches, and all three networks are trees of
// two levels. From its tables alone comes an order in which shift is free of
// contention.
func TestOpenSMTables(t *testing.T) {
	for _, size := range []string{"16", "128", "324"} {
		f, dump := fabric(t, size)
		tables, err := NewTables(f, dump, parallel)
		require.NoError(t, err)
		d, err := NewDModK(f.Graph)
		require.NoError(t, err)
		equalAtLeaves(t, tables, d)
		assert.Nil(t, CreditLoop(tables, parallel))

		given := shuffled(hostsOf(f.Graph), 3)
		orders, err := Orders(tables, given, 1, parallel)
		require.NoError(t, err)
		found := byRoutes(tables, d.tree)
		c, err := HotSpots(tables, found, Shift(len(given)), parallel)
		require.NoError(t, err)
		assert.Equal(t, []int{1, 1}, []int{c.Max(), orders[0].Max}, size)
		assert.Len(t, orders[0].Hosts, f.Graph.Hosts())
	}
}

// Tables written for OpenSM's fabric equal those that were read: D-Mod-K's.
func TestForwarding(t *testing.T) {
	f, _ := fabric(t, "16")
	d, err := NewDModK(f.Graph)
	require.NoError(t, err)
	made, err := forwarding(f, d)
	require.NoError(t, err)
	require.Len(t, made.Switches, 6)
	require.Len(t, made.Destinations, 22)
	again, err := NewTables(f, made, topology.Serial)
	require.NoError(t, err)
	for n := range topology.Node(f.Graph.Nodes()) {
		for h := range f.Graph.AllHosts() {
			a, _ := d.Next(n, h)
			b, _ := again.Next(n, h)
			assert.Equal(t, a, b)
		}
	}
	for _, table := range made.Switches {
		for lid := uint16(1); lid <= 22; lid++ {
			assert.NotEqual(t, ibnet.Unreachable, table.Port(lid), "%s to lid %d", table.Name, lid)
		}
		assert.Zero(t, table.Port(table.LID))
	}
	_, err = forwarding(f, dmodk(t, tree144))
	require.ErrorContains(t, err, "another network")
}

func TestTablesThatDoNotFit(t *testing.T) {
	for _, x := range []struct {
		change func(f *ibnet.Fabric, d *ibnet.Tables)
		want   string
	}{
		{func(_ *ibnet.Fabric, d *ibnet.Tables) { d.Switches = d.Switches[1:] }, "no forwarding table of switch L1S000, guid 0x0002c90201000004"},
		{func(_ *ibnet.Fabric, d *ibnet.Tables) { d.Switches[0].LID = 77 }, "switch L1S000 has lid 2 in the fabric and 77 in its table: were they written at the same time?"},
		{func(_ *ibnet.Fabric, d *ibnet.Tables) { d.Destinations[0].GUID++ }, "lid 1 is port 0x0002c90000000005 of h0000 HCA-1 in the fabric, and port 0x0002c90000000006 in the forwarding tables: were they written at the same time?"},
	} {
		f, d := fabric(t, "16")
		x.change(f, d)
		_, err := NewTables(f, d, topology.Serial)
		require.EqualError(t, err, x.want)
	}
	f, err := ibnet.Discover(strings.NewReader(strings.NewReplacer("lid 19", "lid 0").Replace(read(t, filestest.Open(t, "testdata/pgft_16.ibnetdiscover.out.gz")))), "x")
	require.NoError(t, err)
	_, d := fabric(t, "16")
	_, err = NewTables(f, d, topology.Serial)
	require.EqualError(t, err, "host h0012 HCA-1 has no lid: is a subnet manager running?")
}

func read(t testing.TB, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

// Entries that are missing, lead to a port without a cable, to another host or in
// a circle are said so by the route.
func TestWrongEntries(t *testing.T) {
	f, d := fabric(t, "16")
	host := map[string]topology.Node{}
	for h := range f.Graph.AllHosts() {
		host[f.Graph.Info(h).Name] = h
	}
	from, to := host["h0000 HCA-1"], host["h0012 HCA-1"]
	lid := f.Graph.Info(to).LID
	leaf, spine := &d.Switches[0], &d.Switches[1]
	require.Equal(t, []string{"L1S000", "L2S000"}, []string{leaf.Name, spine.Name})
	for _, x := range []struct {
		leaf, spine uint8
		want        string
	}{
		{ibnet.Unreachable, 1, "h0000 HCA-1 to h0012 HCA-1: L1S000 has no way on"},
		{200, 1, "h0000 HCA-1 to h0012 HCA-1: L1S000 has no way on"},
		{0, 1, "h0000 HCA-1 to h0012 HCA-1: L1S000 has no way on"},
		{2, 1, "h0000 HCA-1 to h0012 HCA-1: the route ends at h0001 HCA-1, which is another host"},
		{5, 1, "h0000 HCA-1 to h0012 HCA-1: the route goes in a circle through L1S000"},
	} {
		leaf.Ports[lid], spine.Ports[lid] = x.leaf, x.spine
		r, err := NewTables(f, d, topology.Serial)
		require.NoError(t, err)
		_, err = r.Append(nil, from, to)
		require.EqualError(t, err, x.want)
	}
}

// Whatever tables say, a route leads to its destination or is an error, and an
// order and a verdict on credit loops come out.
func TestAnyTables(t *testing.T) {
	f, d := fabric(t, "16")
	rapid.Check(t, func(t *rapid.T) {
		ports := rapid.Uint8Range(0, 9)
		for i := range d.Switches {
			d.Switches[i].Ports = rapid.SliceOfN(ports, 0, 23).Draw(t, "ports")
		}
		r, err := NewTables(f, d, topology.Serial)
		require.NoError(t, err)
		for src := range f.Graph.AllHosts() {
			for dst := range f.Graph.AllHosts() {
				if route, err := r.Append(nil, src, dst); err == nil {
					checkRoute(t, f.Graph, route, src, dst)
				}
			}
		}
		CreditLoop(r, topology.Serial)
		require.ElementsMatch(t, hostsOf(f.Graph), byRoutes(r, f.Graph.Family().(*topology.FatTree)))
	})
}
