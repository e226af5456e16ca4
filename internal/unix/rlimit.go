package unix

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Unlimited is the value of a limit that does not limit (RLIM_INFINITY).
const Unlimited = ^uint64(0)

// Rlimit is one resource limit of a process, setrlimit(2).
type Rlimit struct {
	Resource int    `cbor:"1,keyasint"` // RLIMIT_NOFILE and so on; see ResourceName
	Cur      uint64 `cbor:"2,keyasint"` // soft limit in the resource's own unit; at most Max
	Max      uint64 `cbor:"3,keyasint"` // hard limit
}

// resourceNames lists all limits: the RLIMIT_ names in lower case.
var resourceNames = map[int]string{
	unix.RLIMIT_CPU:        "cpu",
	unix.RLIMIT_FSIZE:      "fsize",
	unix.RLIMIT_DATA:       "data",
	unix.RLIMIT_STACK:      "stack",
	unix.RLIMIT_CORE:       "core",
	unix.RLIMIT_RSS:        "rss",
	unix.RLIMIT_NPROC:      "nproc",
	unix.RLIMIT_NOFILE:     "nofile",
	unix.RLIMIT_MEMLOCK:    "memlock",
	unix.RLIMIT_AS:         "as",
	unix.RLIMIT_LOCKS:      "locks",
	unix.RLIMIT_SIGPENDING: "sigpending",
	unix.RLIMIT_MSGQUEUE:   "msgqueue",
	unix.RLIMIT_NICE:       "nice",
	unix.RLIMIT_RTPRIO:     "rtprio",
	unix.RLIMIT_RTTIME:     "rttime",
}

// ResourceName returns the name of a limit as ulimit and limits.conf know it,
// such as "nofile", or "resource N" if there is none.
func ResourceName(resource int) string {
	if name, ok := resourceNames[resource]; ok {
		return name
	}
	return fmt.Sprintf("resource %d", resource)
}

// Valid reports whether the resource is known and Cur is at most Max.
func (l Rlimit) Valid() error {
	if _, ok := resourceNames[l.Resource]; !ok {
		return fmt.Errorf("resource limit: %s is unknown", ResourceName(l.Resource))
	}
	if l.Cur > l.Max {
		return fmt.Errorf("resource limit %s: soft limit %d is above hard limit %d", ResourceName(l.Resource), l.Cur, l.Max)
	}
	return nil
}

// Rlimits returns all resource limits that this process was started with, in the order
// of their numbers. The Go runtime raises the soft limit of open files at start-up;
// Rlimits returns the value before that.
func Rlimits() ([]Rlimit, error) {
	all := make([]Rlimit, 0, len(resourceNames))
	for _, id := range slices.Sorted(maps.Keys(resourceNames)) {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(id, &l); err != nil {
			return nil, fmt.Errorf("getrlimit: %s: %w", ResourceName(id), err)
		}
		// The runtime sets hard - 1, and only that (package syscall).
		if id == unix.RLIMIT_NOFILE && l.Cur == l.Max-1 {
			soft, err := originalNoFile()
			if err != nil {
				return nil, err
			}
			l.Cur = min(soft, l.Max)
		}
		all = append(all, Rlimit{Resource: id, Cur: l.Cur, Max: l.Max})
	}
	return all, nil
}

// originalNoFile finds the soft limit of open files that the Go runtime raised
// and keeps to itself: it gives it back to every program it starts, so a shell
// that waits for its input has it.
func originalNoFile() (uint64, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("find the limit of open files: %w", err)
	}
	defer r.Close()
	p, err := os.StartProcess("/bin/sh", []string{"sh"}, &os.ProcAttr{Env: []string{}, Files: []*os.File{r, nil, nil}})
	if errors.Is(err, os.ErrNotExist) { // an image without a shell: the runtime's value is near
		w.Close()
		return math.MaxUint64, nil
	}
	if err != nil {
		w.Close()
		return 0, fmt.Errorf("find the limit of open files: %w", err)
	}
	var l unix.Rlimit
	lerr := unix.Prlimit(p.Pid, unix.RLIMIT_NOFILE, nil, &l)
	w.Close() // end of the shell's script: it exits
	if _, err := p.Wait(); err != nil {
		return 0, fmt.Errorf("find the limit of open files: %w", err)
	}
	if lerr != nil {
		return 0, fmt.Errorf("find the limit of open files: prlimit: %w", lerr)
	}
	return l.Cur, nil
}

// SetRlimit sets a limit of this process, which programs started from now on inherit.
// If the hard limit cannot be raised that far (not root), the limit is set as high as
// possible; got is the outcome.
func SetRlimit(want Rlimit) (got Rlimit, err error) {
	if err := want.Valid(); err != nil {
		return Rlimit{}, err
	}
	id := want.Resource
	// Package syscall's own function: it stops the runtime from giving programs
	// the soft limit of open files that it remembers.
	err = syscall.Setrlimit(id, &syscall.Rlimit{Cur: want.Cur, Max: want.Max})
	if err == nil {
		return want, nil
	}
	if err != syscall.EPERM {
		return Rlimit{}, fmt.Errorf("setrlimit: %s: %w", ResourceName(id), err)
	}
	var have syscall.Rlimit
	if err := syscall.Getrlimit(id, &have); err != nil {
		return Rlimit{}, fmt.Errorf("getrlimit: %s: %w", ResourceName(id), err)
	}
	l := syscall.Rlimit{Cur: min(want.Cur, have.Max), Max: min(want.Max, have.Max)}
	if err := syscall.Setrlimit(id, &l); err != nil {
		return Rlimit{}, fmt.Errorf("setrlimit: %s: %w", ResourceName(id), err)
	}
	return Rlimit{Resource: id, Cur: l.Cur, Max: l.Max}, nil
}

// RaiseNoFile raises this process's soft limit of open files to at least want, and
// where that is above the hard limit tries to raise that too (root), up to the kernel's
// fs.nr_open. It returns the soft limit then in force, which may be less than want:
// that is no error, since the caller can do with less.
func RaiseNoFile(want uint64) (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("getrlimit: nofile: %w", err)
	}
	if l.Cur >= want {
		return l.Cur, nil
	}
	if want > l.Max {
		hard := min(want, nrOpen())
		if hard > l.Max && syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: hard, Max: hard}) == nil {
			return hard, nil
		}
	}
	soft := min(want, l.Max)
	if soft <= l.Cur {
		return l.Cur, nil
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: soft, Max: l.Max}); err != nil {
		return l.Cur, fmt.Errorf("setrlimit: nofile: %w", err)
	}
	return soft, nil
}

// OpenFiles returns this process's soft limit of open files; 0 where it is not known.
func OpenFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Cur
}

// NeedFiles makes sure that this process may have want files open; the error says that
// what needs them.
func NeedFiles(want uint64, what string) error {
	got, err := RaiseNoFile(want)
	if err == nil && got < want {
		err = fmt.Errorf("%s needs %d open files, the limit is %d; raise it (ulimit -n)", what, want, got)
	}
	return err
}

// nrOpen returns the kernel's ceiling for any limit of open files; where it cannot
// be read, its default.
func nrOpen() uint64 { return kernelNumber("fs/nr_open", 1<<20) }

// MaxProcesses returns the number of processes and threads that this machine can have
// at once.
func MaxProcesses() uint64 { return kernelNumber("kernel/pid_max", 1<<22) }

// kernelNumber reads a number below /proc/sys; where it cannot be read, fallback.
func kernelNumber(name string, fallback uint64) uint64 {
	b, err := ReadFile("/proc/sys/" + name)
	if err != nil {
		return fallback
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return fallback
	}
	return n
}
