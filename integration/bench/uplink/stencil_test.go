package uplink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// The page has medians, and changes beside the default order.
func TestStencilPage(t *testing.T) {
	text := stencilPage(results.Frame{Runs: 3}, 10, []reading{
		{ways[0].name, 100e6, 4}, {ways[0].name, 90e6, 2}, {ways[0].name, 200e6, 3},
		{ways[1].name, 25e6, 1}, {ways[1].name, 24e6, 2}, {ways[1].name, 90e6, 1.5},
		{ways[2].name, 20e6, 1},
	})
	require.Contains(t, text, "| default order | none | 100.0 | +0 % | 3.000 | +0 % |\n")
	require.Contains(t, text, "| mapped by the graph | `--topology fattree:4,2/1,1/1,1 --map FILE --map-by comm:cart:2x4x4` | 25.0 | -75 % | 1.500 | -50 % |\n")
	require.Contains(t, text, "| mapped by a recorded profile | `--topology fattree:4,2/1,1/1,1 --map FILE --map-by comm:PROFILE` | 20.0 | -80 % | 1.000 | -67 % |\n")
}
