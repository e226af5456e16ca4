package launcherload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// load is the usage of a job.
type load struct {
	nodes, ppn  int
	descriptors int           // of golaunch, the most that were seen
	memory      int64         // of golaunch, bytes resident at its peak
	cpu         time.Duration // of golaunch
	wall        time.Duration
	agents      int           // in processes that left word
	agentMemory int64         // bytes of these processes
	agentCPU    time.Duration // of these processes
}

// poll is the interval of looks at golaunch.
const poll = 5 * time.Millisecond

// ticks is the kernel's unit of processor time, per second.
const ticks = 100

// measure runs one job whose agents are started one by another.
func measure(ctx context.Context, golaunch string, nodes, ppn, degree int) (load, error) {
	self, err := os.Executable()
	if err != nil {
		return load{}, err
	}
	dir, err := os.MkdirTemp("", "launcherload-")
	if err != nil {
		return load{}, err
	}
	defer os.RemoveAll(dir)
	return runJob(ctx, load{nodes: nodes, ppn: ppn}, dir, []string{usageDir + "=" + dir}, golaunch, "-H", fmt.Sprintf("x[1-%d]", nodes),
		"--bootstrap", "exec", "--exec-command", self+" launcherload "+rootWord+" {host} {command}", "--exec-from=nodes", "--degree", strconv.Itoa(degree))
}

// runJob runs golaunch with some flags and in an environment, and looks at it. The
// processes of agents leave word in a directory.
func runJob(ctx context.Context, l load, dir string, env []string, golaunch string, flags ...string) (load, error) {
	argv := append(flags, "-N", strconv.Itoa(l.ppn), "-n", strconv.Itoa(l.nodes*l.ppn),
		"--stdin", "none", "--connect-timeout", "60", "--lost-after", "60", "true")
	cmd := exec.CommandContext(ctx, golaunch, argv...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return l, err
	}
	watched := l.watch(cmd.Process.Pid)
	err := cmd.Wait()
	l.wall = time.Since(begin)
	if err != nil {
		return l, fmt.Errorf("%w: %s", err, &said)
	}
	if watched != nil {
		return l, watched
	}
	return l, l.readUsage(dir)
}

// watch looks at a child until it has ended; it is not waited for.
func (l *load) watch(pid int) error {
	for {
		state, cpu, err := processorTime(pid)
		if err != nil {
			return err
		}
		l.cpu = max(l.cpu, cpu, threadTime(pid))
		if state == "Z" {
			return nil
		}
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err == nil { // else it has just ended
			l.descriptors = max(l.descriptors, len(fds))
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil {
			l.memory = max(l.memory, peak(string(status)))
		}
		time.Sleep(poll) //nolint:forbidigo // it samples
	}
}

// threadTime returns the processor time of the threads that live: to the nanosecond,
// but none at the very end.
func threadTime(pid int) (sum time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		var ran time.Duration
		if b, err := os.ReadFile(file); err == nil { // else it has just ended
			_, _ = fmt.Sscan(string(b), &ran)
		}
		sum += ran
	}
	return sum
}

// processorTime reads /proc/PID/stat, which counts in hundredths of a second.
func processorTime(pid int) (state string, cpu time.Duration, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	const stateField, userField, systemField = 0, 11, 12 // after the name, see proc(5)
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) <= systemField {
		return "", 0, fmt.Errorf("/proc/%d/stat: too short", pid)
	}
	user, err1 := strconv.Atoi(f[userField])
	system, err2 := strconv.Atoi(f[systemField])
	return f[stateField], time.Duration(user+system) * time.Second / ticks, cmp.Or(err1, err2)
}

// peak returns the most memory that a process held, by /proc/PID/status.
func peak(status string) int64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// errNoWord is the error of a measurement whose agents all were killed.
var errNoWord = errors.New("no process of agents has left word")

// readUsage adds up the usage that the processes of agents have left word of.
func (l *load) readUsage(dir string) error {
	files, err := filepath.Glob(dir + "/*")
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var agents int
		var memory, cpu int64
		if _, err := fmt.Sscan(string(b), &agents, &memory, &cpu); err != nil {
			return fmt.Errorf("%q: %w", b, err)
		}
		l.agents += agents
		l.agentMemory += memory
		l.agentCPU += time.Duration(cpu) * time.Microsecond
	}
	if l.agents == 0 { // golaunch kills those that take long to end, on a busy machine
		return errNoWord
	}
	return nil
}

// median takes each number's.
func median(loads []load) load {
	m := loads[0]
	m.descriptors = middle(loads, func(l load) int { return l.descriptors })
	m.memory = middle(loads, func(l load) int64 { return l.memory })
	m.cpu = middle(loads, func(l load) time.Duration { return l.cpu })
	m.wall = middle(loads, func(l load) time.Duration { return l.wall })
	m.agentMemory = middle(loads, func(l load) int64 { return l.agentMemory / int64(l.agents) })
	m.agentCPU = middle(loads, func(l load) time.Duration { return l.agentCPU / time.Duration(l.agents) })
	m.agents = 1
	return m
}

func middle[T int | int64 | time.Duration](loads []load, of func(load) T) T {
	var values []T
	for _, l := range loads {
		values = append(values, of(l))
	}
	return results.Median(values)
}
