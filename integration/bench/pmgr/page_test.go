package pmgr

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

func TestPage(t *testing.T) {
	s, err := parse(results.NewFlags("pmgr", "-ranks", "64,1024", "-shared"))
	require.NoError(t, err)
	three := func(init float64) []reading {
		return []reading{{1, 9, "", load{2e6, 50}}, {2, init, "", load{}}, {3, 0, "", load{}}}
	}
	got := page(s, map[int][ways][]reading{
		64:   {three(0.5), three(0.25), three(2), three(1)},
		1024: {three(0.5), three(0.25), {{spawn: 1}, {failed: "accept: too many"}}, three(1)},
	})
	require.Contains(t, got, "\n| 64 | 2.00 | 0.500 | 2.00 | 0.250 | 2.00 | 2.000 | 2.00 | 1.000 | 4.0 |\n")
	require.Contains(t, got, "\n| 1024 | 2.00 | 0.500 | 2.00 | 0.250 | – | **fails** | 2.00 | 1.000 | – |\n")
	require.Contains(t, got, "\nFails: 1024 ranks, central: accept: too many.\n")
	require.Contains(t, got, "\n| 64 | 2.00 | 50 | 64 | 2.00 | 50 | 1 |\n")
	require.Contains(t, got, "Other programs ran")
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-ranks", "1"}, {"-ranks", "x"}, {"stray"}, {"-runs", "0"}} {
		_, err := parse(results.NewFlags("pmgr", args...))
		require.Error(t, err, "%q", args)
	}
	require.Equal(t, "accept: x", reason(nil, "pmgrcentral: accept: x\n"))
	require.Contains(t, reason(errors.New("killed"), ""), "no end within")
}
