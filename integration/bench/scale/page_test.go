package scale

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// The whole page, in small.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	out, data := filepath.Join(dir, "scale.md"), filepath.Join(dir, "scale.json")
	m := &measured{Cores: 2, Costs: usual, Points: []point{{Nodes: 8, Ranks: 1, reading: reading{Connect: 50, Up: 150, Started: 160, Wall: 170, CPU: 250}}}}
	require.NoError(t, m.write(data))
	require.NoError(t, Run(t.Context(), results.NewFlags("scale", "-quick", "-data", data, "-o", out)))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.NotContains(t, string(text), "%!")
	pictures := 0
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "!["); ok {
			_, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), ")"), "](")
			picture, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Contains(t, string(picture), "</svg>")
			pictures++
		}
	}
	require.Equal(t, len(hops)+4, pictures)

	require.ErrorContains(t, Run(t.Context(), results.NewFlags("scale", "stray")), "stray argument")
	require.ErrorContains(t, Run(t.Context(), results.NewFlags("scale", "-data", filepath.Join(dir, "none"))), "-measure")
}
