package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The page has medians, and changes beside the default order.
func TestPage(t *testing.T) {
	text := page(settings{runs: 3, rounds: 10}, map[string][]reading{
		ways[0].name: {{4, 100e6}, {2, 90e6}, {3, 200e6}},
		ways[1].name: {{1, 25e6}, {2, 24e6}, {1.5, 90e6}},
	})
	require.Contains(t, text, "| default order | none | 100.0 | +0 % | 3.000 | +0 % |\n")
	require.Contains(t, text, "| mapped by the graph | `--topology fattree:4,2/1,1/1,1 --map FILE --map-by comm:cart:2x4x4` | 25.0 | -75 % | 1.500 | -50 % |\n")
}
