package unix

import (
	"fmt"
	"math/bits"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxCPUs bounds the CPUs that a mask has room for; Linux builds have up to 8192.
const maxCPUs = 1 << 16

// Affinity returns the CPUs, ascending, on which a process may run, or the calling
// thread where pid is 0: those of its affinity that its cgroup allows and that are
// online (sched_getaffinity(2)).
func Affinity(pid int) ([]int, error) {
	for room := 1024; ; room *= 4 {
		mask := make([]uint64, room/64)
		n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(pid), uintptr(room/8), uintptr(unsafe.Pointer(&mask[0])))
		switch {
		case errno == unix.EINVAL && room < maxCPUs: // the kernel's mask is longer
			continue
		case errno != 0:
			return nil, fmt.Errorf("sched_getaffinity: %w", errno)
		}
		return maskCPUs(mask[:n/8]), nil
	}
}

// maskCPUs returns the CPUs of a mask.
func maskCPUs(mask []uint64) []int {
	var cpus []int
	for i, word := range mask {
		for ; word != 0; word &= word - 1 {
			cpus = append(cpus, 64*i+bits.TrailingZeros64(word))
		}
	}
	return cpus
}

// SetAffinity has a process, or the calling thread where pid is 0, run on these CPUs
// alone. Processes that a thread starts inherit its CPUs. The kernel leaves out those
// that the cgroup does not allow or that are offline, and refuses if none remains.
func SetAffinity(pid int, cpus []int) error {
	var mask []uint64
	for _, c := range cpus {
		if c < 0 || c >= maxCPUs {
			return fmt.Errorf("sched_setaffinity: CPU %d: no such CPU", c)
		}
		for c/64 >= len(mask) {
			mask = append(mask, 0)
		}
		mask[c/64] |= 1 << (c % 64)
	}
	if len(mask) == 0 {
		return fmt.Errorf("sched_setaffinity: no CPU: %w", unix.EINVAL)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(pid), uintptr(8*len(mask)), uintptr(unsafe.Pointer(&mask[0])))
	runtime.KeepAlive(mask)
	if errno != 0 {
		return fmt.Errorf("sched_setaffinity: %w", errno)
	}
	return nil
}
