package hardstart

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

// TestHardStart is the command in small.
func TestHardStart(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	bin, err := programs.Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(bin) })
	small := sizes{nodes: 24, dead: 3, runs: 2, jobs: 2, slow: time.Second}
	failed, err := hardStart(t.Context(), small, filepath.Join(bin, "golaunch"), bin, func(part string, failed int, times []time.Duration) {
		t.Logf("%s: %d failed, %v", part, failed, times)
	})
	require.NoError(t, err)
	require.Zero(t, failed)
}
