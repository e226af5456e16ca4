package scale

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// The machine is idle when less than idlePart of it was in use for a while, and
// a cluster is settled when it takes less than idlePart of a processor. Neither is
// waited for longer than idleWait.
const (
	idleWhile = 150 * time.Millisecond
	idlePart  = 0.04
	idleWait  = 3 * time.Second
)

// sample is the time used of the processors until a moment.
type sample struct {
	at      time.Time
	machine time.Duration // by everything
	cluster time.Duration
	self    time.Duration            // by this process
	kernel  map[string]time.Duration // by the kernel's own threads, by PID
}

func sampleOf(c *cluster.Cluster) (s sample, err error) {
	if s.cluster, err = c.CPUTime(); err != nil {
		return s, err
	}
	s.kernel, s.self = kernelCPU(), ownCPU()
	s.at, s.machine = time.Now(), -idleCPU()
	return s, nil
}

// others returns the part of the machine that other programs used from s to t: all but
// the cluster, this process, and the kernel's threads, which work for everyone.
func (s sample) others(t sample) float64 {
	whole := t.at.Sub(s.at) * time.Duration(runtime.NumCPU())
	other := whole + t.machine - s.machine - (t.cluster - s.cluster) - (t.self - s.self)
	for pid, used := range t.kernel {
		other -= used - s.kernel[pid]
	}
	return max(0, float64(other)/float64(whole))
}

// awaitIdle waits until the machine does nothing.
func awaitIdle(ctx context.Context) error {
	for begin := time.Now(); time.Since(begin) < idleWait; {
		at, idle := time.Now(), idleCPU()
		if err := pause(ctx, idleWhile); err != nil {
			return err
		}
		whole := time.Since(at) * time.Duration(runtime.NumCPU())
		if float64(whole-(idleCPU()-idle)) < idlePart*float64(whole) {
			break
		}
	}
	return ctx.Err()
}

// settled waits until the cluster does nothing.
func settled(ctx context.Context, c *cluster.Cluster) (s sample, err error) {
	if s, err = sampleOf(c); err != nil {
		return s, err
	}
	for begin := time.Now(); time.Since(begin) < idleWait; {
		was := s
		if err := pause(ctx, idleWhile); err != nil {
			return s, err
		}
		if s, err = sampleOf(c); err != nil {
			return s, err
		}
		if float64(s.cluster-was.cluster) < idlePart*float64(s.at.Sub(was.at)) {
			break
		}
	}
	return s, ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// idleCPU returns the idle time of all processors so far, in sum.
func idleCPU() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, word := range strings.Fields(line) {
		if i == 4 || i == 5 { // idle, iowait
			n, _ := strconv.ParseInt(word, 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// kernelCPU returns the processor time of each of the kernel's threads so far.
func kernelCPU() map[string]time.Duration {
	used := map[string]time.Duration{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == "2" { // the parent: kthreadd
			pid := filepath.Base(filepath.Dir(file))
			used[pid] = threadCPU(filepath.Join("/proc", pid, "schedstat"))
		}
	}
	return used
}

// processCPU returns the processor time of a process so far.
func processCPU(pid int) (sum time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		sum += threadCPU(file)
	}
	return sum
}

// threadCPU returns the first of the numbers of a schedstat.
func threadCPU(file string) time.Duration {
	text, _ := os.ReadFile(file)
	word, _, _ := strings.Cut(string(text), " ")
	n, _ := strconv.ParseInt(word, 10, 64)
	return time.Duration(n)
}

// machine names the processor and the kernel.
func machine() string {
	model := "unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			model = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
			break
		}
	}
	return fmt.Sprintf("%d cores, %s, Linux %s", runtime.NumCPU(), model, results.Kernel())
}
