package commgraph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrid(t *testing.T) {
	for text, want := range map[string][]int{
		"cart:8x8x8":               {8, 8, 8},
		"cart:32x32x64":            {32, 32, 64},
		"cart:6x8x167:periodic":    {6, 8, 167},
		"cart:12x10x3:26":          {12, 10, 3},
		"cart:4x5x6x7:periodic:80": {4, 5, 6, 7},
		"cart:40x25:8":             {40, 25},
		"uniform:64":               nil,
	} {
		g, err := Parse(text)
		require.NoError(t, err)
		grid, ok := g.Grid()
		require.Equal(t, want, grid, text)
		require.Equal(t, want != nil, ok)
	}
}
