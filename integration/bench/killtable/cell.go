package killtable

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
)

// The job of every cell: two ranks on each of seven nodes in a binary tree.
// n001 is its root, n002 a middle node above n003 and n004, n007 a leaf.
const (
	nodeCount = 7
	perNode   = 2
	rankCount = nodeCount * perNode

	root, middle, leaf = "n001", "n002", "n007"
)

// upLimit bounds the time for golaunch to replace killed agents, endLimit the time to
// end after the blow. A cell that reaches them failed.
const (
	upLimit  = 3 * time.Minute
	endLimit = 3 * time.Minute
)

// phase is the state of a job when the blow falls.
type phase int

const (
	startUp  phase = iota // agents run, one host's sshd has not answered yet
	barrier               // all ranks but one wait in a PMI barrier
	steady                // ranks sleep
	flood                 // all ranks print as fast as they can
	stubborn              // a rank has a grandchild that is hard to find and to end
	fence                 // all ranks but one wait in a fence of PMIx
	connect               // in a connect of PMIx
	spawning              // a rank waits for processes that it has spawned over PMIx
)

// phases are the columns of the table; stubborn is shown as steady, connect and spawning
// as fence.
var phases = []phase{startUp, barrier, steady, flood, fence}

func (p phase) String() string {
	return [...]string{"start-up", "barrier", "running", "output floods", "running", "PMIx", "PMIx", "PMIx"}[p]
}

// During start-up the sshd of a leaf, n004, answers late; four times that is
// still within the connect timeout.
const (
	lateHost = "n004"
	lateBy   = 3 * time.Second
)

// floodBytes is the output from which on the flood counts as one.
const floodBytes = 1 << 20

// allowance is the time between detection and the last process's end that
// docs/security.md promises, "No orphans".
const allowance = 2 * time.Second

// errTooLate says that a busy machine let start-up pass before the blow.
var errTooLate = errors.New("start-up was over before the blow")

// exitTerminated is golaunch's exit status after SIGTERM.
const exitTerminated = 143

// cell is one run of one blow in one phase.
type cell struct {
	ctx       context.Context
	cluster   *cluster.Cluster
	golaunch  string
	allowance time.Duration // from detection to the last process's end
	lostAfter time.Duration // the job's --lost-after
	native    string        // directory of the programs of native/
	blow      blow
	phase     phase
	way       string // the bootstrap: ssh, or slurm, whose job has an allocation of its own

	program  []string
	inside   []string // the environment in the allocation
	job      *trial.Job
	survived bool
}

// run strikes and looks at the outcome. It returns the time from the blow's detection
// to the end of the last process. If a busy machine lets start-up pass too soon, it is
// made to take longer.
func (c *cell) run(patience time.Duration) (took time.Duration, err error) {
	for try := range 4 {
		if took, err = c.once(patience, time.Duration(try+1)*lateBy); !errors.Is(err, errTooLate) {
			break
		}
	}
	return took, err
}

func (c *cell) once(patience, late time.Duration) (took time.Duration, err error) {
	c.survived = false
	if c.phase == startUp {
		if err := c.cluster.Slow(lateHost, late); err != nil {
			return 0, err
		}
		defer func() {
			if slow := c.cluster.Slow(lateHost, 0); err == nil {
				err = slow
			}
		}()
	}
	if c.way == overSlurm {
		allocation, err := c.cluster.Allocate(c.ctx, nodeCount, perNode+1, "--no-kill") // some spawn
		if err != nil {
			return 0, err
		}
		defer allocation.Release()
		c.inside = allocation.Env
	}
	if c.job, err = trial.Start(c.cluster, c.command(), c.inside, c.enough()); err != nil {
		return 0, err
	}
	c.job.Ignore = c.foreign
	if took, err = c.strike(patience); err != nil {
		err = fmt.Errorf("%w\ngolaunch's standard error: %s", err, strings.TrimSpace(c.job.Stderr.String()))
		err = errors.Join(err, c.job.Clear())
	}
	if c.blow.mend != nil {
		if mend := c.blow.mend(c); err == nil {
			err = mend
		}
	}
	return took, err
}

