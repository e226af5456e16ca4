package ibnet

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/topology"
)

// cables lists a graph's cables by names and port numbers.
func cables(g *topology.Graph) []string {
	var list []string
	for i := range g.Cables() {
		c := g.Cable(i)
		ends := []string{fmt.Sprintf("%s[%d]", g.Name(c.A.Node), c.A.Port), fmt.Sprintf("%s[%d]", g.Name(c.B.Node), c.B.Port)}
		slices.Sort(ends)
		list = append(list, strings.Join(ends, " "))
	}
	slices.Sort(list)
	return list
}

type parser func(io.Reader, string) (*Fabric, error)

// The same network, as ibsim is told of it, as ibnetdiscover finds it, and as
// OpenSM lists it.
func TestThreeViewsOfOneFabric(t *testing.T) {
	var first *Fabric
	for _, x := range []struct {
		file  string
		parse parser
	}{{"pgft_16.ibnetdiscover.out", Discover}, {"pgft_16.opensm-subnet.lst", SubnetList}, {"pgft_16.topo", Discover}} {
		f, err := x.parse(filestest.Open(t, "testdata/"+x.file), x.file)
		require.NoError(t, err)
		family, err := topology.Recognize(f.Graph)
		require.NoError(t, err)
		assert.Equal(t, "fattree:4,4/1,2/1,2", family.String(), x.file)
		require.Equal(t, 16, f.Graph.Hosts())
		require.Len(t, f.Ports, 16+6)
		if strings.HasSuffix(x.file, ".topo") {
			continue // descriptions differ at the two ends: h0015 and h0015 HCA-1
		}
		if first == nil {
			first = f
			continue
		}
		assert.Equal(t, cables(first.Graph), cables(f.Graph))
		for i, p := range f.Ports {
			assert.Equal(t, first.Graph.Name(first.Ports[i].End.Node), f.Graph.Name(p.End.Node))
			assert.Equal(t, first.Ports[i].LID, p.LID)
			if first.Ports[i].GUID != 0 {
				assert.Equal(t, first.Ports[i].GUID, p.GUID)
			}
		}
		for i := range f.Graph.Cables() {
			c := f.Graph.Cable(i)
			want := int64(32e9) // 4xQDR
			if !f.Graph.IsHost(c.A.Node) {
				want = 54.56e9 // 4xFDR
			}
			assert.Equal(t, want, c.Rate)
		}
	}
	h15 := first.Graph.Info(0)
	assert.Equal(t, topology.Info{Name: "h0015 HCA-1", Description: "h0015 HCA-1", GUID: 0x2c90000000040, LID: 22}, h15)
}

func TestFabricOf128(t *testing.T) {
	f, err := Discover(filestest.Open(t, "testdata/pgft_128.ibnetdiscover.out.gz"), "128")
	require.NoError(t, err)
	family, err := topology.Recognize(f.Graph)
	require.NoError(t, err)
	assert.Equal(t, "fattree:8,16/1,4/1,2", family.String())
	tables, err := ParseTables(filestest.Open(t, "testdata/pgft_128.opensm-lfts.dump.gz"), "128")
	require.NoError(t, err)
	assert.Len(t, tables.Switches, f.Graph.Switches())
	assert.Len(t, tables.Destinations, 128+20)
}

