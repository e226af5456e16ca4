package e2e

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
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

// Ranks with `--bind-to gpu` run on the CPUs beside their GPUs. The driver's files are made
// for the test.
//
//report:env pytorch/pytorch#115305, huggingface/accelerate#2241 ranks bound to the CPUs beside their GPU
func TestBindToGPU(t *testing.T) {
	r := local(t, "", "-n", "2", "--bind-to", "gpu", "--gpus-per-rank", "1024", "true")
	require.Equal(t, 125, r.code)
	require.Regexp(t, `^golaunch: rank 0 on \S+ was not started: --gpus-per-rank 1024: the host has .*GPU`, r.stderr)

	ours, err := unix.Affinity(0)
	require.NoError(t, err)
	first, last := ours[0], ours[len(ours)-1]
	files := fmt.Sprintf(`mount -t tmpfs none /sys/class && mount -t tmpfs none /sys/bus || exit 99
		nodes=/sys/class/kfd/kfd/topology/nodes pci=/sys/bus/pci/devices
		mkdir -p $nodes/0 $nodes/1 $nodes/2 $pci/0000:01:00.0 $pci/0000:02:00.0
		echo 0 >$nodes/0/gpu_id
		echo 7 >$nodes/1/gpu_id; echo location_id 256 >$nodes/1/properties; echo %d >$pci/0000:01:00.0/local_cpulist
		echo 8 >$nodes/2/gpu_id; echo location_id 512 >$nodes/2/properties; echo %d >$pci/0000:02:00.0/local_cpulist
		exec "$@"`, first, last)
	cmd := exec.Command("unshare", "--mount", "sh", "-c", files, "sh", bin("golaunch"), "-n", "2", "--gpus-per-rank", "1", "--bind-to", "gpu",
		"sh", "-c", "echo $PMI_RANK $ROCR_VISIBLE_DEVICES $(grep Cpus_allowed_list /proc/self/status)")
	r = finish(t, cmd, cmd, "")
	if r.code == 99 {
		t.Skipf("skipped: nothing can be mounted over /sys here: %s", r.stderr)
	}
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{fmt.Sprintf("0 0 Cpus_allowed_list: %d", first), fmt.Sprintf("1 1 Cpus_allowed_list: %d", last)}, r.lines())
}