// strike waits for the phase, strikes, and looks at the outcome. During start-up
// golaunch may also replace killed agents: then the job has to come to run, and is
// ended by SIGTERM.
func (c *cell) strike(patience time.Duration) (time.Duration, error) {
	ready := c.job.Await
	if c.phase == startUp {
		ready = c.agentsUp
	}
	if err := ready(); err != nil {
		_, end := c.job.End(endLimit)
		return 0, fmt.Errorf("%w (%v)", err, end) //nolint:errorlint // end may be nil
	}
	if c.phase == startUp && c.job.IsReady() {
		c.abandon()
		return 0, errTooLate
	}
	struck := time.Now()
	if err := c.blow.strike(c); err != nil {
		c.abandon()
		return 0, err
	}
	detected := struck
	if c.blow.silent {
		detected = struck.Add(c.lostAfter)
	}
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() { // ends with golaunch; received below
		code, err := c.job.End(endLimit)
		ended <- end{code, err}
	}()
	wanted, says := c.blow.code, c.blow.says
	if c.phase == startUp {
		// golaunch waits for the other hosts' fate before it gives up.
		select {
		case <-c.job.Ready:
			if c.job.Err == nil {
				c.survived = true
				wanted, says = exitTerminated, nil
				_ = c.job.Cmd.Signal(syscall.SIGTERM) // one that has ended shows below
			}
		case <-time.After(upLimit):
		}
		detected = time.Now()
	}
	took, last, left := c.job.AwaitNothing(detected, patience)
	e := <-ended
	switch {
	case e.err != nil:
		return took, e.err
	case left != nil:
		return took, left
	case took > c.allowance:
		return took, fmt.Errorf("gone only after %v: %s", took.Round(time.Millisecond), last)
	case e.code != wanted:
		return took, fmt.Errorf("exit status %d, not %d", e.code, wanted)
	}
	for _, text := range says {
		if !strings.Contains(c.job.Stderr.String(), text) {
			return took, fmt.Errorf("golaunch did not say %q", text)
		}
	}
	return took, nil
}

// abandon kills golaunch and waits for its end, before which its words cannot be read.
func (c *cell) abandon() {
	_ = c.job.Cmd.Signal(syscall.SIGKILL) // it may have ended
	_, _ = c.job.End(endLimit)
}

// foreign reports whether golaunch cannot end a process: the one that makes the late
// host's sshd late, sshd's own for a connection that a partition has cut, which waits
// for TCP, or ClientAliveInterval, to give up, and Slurm's own for a step, which waits
// until it has told of the step's end by way of other nodes.
func (c *cell) foreign(node string, p cluster.Proc) bool {
	line := strings.Join(p.Cmdline, " ")
	late := c.phase == startUp && node == lateHost && !strings.Contains(line, "nla-")
	return late || c.blow.cuts && strings.HasPrefix(line, "sshd:") || c.way == overSlurm && strings.HasPrefix(line, "slurmstepd:")
}

// agentsUp waits for the agents that start-up needs before it comes to the late
// host.
func (c *cell) agentsUp() error {
	for _, n := range c.cluster.Nodes() {
		if n.Name == lateHost {
			continue
		}
		for _, word := range []string{trial.Agent, trial.Warden} {
			if _, err := c.job.Find(n.Name, word); err != nil {
				return err
			}
		}
	}
	return nil
}

// pmixClient is the program of ranks that speak PMIx, which needs libpmix.
const pmixClient = "pmixclient"

// command returns golaunch's command line, and sets the program in it.
func (c *cell) command() []string {
	probe, client, pmix := filepath.Join(c.native, "rankprobe"), filepath.Join(c.native, "pmiclient"), filepath.Join(c.native, pmixClient)
	c.program = map[phase][]string{
		startUp:  {probe, "sleep"},
		barrier:  {client, "-e", "-x", "hang", "-r", strconv.Itoa(rankCount - 1)},
		steady:   {probe, "sleep"},
		flood:    {probe, "flood", "0"},
		stubborn: {probe, "-r", strconv.Itoa(struckRank), "stubborn"},
		fence:    {pmix, "-x", "fence"},
		connect:  {pmix, "-x", "connect"},
		spawning: {pmix, "-x", "spawn", "-r", strconv.Itoa(struckRank)},
	}[c.phase]
	way := []string{"-f", c.cluster.HostFile(), "--ssh-config", c.cluster.SSHConfig()}
	if c.way == overSlurm {
		way = []string{"--bootstrap", "slurm"}
	}
	flags := []string{"-n", strconv.Itoa(rankCount), "-N", strconv.Itoa(perNode), "--degree", "2", "--lost-after", c.lostAfter.String()}
	return slices.Concat([]string{c.golaunch}, way, flags, c.program)
}

// enough tells from the lines of output when the phase is reached.
func (c *cell) enough() func(line string) bool {
	lines, bytes := 0, 0
	return func(line string) bool {
		lines++
		bytes += len(line)
		switch c.phase {
		case barrier, fence, connect:
			return lines == rankCount-1
		case startUp, steady:
			return lines == rankCount
		case stubborn, spawning:
			return lines == 1
		case flood:
			return bytes >= floodBytes
		}
		return false
	}
}
