package gpu

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// files returns a host's, each "path" or "path=text".
func files(list ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for _, f := range list {
		name, text, _ := strings.Cut(f, "=")
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestRead(t *testing.T) {
	four := files("proc/driver/nvidia/gpus/0000:07:00.0/information", "proc/driver/nvidia/gpus/0000:0f:00.0/information",
		"proc/driver/nvidia/gpus/0000:47:00.0/information", "proc/driver/nvidia/gpus/0000:4e:00.0/information")
	const node = "sys/class/kfd/kfd/topology/nodes/"
	two := files(node+"0/gpu_id=0\n", node+"1/gpu_id=32412\n", node+"1/properties=cpu_cores_count 0\ndrm_render_minor 128\n",
		node+"2/gpu_id=4093\n", node+"2/properties=drm_render_minor 129\n", "dev/dri/renderD128", "dev/dri/renderD129")
	container := files(node+"0/gpu_id=0\n", node+"1/gpu_id=1\n", node+"1/properties=drm_render_minor 128\n",
		node+"2/gpu_id=2\n", node+"2/properties=drm_render_minor 129\n", node+"3/gpu_id=", node+"4/properties=x", "dev/dri/renderD129")
	for _, x := range []struct {
		name    string
		root    fstest.MapFS
		environ string
		want    Host
	}{
		{name: "nothing", root: files("dev/null"), environ: "CUDA_VISIBLE_DEVICES=0", want: Host{}},
		{name: "the driver's list", root: four, want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"0", "1", "2", "3"}}},
		{name: "device files", root: files("dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia"), want: Host{Maker: NVIDIA, Has: 2, Devices: []string{"0", "1"}}},
		{name: "a manager's part", root: four, environ: "X=1 CUDA_VISIBLE_DEVICES=2,3", want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"2", "3"}, Within: "CUDA_VISIBLE_DEVICES=2,3"}},
		{name: "the last counts", root: four, environ: "CUDA_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=1", want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"1"}, Within: "CUDA_VISIBLE_DEVICES=1"}},
		{name: "by name", root: four, environ: "CUDA_VISIBLE_DEVICES=GPU-8932f937,MIG-1/2/3", want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"GPU-8932f937", "MIG-1/2/3"}, Within: "CUDA_VISIBLE_DEVICES=GPU-8932f937,MIG-1/2/3"}},
		{name: "none by Slurm's word", root: four, environ: "CUDA_VISIBLE_DEVICES=NoDevFiles", want: Host{Maker: NVIDIA, Has: 4, Within: "CUDA_VISIBLE_DEVICES=NoDevFiles"}},
		{name: "none", root: four, environ: "CUDA_VISIBLE_DEVICES=", want: Host{Maker: NVIDIA, Has: 4, Within: "CUDA_VISIBLE_DEVICES="}},
		{name: "up to the first that is none", root: four, environ: "CUDA_VISIBLE_DEVICES=1,-1,2", want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"1"}, Within: "CUDA_VISIBLE_DEVICES=1,-1,2"}},
		{name: "and that is not there", root: four, environ: "CUDA_VISIBLE_DEVICES=3,4,2", want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"3"}, Within: "CUDA_VISIBLE_DEVICES=3,4,2"}},
		{name: "of AMD's variables not", root: four, environ: "ROCR_VISIBLE_DEVICES=2", want: Host{Maker: NVIDIA, Has: 4, Devices: []string{"0", "1", "2", "3"}}},
		{name: "AMD", root: two, want: Host{Maker: AMD, Has: 2, Devices: []string{"0", "1"}}},
		{name: "AMD's part", root: two, environ: "CUDA_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=1", want: Host{Maker: AMD, Has: 2, Devices: []string{"1"}, Within: "ROCR_VISIBLE_DEVICES=1"}},
		{name: "AMD's part by HIP", root: two, environ: "HIP_VISIBLE_DEVICES=1", want: Host{Maker: AMD, Has: 2, Devices: []string{"1"}, Within: "HIP_VISIBLE_DEVICES=1"}},
		{name: "a container with one of AMD's", root: container, want: Host{Maker: AMD, Has: 1, Devices: []string{"0"}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			require.Equal(t, x.want, Read(x.root, strings.Fields(x.environ)))
		})
	}
}

