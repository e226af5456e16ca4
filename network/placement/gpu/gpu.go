// Package gpu gives each rank of a host GPUs of its own: those that the host has, as its
// files tell (Read), in the order of the ranks (Host.Assign). Pure; files are behind an
// fs.FS.
package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The variables by which GPUs are chosen. ROCm's runtime takes ROCR's first, and HIP
// numbers the others anew, where it takes HIP's, else CUDA's.
const (
	CUDA = "CUDA_VISIBLE_DEVICES"
	ROCR = "ROCR_VISIBLE_DEVICES"
	HIP  = "HIP_VISIBLE_DEVICES"
)

// Maker is the maker of a host's GPUs.
type Maker string

// The makers whose GPUs are found.
const (
	NVIDIA Maker = "NVIDIA"
	AMD    Maker = "AMD"
)

// Host has the GPUs of a host.
type Host struct {
	Maker   Maker
	Has     int      // their number
	Devices []string // those that ranks may use, as the variables name them, in order
	Within  string   // the NAME=value that leaves only Devices; "" where nothing does
}

// Assign gives so many ranks per devices each, in order, of those that are not taken.
// The error, where these are too few, names no host.
func (h Host) Assign(per, ranks int, taken []string) ([][]string, error) {
	if per < 1 || ranks < 0 {
		return nil, fmt.Errorf("%d GPUs for each of %d ranks", per, ranks)
	}
	free := slices.DeleteFunc(slices.Clone(h.Devices), func(d string) bool { return slices.Contains(taken, d) })
	if ranks > len(free)/per {
		return nil, h.tooFewError(per, ranks, len(free))
	}
	sets := make([][]string, ranks)
	for i := range sets {
		sets[i] = free[i*per : (i+1)*per : (i+1)*per]
	}
	return sets, nil
}

// Free counts the devices that are not taken.
func (h Host) Free(taken []string) (n int) {
	for _, d := range h.Devices {
		if !slices.Contains(taken, d) {
			n++
		}
	}
	return n
}

func (h Host) tooFewError(per, ranks, free int) error {
	if h.Has == 0 {
		return fmt.Errorf("the host has no GPU, by /%s, /%s/nvidia[0-9]* and /%s; leave the flag out, or set -x %s for a program that finds some",
			nvidiaGPUs, devices, amdNodes, CUDA)
	}
	text := "the host has " + count(h.Has, h.Maker)
	if h.Within != "" {
		text += fmt.Sprintf(", of which %.100s leaves %d", h.Within, len(h.Devices))
	}
	if used := len(h.Devices) - free; used > 0 {
		text += fmt.Sprintf(", ranks that live have %d", used)
	}
	want := fmt.Sprintf("%d ranks want %d each", ranks, per)
	if ranks == 1 {
		want = fmt.Sprintf("1 rank wants %d", per)
	}
	hint := "a smaller number"
	if fit := free / per; fit > 0 {
		hint = fmt.Sprintf("--ppn %d, or a smaller number", fit)
	}
	return fmt.Errorf("%s, and %s; use %s", text, want, hint)
}

func count(n int, of Maker) string {
	if n == 1 {
		return fmt.Sprintf("1 %s GPU", of)
	}
	return fmt.Sprintf("%d %s GPUs", n, of)
}

// Env returns the variables of a rank that is to have these devices.
func (h Host) Env(list []string) []string {
	names := strings.Join(list, ",")
	if h.Maker != AMD {
		return []string{CUDA + "=" + names}
	}
	anew := make([]string, len(list))
	for i := range anew {
		anew[i] = strconv.Itoa(i)
	}
	numbers := strings.Join(anew, ",")
	return []string{ROCR + "=" + names, HIP + "=" + numbers, CUDA + "=" + numbers}
}

// Chosen tells whether an environment names GPUs itself.
func Chosen(environ []string) bool {
	return slices.ContainsFunc(environ, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == CUDA || name == ROCR || name == HIP
	})
}
