// Package trial is the common part of programs that harm golaunch on a test cluster and
// look at the consequences: a run of it and its end, blows at its parts, leftovers on
// the machines, and the peaks of its memory.
package trial

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// startLimit bounds how long a job may take to reach its phase, and what a blow
// is to strike to appear.
const startLimit = 3 * time.Minute

// Job is one run of golaunch on the cluster's head.
type Job struct {
	Cmd    *cluster.Cmd
	Stderr bytes.Buffer  // to be read when it has ended
	Ready  chan struct{} // closed when enough output has come, or it ended: Err
	Err    error
	// Ignore tells processes that are not golaunch's to end; may be nil.
	Ignore func(node string, p cluster.Proc) bool
	// Patience is the time for which Find, and so a blow, waits for a process.
	Patience time.Duration

	c      *cluster.Cluster
	read   chan struct{} // closed when standard output has ended
	before map[string]map[int]uint64
}

// Start starts golaunch with flags and a program, in an environment with env
// added, and remembers what ran on the nodes before. Ready is closed once enough
// says so of a line of the output.
func Start(c *cluster.Cluster, argv, env []string, enough func(line string) bool) (*Job, error) {
	return StartAt(nil, c, argv, env, enough)
}

// StartAt is Start at a terminal, which golaunch has as its standard input and as that
// of its session; nil is none.
func StartAt(tty *os.File, c *cluster.Cluster, argv, env []string, enough func(line string) bool) (*Job, error) {
	if tty != nil {
		argv = append([]string{"setsid", "-c"}, argv...)
	}
	j := &Job{c: c, Patience: startLimit, Ready: make(chan struct{}), read: make(chan struct{})}
	var err error
	if j.before, err = snapshot(c); err != nil {
		return nil, err
	}
	j.Cmd = c.Command(cluster.Head, argv...)
	j.Cmd.Env = append(j.Cmd.Env, env...)
	j.Cmd.Stderr = &j.Stderr
	if tty != nil {
		j.Cmd.Stdin = tty
	}
	out, err := j.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.Cmd.Start(); err != nil {
		return nil, err
	}
	go j.readOutput(out, enough) // ends with golaunch; End waits for it
	return j, nil
}

// readOutput reads golaunch's standard output to its end.
func (j *Job) readOutput(out io.Reader, enough func(string) bool) {
	defer close(j.read)
	in := bufio.NewReader(out)
	for told := false; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			if !told {
				j.Err = fmt.Errorf("golaunch ended before the blow: %w", err)
				close(j.Ready)
			}
			return
		}
		if !told && enough(line) {
			told = true
			close(j.Ready)
		}
	}
}

// Await waits until the job has reached its phase.
func (j *Job) Await() error {
	select {
	case <-j.Ready:
		return j.Err
	case <-time.After(startLimit):
		return fmt.Errorf("the job did not start within %v", startLimit)
	}
}

// IsReady reports whether the job has reached its phase, or ended.
func (j *Job) IsReady() bool {
	select {
	case <-j.Ready:
		return true
	default:
		return false
	}
}

// End waits for golaunch and returns its exit status, 128 + N for a signal, as
// the client of a container engine has it, too.
func (j *Job) End(limit time.Duration) (int, error) {
	done := make(chan struct{})
	go func() { // ends with golaunch, which is killed at the latest below
		<-j.read
		_ = j.Cmd.Wait() // the status says it
		close(done)
	}()
	select {
	case <-done:
		if ws, ok := j.Cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return j.Cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		_ = j.Cmd.Signal(syscall.SIGKILL) // it may have ended just now
		<-done
		return 0, fmt.Errorf("golaunch did not end within %v", limit)
	}
}

// Everywhere are the machines that a job may leave something on.
func Everywhere(c *cluster.Cluster) []string {
	names := []string{cluster.Head}
	for _, n := range c.Nodes() {
		names = append(names, n.Name)
	}
	return names
}

// snapshot lists the processes of all machines: PID and start.
func snapshot(c *cluster.Cluster) (map[string]map[int]uint64, error) {
	all := make(map[string]map[int]uint64)
	for _, name := range Everywhere(c) {
		procs, err := c.Processes(name)
		if err != nil {
			return nil, err
		}
		all[name] = make(map[int]uint64)
		for _, p := range procs {
			all[name][p.PID] = p.Start
		}
	}
	return all, nil
}

// fresh tells a process that did not run before the job.
func (j *Job) fresh(node string, p cluster.Proc) bool {
	start, old := j.before[node][p.PID]
	return !old || start != p.Start
}

// left lists what runs on the named machines that did not before the job: its
// processes, whatever they did to their environment, session or parent.
func (j *Job) left(names []string) (map[string][]string, error) {
	found := make(map[string][]string)
	for _, name := range names {
		procs, err := j.c.Processes(name)
		if err != nil {
			return nil, err
		}
		for _, p := range procs {
			if j.fresh(name, p) && (j.Ignore == nil || !j.Ignore(name, p)) {
				found[name] = append(found[name], fmt.Sprintf("%s: %d %s", name, p.NodePID, strings.Join(p.Cmdline, " ")))
			}
		}
	}
	return found, nil
}

// AwaitNothing waits until nothing of the job is left anywhere, for at most
// limit after since. It returns how long that took, and what was last to go.
func (j *Job) AwaitNothing(since time.Time, limit time.Duration) (took time.Duration, last string, err error) {
	return awaitNothing(Everywhere(j.c), j.left, since, limit)
}

// awaitNothing asks left of those machines again that had something. When they have no
// more it asks of all: processes on their way may have come to others meanwhile.
func awaitNothing(all []string, left func([]string) (map[string][]string, error), since time.Time, limit time.Duration) (took time.Duration, last string, err error) {
	names := all
	for {
		took := time.Since(since)
		found, err := left(names)
		if err != nil {
			return took, last, err
		}
		if len(found) == 0 {
			if len(names) == len(all) {
				return took, last, nil
			}
			names = all
			continue
		}
		names = slices.Sorted(maps.Keys(found))
		var lines []string
		for _, name := range names {
			lines = append(lines, found[name]...)
		}
		last = strings.Join(lines, "; ")
		if took > limit {
			return took, last, fmt.Errorf("left after %v: %s", took.Round(time.Millisecond), last)
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // how exactly the time is measured
	}
}

// Clear kills what is left, so that one failure does not become the next.
func (j *Job) Clear() error {
	for _, name := range Everywhere(j.c) {
		procs, err := j.c.Processes(name)
		if err != nil {
			return err
		}
		for _, p := range procs {
			if j.fresh(name, p) {
				_ = p.Signal(syscall.SIGKILL) // it may have ended
			}
		}
	}
	return nil
}

// Find waits for the job's process on a node whose command line has the word, or a path
// that ends in it: programs may be copied.
func (j *Job) Find(node, word string) (cluster.Proc, error) {
	for deadline := time.Now().Add(j.Patience); ; {
		procs, err := j.c.Processes(node)
		if err != nil {
			return cluster.Proc{}, err
		}
		for _, p := range procs {
			if j.fresh(node, p) && slices.ContainsFunc(p.Cmdline, func(w string) bool { return w == word || strings.HasSuffix(w, "/"+word) }) {
				return p, nil
			}
		}
		if time.Now().After(deadline) {
			return cluster.Proc{}, fmt.Errorf("%s: no %s within %v", node, word, j.Patience)
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // it is starting
	}
}
