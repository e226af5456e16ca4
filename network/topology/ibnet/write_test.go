package ibnet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
