package profile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// The page has medians of the pairs' differences, and memory beside the published one.
func TestPage(t *testing.T) {
	readings := map[trial]reading{}
	for _, x := range trials() {
		readings[x] = reading{[]float64{100, 110, 105}, []float64{108, 112, 125}}
	}
	text := page(settings{pairs: 3, calls: 10, trips: 5}, readings, []memory{{64, 1 << 20}, {65, 1 << 20}})
	require.Contains(t, text, "| MPICH | a call | 105.0 | 112.0 | +8.0 | +2.0 to +20.0 | +7.6 |\n")
	require.Contains(t, text, "| Open MPI | latency between two nodes | 105.0 | 112.0 | +8.0 |")
	require.Contains(t, text, "| 64 | 1048576 | 256.0 | 0.500 | 0.04 |\n")
	require.Contains(t, text, "| 65 | 1048576 | 248.2 | 0.500 | - |\n")
}

func TestParse(t *testing.T) {
	s, err := parse(results.NewFlags("profile"))
	require.NoError(t, err)
	require.Equal(t, []int{64, 128, 256}, s.ranks)
	for _, args := range [][]string{{"-pairs", "0"}, {"-calls", "9"}, {"-trips", "0"}, {"-ranks", "1"}, {"x"}} {
		_, err := parse(results.NewFlags("profile", args...))
		require.Error(t, err, args)
	}
}
