package gpu

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Where drivers tell of GPUs, below the root of the host's files.
const (
	nvidiaGPUs = "proc/driver/nvidia/gpus"          // a directory each
	devices    = "dev"                              // nvidia0 and so on
	amdNodes   = "sys/class/kfd/kfd/topology/nodes" // a directory each; those of CPUs have gpu_id 0
	amdRender  = "dev/dri/renderD"                  // and the drm_render_minor of a node
)

// Read finds the GPUs of the host whose files these are, as far as the environment
// (NAME=value, of a resource manager's) leaves them. Of a host with NVIDIA's and AMD's
// they are NVIDIA's.
func Read(root fs.FS, environ []string) Host {
	if n := nvidia(root); n > 0 {
		return restrict(Host{Maker: NVIDIA, Has: n}, environ, CUDA)
	}
	if n := len(amd(root)); n > 0 {
		return restrict(Host{Maker: AMD, Has: n}, environ, ROCR, HIP, CUDA)
	}
	return Host{}
}

func nvidia(root fs.FS) int {
	if gpus, err := fs.ReadDir(root, nvidiaGPUs); err == nil {
		return len(gpus)
	}
	files, _ := fs.ReadDir(root, devices) // without them there is none
	n := 0
	for _, f := range files {
		if number, ok := strings.CutPrefix(f.Name(), "nvidia"); ok && isNumber(number) {
			n++
		}
	}
	return n
}

// amd returns the properties of GPUs, in the order in which ROCm's runtime numbers
// them: a container may see GPUs of the host that it may not use, which have no file to
// open there.
func amd(root fs.FS) (gpus []string) {
	nodes, _ := fs.ReadDir(root, amdNodes) // without them there is none
	slices.SortStableFunc(nodes, func(x, y fs.DirEntry) int {
		return cmp.Compare(len(x.Name()), len(y.Name())) // they are numbers, in the order of texts
	})
	for _, node := range nodes {
		dir := amdNodes + "/" + node.Name()
		id, err := fs.ReadFile(root, dir+"/gpu_id")
		if text := strings.TrimSpace(string(id)); err != nil || text == "" || text == "0" {
			continue
		}
		properties, _ := fs.ReadFile(root, dir+"/properties")
		if minor := property(string(properties), "drm_render_minor"); minor != "" && minor != "0" {
			if _, err := fs.Stat(root, amdRender+minor); err != nil {
				continue
			}
		}
		gpus = append(gpus, string(properties))
	}
	return gpus
}

// property returns the value of a line "name value", "" if there is none.
func property(text, name string) string {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return f[1]
		}
	}
	return ""
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// restrict gives h its devices: those that the first of these variables that is set
// leaves, else all.
func restrict(h Host, environ []string, names ...string) Host {
	for _, name := range names {
		for _, kv := range slices.Backward(environ) {
			value, ok := strings.CutPrefix(kv, name+"=")
			if !ok {
				continue
			}
			h.Devices, h.Within = listed(value, h.Has), kv
			return h
		}
	}
	for i := range h.Has {
		h.Devices = append(h.Devices, strconv.Itoa(i))
	}
	return h
}

// listed returns the devices that a value of CUDA_VISIBLE_DEVICES leaves of has,
// numbers or names such as GPU-8932f937: the drivers read it up to the first that is
// none ("CUDA C++ Programming Guide", Environment Variables).
func listed(value string, has int) (list []string) {
	for d := range strings.SplitSeq(value, ",") {
		d = strings.TrimSpace(d)
		n, err := strconv.Atoi(d)
		number := err == nil
		named := strings.HasPrefix(d, "GPU-") || strings.HasPrefix(d, "MIG-")
		if !number && !named || number && (n < 0 || n >= has) || slices.Contains(list, d) {
			break
		}
		list = append(list, d)
	}
	return list
}
