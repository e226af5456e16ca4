package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A host with too few GPUs is named before a rank runs; no host is asked for GPUs where
// the user names them.
func TestGPUsPerRank(t *testing.T) {
	const flag = "--gpus-per-rank" // 1024 are more than any machine has
	r := local(t, "", "-n", "2", flag, "1024", "sh", "-c", "echo ran")
	require.Equal(t, 125, r.code)
	require.Empty(t, r.stdout)
	require.Regexp(t, `^golaunch: rank 0 on \S+ was not started: --gpus-per-rank 1024: the host has .*GPU`, r.stderr)

	r = local(t, "", "-n", "2", flag, "1024", "-x", "CUDA_VISIBLE_DEVICES=7", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"7", "7"}, r.lines())
	require.Empty(t, r.stderr)
}
