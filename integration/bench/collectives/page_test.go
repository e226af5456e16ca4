package collectives

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

func TestReadingsBecomeAPage(t *testing.T) {
	all, err := parseReadings("tree barrier 0 3 120.0\ntree bcast 1024 5 50\nstar barrier 0 2 240\nmpi bcast 1024 7 25.0\n")
	require.NoError(t, err)
	got := page(settings{nodes: 4, ppn: 2, degree: 2}, tables{few: all, tls: all, many: all})
	require.Contains(t, got, "\n## 4 ranks, one per node\n")
	require.Contains(t, got, "\n## 4 ranks, one per node, links of TLS\n")
	require.Contains(t, got, "\n## 8 ranks, 2 per node\n")
	require.Contains(t, got, "\n| barrier | 0 | 120 | – | 240 | – | 2 | – |\n| bcast | 1024 | 50 | 20.5 | – | 25 | – | 0.5 |\n")
}

func TestNonsenseIsRefused(t *testing.T) {
	for _, text := range []string{"", "tree bcast\n", "tree bcast x 1 1\n"} {
		_, err := parseReadings(text)
		require.Error(t, err, "%q", text)
	}
	for _, args := range [][]string{{"-nodes", "1"}, {"stray"}, {"-ppn", "0"}} {
		_, err := parse(results.NewFlags("collectives", args...))
		require.Error(t, err, "%q", args)
	}
}
