package ibnet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

func TestWriteThenDiscover(t *testing.T) {
	for _, text := range spec.Examples() {
		g, err := spec.Parse(text)
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, Write(&out, g))
		f, err := Discover(strings.NewReader(out.String()), text)
		require.NoError(t, err)
		assert.Equal(t, cables(g), cables(f.Graph))
		family, err := topology.Recognize(f.Graph)
		require.NoError(t, err)
		assert.Equal(t, g.Family().Kind(), family.Kind(), text)
	}
	g, err := spec.Parse("fattree:255/1/1")
	require.NoError(t, err)
	assert.EqualError(t, Write(&strings.Builder{}, g), "port 255 of s0: expected at most 254")
}

// OpenSM's tables, written and read again, are the same, as far as the form tells.
func TestWriteTables(t *testing.T) {
	tables, err := ParseTables(filestest.Open(t, "testdata/pgft_16.opensm.fdbs"), "fdbs")
	require.NoError(t, err)
	tables.Switches[0].Ports[3] = Unreachable
	var text strings.Builder
	require.NoError(t, WriteTables(&text, tables))
	assert.Contains(t, text.String(), "0x0002 : 000  : 00   : yes\n0x0003 : UNREACHABLE\n0x0004 : 007  : 00   : yes\n")
	again, err := ParseTables(strings.NewReader(text.String()), "written")
	require.NoError(t, err)
	assert.Equal(t, tables, again)
}
