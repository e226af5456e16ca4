package jobs

import (
	"cmp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// fourGPUs are the files of a host with as many.
func fourGPUs() fstest.MapFS {
	return fstest.MapFS{"dev/nvidia0": {}, "dev/nvidia1": {}, "dev/nvidia2": {}, "dev/nvidia3": {}, "dev/nvidiactl": {}}
}

// gpuWorld is an agent of host 3 that is to give ranks so many GPUs each, with a world
// of apps with these environments. Each has a rank on host 1 and two on host 3.
func gpuWorld(per int, envs ...[]string) (*testNode, *world) {
	w := &world{}
	for i, env := range envs {
		w.spec.Apps = append(w.spec.Apps, job.App{Env: env})
		first := job.Rank(3 * i)
		w.spec.Blocks = append(w.spec.Blocks, job.Block{Host: 1, First: first, Count: 1, App: i}, job.Block{Host: 3, First: first + 1, Count: 2, App: i})
		for n := range job.Rank(2) {
			w.ranks = append(w.ranks, &rank{world: w, Rank: serve.Rank{Number: first + 1 + n, App: i}})
		}
	}
	a := joined(&testNode{self: overlay.HostEntry{Index: 3}, job: &Job{launch: &overlay.Launch{}, worlds: map[int]*world{0: w}}})
	a.job.launch.GPUsPerRank = per
	return a, w
}

func gpuEnvs(w *world) (envs [][]string) {
	for _, r := range w.ranks {
		envs = append(envs, r.gpuEnv)
	}
	return envs
}

// Each local rank has GPUs of its own, in order; a rank of an app for which the user
// names some has none of ours, and ranks of a later world have what is left.
func TestGPUsOfRanks(t *testing.T) {
	a, w := gpuWorld(1, nil, []string{"CUDA_VISIBLE_DEVICES="}, nil)
	require.NoError(t, a.job.placing.giveGPUs(w, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=1"}, nil, nil, {"CUDA_VISIBLE_DEVICES=2"}, {"CUDA_VISIBLE_DEVICES=3"}}, gpuEnvs(w))

	_, later := gpuWorld(1, nil)
	a.job.worlds[1] = later
	err := a.job.placing.giveGPUs(later, fourGPUs(), nil)
	require.EqualError(t, err, "--gpus-per-rank 1: the host has 4 NVIDIA GPUs, ranks that live have 4, and 2 ranks want 1 each; use a smaller number")
	require.Equal(t, job.Rank(1), err.(*placeError).rank) //nolint:errorlint // its own type
	w.ranks[0].Exited, w.ranks[5].Exited = true, true
	require.NoError(t, a.job.placing.giveGPUs(later, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=3"}}, gpuEnvs(later))

	a, w = gpuWorld(1, nil)
	require.NoError(t, a.job.placing.giveGPUs(w, fourGPUs(), []string{"CUDA_VISIBLE_DEVICES=3,1"}))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=3"}, {"CUDA_VISIBLE_DEVICES=1"}}, gpuEnvs(w), "a manager's part")
}

// Nodes on one machine share its GPUs.
func TestGPUsOfNodesOnOneMachine(t *testing.T) {
	a, w := gpuWorld(1, nil)
	a.oneMachine = true
	require.NoError(t, a.job.placing.giveGPUs(w, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=1"}, {"CUDA_VISIBLE_DEVICES=2"}}, gpuEnvs(w))

	a, w = gpuWorld(2, nil)
	a.oneMachine = true
	require.EqualError(t, a.job.placing.giveGPUs(w, fourGPUs(), nil), "--gpus-per-rank 2: the host has 4 NVIDIA GPUs, and 3 ranks want 2 each; use --ppn 2, or a smaller number")
}

// Nobody looks for GPUs where none are to be given.
func TestGPUsThatNobodyWants(t *testing.T) {
	for name, change := range map[string]func(*testNode){
		"no flag":           func(a *testNode) { a.job.launch.GPUsPerRank = 0 },
		"named for all":     func(a *testNode) { a.job.launch.EnvGiven = []string{"CUDA_VISIBLE_DEVICES=9"} },
		"named for the app": func(a *testNode) { a.job.worlds[0].spec.Apps[0].Env = []string{"HIP_VISIBLE_DEVICES=9"} },
	} {
		a, w := gpuWorld(1, nil)
		change(a)
		require.NoError(t, a.job.placing.giveGPUs(w, fstest.MapFS{}, nil), name)
		require.Equal(t, [][]string{nil, nil}, gpuEnvs(w), name)
	}
}

// Ranks that are bound to their GPUs have those CPUs near them that are the job's.
func TestBoundNearGPUs(t *testing.T) {
	ours, err := unix.Affinity(0)
	require.NoError(t, err)
	first, last := ours[:1], ours[len(ours)-1:]
	root := fstest.MapFS{}
	for pci, cpus := range map[string]string{"0000:01:00.0": binding.Format(first), "0000:02:00.0": binding.Format(last) + ",65000", "0000:03:00.0": "65000-65001"} {
		root["proc/driver/nvidia/gpus/"+pci+"/information"] = &fstest.MapFile{}
		root["sys/bus/pci/devices/"+pci+"/local_cpulist"] = &fstest.MapFile{Data: []byte(cpus + "\n")}
	}
	a, w := gpuWorld(1, nil)
	a.common.BindTo = string(binding.GPU)
	bind := func(w *world) error {
		return cmp.Or(a.job.placing.giveGPUs(w, root, nil), a.job.placing.findNear(w, root, nil), a.job.placing.bind(w))
	}
	require.NoError(t, bind(w))
	require.Equal(t, [][]int{first, last}, [][]int{w.ranks[0].cpus, w.ranks[1].cpus})
	require.Equal(t, []string{"CUDA_VISIBLE_DEVICES=0", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, w.ranks[0].gpuEnv)
	require.Equal(t, binding.Format(last), w.ranks[1].record.CPUs)

	_, later := gpuWorld(1, []string{"CUDA_DEVICE_ORDER=FASTEST_FIRST"})
	a.job.worlds[1] = later
	w.ranks[0].Exited = true
	err = bind(later)
	require.EqualError(t, err, "--bind-to gpu: CPUs 65000-65001 are near the rank's GPUs, of which the job may use none: it may use CPUs "+binding.Format(ours)+"; use --bind-to none")
	require.Equal(t, job.Rank(2), err.(*placeError).rank) //nolint:errorlint // its own type
	require.Equal(t, []string{"CUDA_VISIBLE_DEVICES=0"}, later.ranks[0].gpuEnv, "the user's order")

	// Without GPUs of their own, ranks use those of their numbers, among the user's.
	a, w = gpuWorld(0, nil)
	a.common.BindTo = string(binding.GPU)
	require.NoError(t, bind(w))
	require.Equal(t, [][]int{first, last}, [][]int{w.ranks[0].cpus, w.ranks[1].cpus})
	require.Equal(t, []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID"}, w.ranks[0].gpuEnv)
	a, w = gpuWorld(1, []string{"CUDA_VISIBLE_DEVICES=1,0"})
	a.common.BindTo = string(binding.GPU)
	require.NoError(t, bind(w))
	require.Equal(t, [][]int{last, first}, [][]int{w.ranks[0].cpus, w.ranks[1].cpus})
	a, w = gpuWorld(0, []string{"CUDA_VISIBLE_DEVICES=1"})
	a.common.BindTo = string(binding.GPU)
	require.EqualError(t, bind(w), "--bind-to gpu: the host has 3 NVIDIA GPUs, of which CUDA_VISIBLE_DEVICES=1 leaves 1, and 2 ranks want 1 each; use --ppn 1, or a smaller number")
	a, w = gpuWorld(0, nil)
	a.common.BindTo = string(binding.GPU)
	require.EqualError(t, a.job.placing.findNear(w, fourGPUs(), nil), "--bind-to gpu: the host does not say in /proc/driver/nvidia/gpus near which CPUs GPU 0 is; use --bind-to numa, or none")
	require.ErrorContains(t, a.job.placing.findNear(w, fstest.MapFS{}, nil), "--bind-to gpu: the host has no GPU, by ")
}
