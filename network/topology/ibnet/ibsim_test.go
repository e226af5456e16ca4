package ibnet_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/ibnet/ibsimtest"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// Fabrics that OpenSM and ibnetdiscover see for the first time, under names,
// GUIDs and ports that say nothing, are recognized, and OpenSM's tables lead from
// each switch to each LID.
func TestUnseenFabrics(t *testing.T) {
	for text, engine := range map[string]string{
		"fattree:4,4,4/1,4,2/1,1,2": "ftree", "clos:R=12,T=8,mu=0.5": "ftree",
		"torus:4x4x3": "dor", "mesh:3x5": "updn", "dragonfly:p=2,a=4,h=2,g=9": "minhop",
	} {
		t.Run(text, func(t *testing.T) {
			g, err := spec.Parse(text)
			require.NoError(t, err)
			permuted, _ := ibsimtest.Permuted(t, g, 7)
			out := ibsimtest.Run(t, permuted, engine)
			found, err := ibnet.Discover(strings.NewReader(out.Discovered), "ibnetdiscover")
			require.NoError(t, err)
			family, err := topology.Recognize(found.Graph)
			require.NoError(t, err)
			assert.Equal(t, g.Family().Kind(), family.Kind())
			if f, ok := family.(*topology.FatTree); ok {
				assert.Equal(t, g.Family().String(), f.String())
			}
			list, err := ibnet.SubnetList(strings.NewReader(out.List), "opensm-subnet.lst")
			require.NoError(t, err)
			assert.Equal(t, found.Graph.Cables(), list.Graph.Cables())
			tables, err := ibnet.ParseTables(strings.NewReader(out.Tables), "opensm-lfts.dump")
			require.NoError(t, err)
			lead(t, found, tables)
		})
	}
}

// lead follows the tables from each switch to each host.
func lead(t *testing.T, f *ibnet.Fabric, tables *ibnet.Tables) {
	t.Helper()
	g := f.Graph
	table := map[topology.Node]*ibnet.Table{}
	byGUID := map[uint64]topology.Node{}
	for n := range g.AllSwitches() {
		byGUID[g.Info(n).GUID] = n
	}
	for i := range tables.Switches {
		n, ok := byGUID[tables.Switches[i].GUID]
		require.True(t, ok)
		table[n] = &tables.Switches[i]
	}
	require.Len(t, table, g.Switches())
	for from := range g.AllSwitches() {
		for to := range g.AllHosts() {
			at := from
			for hops := 0; at != to; hops++ {
				require.Less(t, hops, g.Switches(), "a loop")
				p, ok := g.Port(at, int32(table[at].Port(g.Info(to).LID)))
				require.True(t, ok)
				at = p.Peer
			}
		}
	}
}

// OpenSM's tables, written and read again, are the same, as far as the form tells.
func TestWriteTables(t *testing.T) {
	tables, err := ibnet.ParseTables(filestest.Open(t, "testdata/pgft_16.opensm.fdbs"), "fdbs")
	require.NoError(t, err)
	tables.Switches[0].Ports[3] = ibnet.Unreachable
	var text strings.Builder
	require.NoError(t, ibsimtest.WriteTables(&text, tables))
	assert.Contains(t, text.String(), "0x0002 : 000  : 00   : yes\n0x0003 : UNREACHABLE\n0x0004 : 007  : 00   : yes\n")
	again, err := ibnet.ParseTables(strings.NewReader(text.String()), "written")
	require.NoError(t, err)
	assert.Equal(t, tables, again)
}