// Ranks have devices of their own, in order, and none that is taken.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
		h := Host{Maker: NVIDIA, Has: 8, Devices: names[:rapid.IntRange(0, 8).Draw(t, "devices")]}
		taken := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "taken")
		per, ranks := rapid.IntRange(1, 4).Draw(t, "per"), rapid.IntRange(0, 8).Draw(t, "ranks")
		free := []string{}
		for _, d := range h.Devices {
			used := false
			for _, other := range taken {
				used = used || d == other
			}
			if !used {
				free = append(free, d)
			}
		}
		sets, err := h.Assign(per, ranks, taken)
		require.Equal(t, err == nil, h.Free(taken)/per >= ranks)
		if per*ranks > len(free) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Len(t, sets, ranks)
		for i, set := range sets {
			require.Equal(t, free[i*per:(i+1)*per], set)
		}
	})
}

func TestTooFew(t *testing.T) {
	four := Host{Maker: NVIDIA, Has: 4, Devices: []string{"0", "1", "2", "3"}}
	one := Host{Maker: AMD, Has: 4, Devices: []string{"3"}, Within: "ROCR_VISIBLE_DEVICES=3"}
	for _, x := range []struct {
		h          Host
		per, ranks int
		taken      []string
		want       string
	}{
		{h: four, per: 2, ranks: 8, want: "the host has 4 NVIDIA GPUs, and 8 ranks want 2 each; use --ppn 2, or a smaller number"},
		{h: four, per: 8, ranks: 1, want: "the host has 4 NVIDIA GPUs, and 1 rank wants 8; use a smaller number"},
		{h: four, per: 1, ranks: 2, taken: []string{"0", "1", "3"}, want: "the host has 4 NVIDIA GPUs, ranks that live have 3, and 2 ranks want 1 each; use --ppn 1, or a smaller number"},
		{h: one, per: 1, ranks: 2, want: "the host has 4 AMD GPUs, of which ROCR_VISIBLE_DEVICES=3 leaves 1, and 2 ranks want 1 each; use --ppn 1, or a smaller number"},
		{h: Host{Maker: AMD, Has: 1, Devices: []string{"0"}}, per: 1 << 62, ranks: 4, want: "the host has 1 AMD GPU, and 4 ranks want 4611686018427387904 each; use a smaller number"},
		{h: Host{}, per: 1, ranks: 1, want: "the host has no GPU, by /proc/driver/nvidia/gpus, /dev/nvidia[0-9]* and /sys/class/kfd/kfd/topology/nodes; leave the flag out, or set -x CUDA_VISIBLE_DEVICES for a program that finds some"},
		{h: four, ranks: 1, want: "0 GPUs for each of 1 ranks"},
	} {
		_, err := x.h.Assign(x.per, x.ranks, x.taken)
		require.EqualError(t, err, x.want)
	}
}

// HIP numbers anew what ROCm's runtime leaves.
func TestEnv(t *testing.T) {
	require.Equal(t, []string{"CUDA_VISIBLE_DEVICES=2,3"}, Host{Maker: NVIDIA}.Env([]string{"2", "3"}))
	require.Equal(t, []string{"ROCR_VISIBLE_DEVICES=2,3", "HIP_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=0,1"}, Host{Maker: AMD}.Env([]string{"2", "3"}))
	require.True(t, Chosen([]string{"X=1", "ROCR_VISIBLE_DEVICES="}))
	require.False(t, Chosen([]string{"CUDA_VISIBLE=1"}))
}
