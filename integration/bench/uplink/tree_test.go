package uplink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// The page has the medians of each operation and setting, and their differences.
func TestTreePage(t *testing.T) {
	var all []reading
	for i, o := range operations() {
		for _, s := range settings() {
			for run := range 3 {
				f := float64(1 + run)
				all = append(all, reading{s.name(o, false), 4000 * f, 0.002 * f}, reading{s.name(o, true), 1000 * f, 0.004 * f})
			}
		}
		if i > 0 {
			continue
		}
		for range 2 { // outliers
			name := settings()[0].name(o, true)
			all = append(all, reading{name, 1e9, 1e9}, reading{name, 0, 0})
		}
	}
	got := treePage(results.Frame{Runs: 3}, all)
	require.Contains(t, got, "\n| broadcast | 1024 | 1 | 8 | 8.0 | 2.0 | -75 % | 4.00 | 8.00 | +100 % |\n")
	require.Contains(t, got, "\n| all-to-all | 8192 | 4 | 8 | 8.0 | 2.0 | -75 % | 4.00 | 8.00 | +100 % |\n")
	require.Contains(t, got, "Medians of 3 runs")
	require.Contains(t, got, "carry\n1000 Mbit/s, those between leaf and core switch 100 Mbit/s")
}
