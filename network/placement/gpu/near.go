package gpu

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/topology/node"
)

// pciDevices has a directory for each device on the PCI bus, by its address: its file
// local_cpulist has the CPUs of the NUMA node that it is in, of which numa_node has the number
// (Linux, Documentation/ABI/testing/sysfs-bus-pci).
const pciDevices = "sys/bus/pci/devices"

// DeviceOrder has CUDA number GPUs as Near does, and nvidia-smi: by their PCI addresses.
const DeviceOrder = "CUDA_DEVICE_ORDER"

// ByPCI is the value of DeviceOrder for that.
const ByPCI = "PCI_BUS_ID"

// device is a GPU as its driver describes it.
type device struct {
	pci  string // its address, such as 0000:07:00.0
	uuid string // of NVIDIA's, such as GPU-8932f937
}

// Near returns the CPUs of the NUMA nodes of devices of the host whose files these are,
// by their names in Devices, ascending. The error names the device, and no host.
func (h Host) Near(root fs.FS, devices []string) ([]int, error) {
	all := nvidiaDevices(root)
	if h.Maker == AMD {
		all = amdDevices(root)
	}
	var cpus []int
	for _, name := range devices {
		d, ok := find(all, name)
		if !ok {
			return nil, fmt.Errorf("the host does not say in /%s near which CPUs GPU %s is; use --bind-to numa, or none", h.driverDir(), name)
		}
		file := pciDevices + "/" + d.pci + "/local_cpulist"
		list, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, fmt.Errorf("the host does not say near which CPUs GPU %s is: %w; use --bind-to numa, or none", name, err)
		}
		text := strings.TrimSpace(string(list))
		if text == "" {
			return nil, fmt.Errorf("GPU %s has no CPUs near it, by /%s; use --bind-to numa, or none", name, file)
		}
		near, err := node.ParseUnits(text)
		if err != nil {
			return nil, fmt.Errorf("/%s: %w", file, err)
		}
		cpus = append(cpus, near...)
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// driverDir returns the driver's directory of GPUs.
func (h Host) driverDir() string {
	if h.Maker == AMD {
		return amdNodes
	}
	return nvidiaGPUs
}

// find returns the device of a name: its number, or the first letters of its UUID, as
// CUDA takes them.
func find(all []device, name string) (d device, ok bool) {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(all) {
			return d, false
		}
		return all[n], true
	}
	i := slices.IndexFunc(all, func(d device) bool { return strings.HasPrefix(d.uuid, name) })
	if i < 0 {
		return d, false
	}
	return all[i], true
}

// nvidiaDevices returns those of NVIDIA's driver, in the order of their PCI addresses.
func nvidiaDevices(root fs.FS) (all []device) {
	gpus, _ := fs.ReadDir(root, nvidiaGPUs) // without them none is told of
	for _, g := range gpus {
		d := device{pci: strings.ToLower(g.Name())}
		text, _ := fs.ReadFile(root, nvidiaGPUs+"/"+g.Name()+"/information") // then it has no name
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "GPU UUID:"); ok {
				d.uuid = strings.TrimSpace(value)
			}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y device) int { return cmp.Compare(x.pci, y.pci) })
	return all
}

// amdDevices returns those of AMD's driver, in its order.
func amdDevices(root fs.FS) (all []device) {
	for _, properties := range amd(root) {
		at, _ := strconv.ParseUint(property(properties, "location_id"), 10, 16) // then there is no such device
		domain, _ := strconv.ParseUint(property(properties, "domain"), 10, 32)
		all = append(all, device{pci: fmt.Sprintf("%04x:%02x:%02x.%x", domain, at>>8, at>>3&0x1f, at&7)})
	}
	return all
}
