package gpu

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// near returns files of a host of two NUMA nodes with four GPUs: the CPUs near each are
// those of its node, in two ranges.
func near(gpus ...string) []string {
	cpus := []string{"0-1,8-9", "0-1,8-9", "2-3,10-11", "2-3,10-11"}
	var list []string
	for i, pci := range gpus {
		list = append(list, "sys/bus/pci/devices/"+pci+"/local_cpulist="+cpus[i]+"\n", "sys/bus/pci/devices/"+pci+"/numa_node="+cpus[i][:1]+"\n")
	}
	return list
}

func TestNear(t *testing.T) {
	const gpus = "proc/driver/nvidia/gpus/"
	nvidia := files(append(near("0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0001:00:00.0"),
		gpus+"0000:07:00.0/information=Model: x\nGPU UUID: \t GPU-aaaa\nDevice Minor: 3\n",
		gpus+"0000:0F:00.0/information=GPU UUID: GPU-bbbb\n", gpus+"0000:47:00.0/information", gpus+"0001:00:00.0/information=GPU UUID: GPU-cccc\n",
		gpus+"0002:00:00.0/information", "sys/bus/pci/devices/0002:00:00.0/local_cpulist=\n")...)
	const node = "sys/class/kfd/kfd/topology/nodes/"
	kfd := near("0000:c1:00.0", "0000:c6:01.2", "0001:07:00.0")
	for i, at := range []string{"49408", "50698", "1792\ndomain 1"} { // of node 2, 9 and 10
		number := []string{"2", "9", "10"}[i]
		kfd = append(kfd, node+number+"/gpu_id=7\n", node+number+"/properties=location_id "+at+"\n")
	}
	amd := files(append(kfd, node+"0/gpu_id=0\n")...)
	for _, x := range []struct {
		maker   Maker
		devices string
		want    []int
	}{
		{NVIDIA, "0", []int{0, 1, 8, 9}},
		{NVIDIA, "2", []int{2, 3, 10, 11}},
		{NVIDIA, "0 3", []int{0, 1, 2, 3, 8, 9, 10, 11}},
		{NVIDIA, "GPU-bb", []int{0, 1, 8, 9}},
		{NVIDIA, "GPU-cccc", []int{2, 3, 10, 11}},
		{AMD, "0", []int{0, 1, 8, 9}},
		{AMD, "1", []int{0, 1, 8, 9}},
		{AMD, "2", []int{2, 3, 10, 11}},
	} {
		root := nvidia
		if x.maker == AMD {
			root = amd
		}
		got, err := Host{Maker: x.maker}.Near(root, strings.Fields(x.devices))
		require.NoError(t, err, "%+v", x)
		require.Equal(t, x.want, got, "%+v", x)
	}
	for name, want := range map[string]string{
		"5":          "the host does not say in /proc/driver/nvidia/gpus near which CPUs GPU 5 is; use --bind-to numa, or none",
		"MIG-aaaa/1": "the host does not say in /proc/driver/nvidia/gpus near which CPUs GPU MIG-aaaa/1 is; use --bind-to numa, or none",
		"4":          "GPU 4 has no CPUs near it, by /sys/bus/pci/devices/0002:00:00.0/local_cpulist; use --bind-to numa, or none",
	} {
		_, err := Host{Maker: NVIDIA}.Near(nvidia, []string{name})
		require.EqualError(t, err, want)
	}
	_, err := Host{Maker: NVIDIA}.Near(files(gpus+"0000:07:00.0/information"), []string{"0"})
	require.ErrorContains(t, err, "the host does not say near which CPUs GPU 0 is: open sys/bus/pci/devices/0000:07:00.0/local_cpulist: ")
	_, err = Host{Maker: NVIDIA}.Near(files(gpus+"0000:07:00.0/information", "sys/bus/pci/devices/0000:07:00.0/local_cpulist=x\n"), []string{"0"})
	require.EqualError(t, err, `/sys/bus/pci/devices/0000:07:00.0/local_cpulist: "x": expected a list of numbers below 65536, such as 0-3,8`)
}
