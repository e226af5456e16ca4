package agent

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/agent/serve"
	"github.com/golaunch/golaunch/bootstrap/registry"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

// fourGPUs are the files of a host with as many.
func fourGPUs() fstest.MapFS {
	return fstest.MapFS{"dev/nvidia0": {}, "dev/nvidia1": {}, "dev/nvidia2": {}, "dev/nvidia3": {}, "dev/nvidiactl": {}}
}

// gpuWorld is an agent of host 3 that is to give ranks so many GPUs each, with a world
// of apps with these environments. Each has a rank on host 1 and two on host 3.
func gpuWorld(per int, envs ...[]string) (*Agent, *world) {
	w := &world{}
	for i, env := range envs {
		w.Apps = append(w.Apps, job.App{Env: env})
		first := job.Rank(3 * i)
		w.Blocks = append(w.Blocks, job.Block{Host: 1, First: first, Count: 1, App: i}, job.Block{Host: 3, First: first + 1, Count: 2, App: i})
		for n := range job.Rank(2) {
			w.ranks = append(w.ranks, &rank{world: w, Rank: serve.Rank{Number: first + 1 + n, App: i}})
		}
	}
	a := &Agent{self: overlay.HostEntry{Index: 3}, launch: &overlay.Launch{}, worlds: map[int]*world{0: w}}
	a.launch.GPUsPerRank = per
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
	require.NoError(t, a.giveGPUs(w, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=1"}, nil, nil, {"CUDA_VISIBLE_DEVICES=2"}, {"CUDA_VISIBLE_DEVICES=3"}}, gpuEnvs(w))

	_, later := gpuWorld(1, nil)
	a.worlds[1] = later
	err := a.giveGPUs(later, fourGPUs(), nil)
	require.EqualError(t, err, "--gpus-per-rank 1: the host has 4 NVIDIA GPUs, ranks that live have 4, and 2 ranks want 1 each; use a smaller number")
	require.Equal(t, job.Rank(1), err.(*placeError).rank) //nolint:errorlint // its own type
	w.ranks[0].Exited, w.ranks[5].Exited = true, true
	require.NoError(t, a.giveGPUs(later, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=3"}}, gpuEnvs(later))

	a, w = gpuWorld(1, nil)
	require.NoError(t, a.giveGPUs(w, fourGPUs(), []string{"CUDA_VISIBLE_DEVICES=3,1"}))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=3"}, {"CUDA_VISIBLE_DEVICES=1"}}, gpuEnvs(w), "a manager's part")
}

// Nodes on one machine share its GPUs.
func TestGPUsOfNodesOnOneMachine(t *testing.T) {
	a, w := gpuWorld(1, nil)
	a.common.Bootstrap = registry.Local().Name
	require.NoError(t, a.giveGPUs(w, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=1"}, {"CUDA_VISIBLE_DEVICES=2"}}, gpuEnvs(w))

	a, w = gpuWorld(2, nil)
	a.common.Bootstrap = registry.Local().Name
	require.EqualError(t, a.giveGPUs(w, fourGPUs(), nil), "--gpus-per-rank 2: the host has 4 NVIDIA GPUs, and 3 ranks want 2 each; use --ppn 2, or a smaller number")
}

// Nobody looks for GPUs where none are to be given.
func TestGPUsThatNobodyWants(t *testing.T) {
	for name, change := range map[string]func(*Agent){
		"no flag":           func(a *Agent) { a.launch.GPUsPerRank = 0 },
		"named for all":     func(a *Agent) { a.launch.EnvGiven = []string{"CUDA_VISIBLE_DEVICES=9"} },
		"named for the app": func(a *Agent) { a.worlds[0].Apps[0].Env = []string{"HIP_VISIBLE_DEVICES=9"} },
	} {
		a, w := gpuWorld(1, nil)
		change(a)
		require.NoError(t, a.giveGPUs(w, fstest.MapFS{}, nil), name)
		require.Equal(t, [][]string{nil, nil}, gpuEnvs(w), name)
	}
}
