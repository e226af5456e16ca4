package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

// TestTorture is the command in small.
func TestTorture(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	bin, err := programs.Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(bin) })
	small := sizes{nodes: 6, ranks: 12, flood: 4e6, line: 24e6, stall: 2e6, pause: 0}
	require.NoError(t, torture(t.Context(), small, filepath.Join(bin, "golaunch"), bin, bin, func(name string, o outcome) {
		t.Logf("%s: %d bytes, %v, MiB %v", name, o.bytes, o.took, o.peaks)
	}))
}

func TestCheckLines(t *testing.T) {
	account := func(lines ...string) string {
		sum, size := uint64(fnvBasis), 0
		for _, l := range lines {
			size += len(l)
			for _, c := range []byte(l) {
				sum = (sum ^ uint64(c)) * fnvPrime
			}
		}
		return fmt.Sprintf("rank 0 wrote %d lines %d bytes sum %016x\n", len(lines), size, sum)
	}
	const a, b = "rank 0 line 0 abc\n", "rank 0 line 1 def\n"
	n, err := checkLines(strings.NewReader(a+b+account(a, b)), 1)
	require.NoError(t, err)
	require.EqualValues(t, len(a+b+account(a, b)), n)
	for name, text := range map[string]string{
		"one lost":       a + account(a, b),
		"out of order":   b + a + account(a, b),
		"doubled":        a + a + b + account(a, b),
		"altered":        a + "rank 0 line 1 deg\n" + account(a, b),
		"cut":            a + "rank 0 line 1 d",
		"no account":     a + b,
		"more after all": a + b + account(a, b) + "rank 0 line 2 x\n",
		"another's rank": "rank 1 line 0 x\n",
		"something else": "hello\n",
	} {
		_, err := checkLines(strings.NewReader(text), 1)
		require.Error(t, err, name)
	}
}