func TestTablesInEachForm(t *testing.T) {
	want, err := ParseTables(filestest.Open(t, "testdata/pgft_16.opensm-lfts.dump"), "lfts")
	require.NoError(t, err)
	require.Len(t, want.Switches, 6)
	require.Len(t, want.Destinations, 22)
	leaf := want.Switches[0]
	assert.Equal(t, []any{uint64(0x2c90201000004), uint16(2), "L1S000", uint8(1), uint8(5), uint8(0), Unreachable},
		[]any{leaf.GUID, leaf.LID, leaf.Name, leaf.Port(1), leaf.Port(11), leaf.Port(2), leaf.Port(23)})
	assert.Equal(t, Unreachable, want.Switches[1].Port(5), "a spine does not lead to the other")
	assert.Equal(t, Destination{LID: 22, GUID: 0x2c90000000041, Name: "h0015 HCA-1"}, want.Destinations[21])
	assert.Equal(t, Destination{LID: 2, Switch: true, GUID: 0x2c90201000004, Name: "L1S000"}, want.Destinations[1])
	byGUID := func(ts *Tables, guid uint64) Table {
		for _, t := range ts.Switches {
			if t.GUID == guid {
				return t
			}
		}
		return Table{}
	}
	for _, file := range []string{"pgft_16.dump_lfts.out", "pgft_16.opensm.fdbs"} {
		got, err := ParseTables(filestest.Open(t, "testdata/"+file), file)
		require.NoError(t, err)
		require.Len(t, got.Switches, 6)
		for _, w := range want.Switches {
			g := byGUID(got, w.GUID)
			assert.Equal(t, w.LID, g.LID, file)
			assert.Equal(t, w.Ports, g.Ports, file)
		}
		if file == "pgft_16.dump_lfts.out" {
			assert.Equal(t, want.Destinations, got.Destinations)
		}
	}
}

// Samples of vendors' documentation, and ibsim's own.
func TestSamplesOfOthers(t *testing.T) {
	for _, x := range []struct {
		file                    string
		hosts, switches, cables int
		name                    string // of host 0
		rate                    int64  // of its first cable
	}{
		{file: "ibtopotool-1.topo", hosts: 4, switches: 2, cables: 7, name: "H-0008f10403960984", rate: 8e9},
		{file: "ibtopotool-2.topo", hosts: 2, switches: 1, cables: 2, name: "compute-00-01 HCA-1", rate: 8e9},
		{file: "ibtopotool-3.topo", hosts: 6, switches: 2, cables: 10, name: "r-ufm111 HCA-1", rate: 4 * 13.64e9},
		{file: "ibtopotool-4.topo", hosts: 1, switches: 1, cables: 1, name: "nsn33-43 HCA-1", rate: 32e9},
		{file: "net", hosts: 2, switches: 2, cables: 4, name: "Hca1"},
		{file: "net.1", hosts: 2, switches: 1, cables: 2, name: "Hca1"},
		{file: "net.2sw2path", hosts: 2, switches: 2, cables: 4, name: "Hca1"},
		{file: "net.2sw2path4hca", hosts: 4, switches: 2, cables: 6, name: "Hca1"},
		{file: "net.2sw2path4hca2port", hosts: 2, switches: 2, cables: 6, name: "Hca1"},
	} {
		t.Run(x.file, func(t *testing.T) {
			f, err := Discover(filestest.Shared(t, "ibnetdiscover/"+x.file), x.file)
			require.NoError(t, err)
			g := f.Graph
			assert.Equal(t, []any{x.hosts, x.switches, x.cables, x.name, x.rate},
				[]any{g.Hosts(), g.Switches(), g.Cables(), g.Name(0), g.Rate(g.Ports(0)[0].Out)})
		})
	}
}

func TestFabricOf324(t *testing.T) {
	f, err := Discover(filestest.Shared(t, "ib-sim/pgft_324.ibnetdiscover.out.gz"), "324")
	require.NoError(t, err)
	family, err := topology.Recognize(f.Graph)
	require.NoError(t, err)
	assert.Equal(t, "fattree:18,18/1,9/1,2", family.String())
	list, err := SubnetList(filestest.Shared(t, "ib-sim/pgft_324.opensm-subnet.lst.gz"), "324")
	require.NoError(t, err)
	assert.Equal(t, cables(f.Graph), cables(list.Graph))
	lfts, err := ParseTables(filestest.Shared(t, "ib-sim/pgft_324.opensm-lfts.dump.gz"), "324")
	require.NoError(t, err)
	dump, err := ParseTables(filestest.Shared(t, "ib-sim/pgft_324.dump_lfts.out.gz"), "324")
	require.NoError(t, err)
	assert.Len(t, lfts.Destinations, 324+27)
	assert.Len(t, dump.Switches, 27)
}
