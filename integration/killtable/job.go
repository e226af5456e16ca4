package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// The job of every cell: two ranks on each of seven nodes in a binary tree.
// n001 is its root, n002 a middle node above n003 and n004, n007 a leaf.
const (
	nodeCount = 7
	perNode   = 2
	rankCount = nodeCount * perNode

	root, middle, leaf = "n001", "n002", "n007"
)

// startLimit bounds how long a job may take to reach its phase, endLimit how
// long golaunch may take to end after the blow. A cell that reaches them failed.
const (
	startLimit = time.Minute
	endLimit   = time.Minute
)

// job is one run of golaunch on the cluster's head.
type job struct {
	c      *cluster.Cluster
	cmd    *cluster.Cmd
	stderr bytes.Buffer
	ready  chan struct{} // closed when enough output has come, or it ended: err
	err    error
	read   chan struct{} // closed when standard output has ended
	before map[string]map[int]uint64
	// ignore tells processes that are not golaunch's to end.
	ignore func(node string, p cluster.Proc) bool
}

// start starts golaunch with flags and a program, and remembers what ran on the
// nodes before. ready receives once enough says so of a line of the output.
func start(c *cluster.Cluster, golaunch string, argv []string, enough func(line string) bool) (*job, error) {
	j := &job{c: c, ready: make(chan struct{}), read: make(chan struct{})}
	var err error
	if j.before, err = snapshot(c); err != nil {
		return nil, err
	}
	j.cmd = c.Command(cluster.Head, append([]string{golaunch}, argv...)...)
	j.cmd.Stderr = &j.stderr
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go j.readOutput(out, enough) // ends with golaunch; end waits for it
	return j, nil
}

// readOutput reads golaunch's standard output to its end.
func (j *job) readOutput(out io.Reader, enough func(string) bool) {
	defer close(j.read)
	in := bufio.NewReader(out)
	for told := false; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			if !told {
				j.err = fmt.Errorf("golaunch ended before the blow: %w", err)
				close(j.ready)
			}
			return
		}
		if !told && enough(line) {
			told = true
			close(j.ready)
		}
	}
}

// await waits until the job has reached its phase.
func (j *job) await() error {
	select {
	case <-j.ready:
		return j.err
	case <-time.After(startLimit):
		return fmt.Errorf("the job did not start within %v", startLimit)
	}
}

// isReady reports whether the job has reached its phase, or ended.
func (j *job) isReady() bool {
	select {
	case <-j.ready:
		return true
	default:
		return false
	}
}

// end waits for golaunch and returns its exit status, 128 + N for a signal, as
// the client of a container engine has it, too.
func (j *job) end() (int, error) {
	done := make(chan struct{})
	go func() { // ends with golaunch, which is killed at the latest below
		<-j.read
		_ = j.cmd.Wait() // the status says it
		close(done)
	}()
	select {
	case <-done:
		if ws, ok := j.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return j.cmd.ProcessState.ExitCode(), nil
	case <-time.After(endLimit):
		_ = j.cmd.Signal(syscall.SIGKILL) // it may have ended just now
		<-done
		return 0, fmt.Errorf("golaunch did not end within %v", endLimit)
	}
}

// everywhere are the machines that a job may leave something on.
func everywhere(c *cluster.Cluster) []string {
	names := []string{cluster.Head}
	for _, n := range c.Nodes() {
		names = append(names, n.Name)
	}
	return names
}

// snapshot lists the processes of all machines: PID and start.
func snapshot(c *cluster.Cluster) (map[string]map[int]uint64, error) {
	all := make(map[string]map[int]uint64)
	for _, name := range everywhere(c) {
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

// left lists what runs on the named machines that did not before the job: its
// processes, whatever they did to their environment, session or parent.
func (j *job) left(names []string) (map[string][]string, error) {
	found := make(map[string][]string)
	for _, name := range names {
		procs, err := j.c.Processes(name)
		if err != nil {
			return nil, err
		}
		for _, p := range procs {
			if start, old := j.before[name][p.PID]; (!old || start != p.Start) && !j.ignore(name, p) {
				found[name] = append(found[name], fmt.Sprintf("%s: %d %s", name, p.NodePID, strings.Join(p.Cmdline, " ")))
			}
		}
	}
	return found, nil
}

// awaitNothing waits until nothing of the job is left anywhere, for at most
// limit after since. It returns how long that took, and what was last to go.
func (j *job) awaitNothing(since time.Time, limit time.Duration) (took time.Duration, last string, err error) {
	names := everywhere(j.c)
	for {
		took := time.Since(since)
		found, err := j.left(names)
		if err != nil || len(found) == 0 {
			return took, last, err
		}
		names = slices.Sorted(maps.Keys(found))
		var all []string
		for _, name := range names {
			all = append(all, found[name]...)
		}
		last = strings.Join(all, "; ")
		if took > limit {
			return took, last, fmt.Errorf("left after %v: %s", took.Round(time.Millisecond), last)
		}
		time.Sleep(20 * time.Millisecond) // how exactly the time is measured
	}
}

// clear kills what is left, so that one failure does not become the next.
func (j *job) clear() error {
	for _, name := range everywhere(j.c) {
		procs, err := j.c.Processes(name)
		if err != nil {
			return err
		}
		for _, p := range procs {
			if start, old := j.before[name][p.PID]; !old || start != p.Start {
				_ = p.Signal(syscall.SIGKILL) // it may have ended
			}
		}
	}
	return nil
}

// find waits for the job's process on a node whose command line has the word.
func (j *job) find(node, word string) (cluster.Proc, error) {
	for deadline := time.Now().Add(startLimit); ; {
		procs, err := j.c.Processes(node)
		if err != nil {
			return cluster.Proc{}, err
		}
		for _, p := range procs {
			if start, old := j.before[node][p.PID]; (!old || start != p.Start) && slices.Contains(p.Cmdline, word) {
				return p, nil
			}
		}
		if time.Now().After(deadline) {
			return cluster.Proc{}, fmt.Errorf("%s: no %s within %v", node, word, startLimit)
		}
		time.Sleep(5 * time.Millisecond) // it is starting
	}
}
