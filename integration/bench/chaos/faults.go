package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
)

const exitLost = 125

// helper is a word of the command lines of PMIx helpers alone.
const helper = "golaunch-pmix"

// lost is the exit status where a node is lost.
var lost = []int{exitLost}

// faults are the rows of the table.
var faults = []fault{
	{name: "kill -9 of an agent", strike: send(trial.Agent, syscall.SIGKILL), codes: lost, blames: true, again: true},
	{name: "kill -9 of a warden", strike: send(trial.Warden, syscall.SIGKILL), codes: lost, blames: true, again: true},
	{name: "kill -9 of agent and warden", strike: func(j *job, b blow) (func() error, error) {
		return nil, j.KillBoth(b.node)
	}, codes: lost, blames: true, again: true},
	{name: "kill -9 of an sshd session", strike: func(j *job, b blow) (func() error, error) {
		return nil, j.KillSession(b.node)
	}, codes: lost, blames: true, orphans: true, again: true},
	{name: "kill -9 of a rank", strike: func(j *job, b blow) (func() error, error) {
		return nil, j.Send(b.node, j.word(), syscall.SIGKILL)
	}, codes: []int{128 + 9}, blames: true, again: true},
	{name: "kill -9 of a PMIx helper", of: helped, strike: send(helper, syscall.SIGKILL), codes: lost, blames: true, again: true},
	{name: "SIGSTOP and SIGCONT of a PMIx helper", of: helped, strike: stop(found(helper)), again: true},
	{name: "SIGSTOP and SIGCONT of a rank", strike: stop(func(j *job, node string) (cluster.Proc, error) {
		return j.Find(node, j.word())
	}), again: true},
	{name: "SIGSTOP of an agent", strike: stopForGood, codes: lost, blames: true, silent: true, again: true},
	{name: "SIGSTOP of a warden", strike: send(trial.Warden, syscall.SIGSTOP),
		codes: lost, blames: true, silent: true, deaf: true, again: true},
	{name: "SIGSTOP and SIGCONT of an agent", strike: stop(found(trial.Agent)), codes: lost, blames: true, again: true},
	{name: "SIGSTOP and SIGCONT of a warden", strike: stop(found(trial.Warden)), codes: lost, blames: true, again: true},
	{name: "SIGSTOP and SIGCONT of an sshd session", strike: stop(func(j *job, node string) (cluster.Proc, error) {
		return j.Session(node)
	}), codes: lost, blames: true, again: true},
	{name: "SIGSTOP and SIGCONT of golaunch", strike: func(j *job, _ blow) (func() error, error) {
		return func() error { return gone(j.Cmd.Signal(syscall.SIGCONT)) }, j.Cmd.Signal(syscall.SIGSTOP)
	}, codes: lost},
	{name: "kill -9 of golaunch", strike: signal(syscall.SIGKILL), codes: []int{128 + 9}},
	{name: "SIGTERM of golaunch", strike: signal(syscall.SIGTERM), codes: []int{128 + 15}},
	{name: "SIGINT of golaunch", strike: signal(syscall.SIGINT), codes: []int{128 + 2}},
	{name: "SIGHUP of golaunch", strike: signal(syscall.SIGHUP), codes: []int{128 + 1}},
	{name: "Ctrl-C at the terminal", of: atTerminal, strike: func(j *job, _ blow) (func() error, error) {
		return nil, j.seat.types("\x03")
	}, codes: []int{128 + 2}},
	{name: "terminal closed", of: atTerminal, strike: func(j *job, _ blow) (func() error, error) {
		return nil, j.seat.hangUp()
	}, codes: []int{128 + 1}},
	{name: "link down", strike: func(j *job, b blow) (func() error, error) {
		return func() error { return j.place.cluster.Heal(b.node) }, j.place.cluster.Partition(b.node)
	}, codes: lost, blames: true, silent: true, cuts: true, again: true},
	{name: "node dead", strike: func(j *job, b blow) (func() error, error) {
		return func() error { return j.place.cluster.Revive(context.Background(), b.node) }, j.place.cluster.Kill(b.node)
	}, codes: []int{exitLost, 128 + 9}, blames: true, dead: true, again: true},
	{name: "sshd late", before: true, strike: func(j *job, b blow) (func() error, error) {
		return func() error { return j.place.cluster.Slow(b.node, 0) }, j.place.cluster.Slow(b.node, 2500*time.Millisecond)
	}, codes: lost, blames: true},
	{name: "/tmp full", before: true, strike: full("/tmp"), codes: lost, blames: true, starves: true},
	{name: "/dev/shm full", before: true, strike: full("/dev/shm"), codes: lost, blames: true, starves: true},
	{name: "/tmp and /dev/shm full", before: true, strike: full("/tmp", "/dev/shm"), codes: lost, blames: true, starves: true},
	{name: "memory short from the start", before: true, strike: short, codes: oom, blames: true, starves: true, memory: true},
	{name: "memory short", strike: short, codes: oom, blames: true, starves: true, memory: true},
	{name: "memory taken, the kernel kills", strike: taken, codes: oom, blames: true, starves: true, memory: true},
}

// helped reports whether a PMIx helper serves a job.
func helped(d drawn) bool { return d.helped }

// atTerminal reports whether a job is called at a terminal.
func atTerminal(d drawn) bool { return d.has("--pty") }

// word returns a word of the command lines of ranks.
func (j *job) word() string { return filepath.Base(j.program.argv[0]) }

func send(word string, sig syscall.Signal) strike {
	return func(j *job, b blow) (func() error, error) { return nil, j.Send(b.node, word, sig) }
}

func signal(sig syscall.Signal) strike {
	return func(j *job, _ blow) (func() error, error) { return nil, j.Cmd.Signal(sig) }
}

func found(word string) func(*job, string) (cluster.Proc, error) {
	return func(j *job, node string) (cluster.Proc, error) { return j.Find(node, word) }
}

// stop stops a process that continues afterwards.
func stop(find func(*job, string) (cluster.Proc, error)) strike {
	return func(j *job, b blow) (func() error, error) {
		p, err := find(j, b.node)
		if err != nil {
			return nil, err
		}
		return func() error { return gone(p.Signal(syscall.SIGCONT)) }, p.Signal(syscall.SIGSTOP)
	}
}

// stopForGood stops an agent that somebody else can end.
func stopForGood(j *job, b blow) (func() error, error) {
	p, err := j.Find(b.node, trial.Agent)
	if err == nil && slices.Contains(p.Cmdline, "-c") {
		err = fmt.Errorf("%s: it is a shell as yet, and ends when sshd ends it", b.node)
	}
	if err == nil && slices.ContainsFunc(j.blows, func(other blow) bool { return other.node == b.node && other.orphans }) {
		_, err = j.Find(b.node, trial.Warden) // only a warden could end it then: sshd's process is gone
	}
	if err != nil {
		return nil, err
	}
	return nil, p.Signal(syscall.SIGSTOP)
}

// gone takes it as no error that a process has ended: most do.
func gone(error) error { return nil }

// full leaves no room in directories of a node, which are file systems.
func full(dirs ...string) strike {
	resize := func(j *job, node, size string) error {
		for _, dir := range dirs {
			out, err := j.place.cluster.Command(node, "mount", "-o", "remount,size="+size, dir).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: resize %s: %w: %s", node, dir, err, out)
			}
		}
		return nil
	}
	return func(j *job, b blow) (func() error, error) {
		return func() error { return resize(j, b.node, "50%") }, resize(j, b.node, "16k")
	}
}

// oom are golaunch's exit statuses if the kernel kills for want of memory: a rank, or a
// process that a node is lost with.
var oom = []int{exitLost, 128 + 9}

// short leaves a node some memory, and no more.
func short(j *job, b blow) (func() error, error) {
	c := j.place.cluster
	return func() error { return plenty(c, b.node) }, c.BoundMemory(b.node, b.size)
}

// spare is a node's last free memory before all of it is taken, in bytes.
const spare = 1 << 20

// taken has somebody else take more than a node's free memory, so that the kernel kills
// the largest process: a rank, the agent, the helper, sshd's process of the link.
func taken(j *job, b blow) (func() error, error) {
	c := j.place.cluster
	if err := c.BoundMemory(b.node, spare); err != nil {
		return nil, err
	}
	giveBack, err := c.TakeMemory(b.node, spare+b.size)
	return func() error { return errors.Join(giveBack(), plenty(c, b.node)) }, err
}

// plenty gives a node its memory back, and an sshd if the kernel killed that, too.
func plenty(c *cluster.Cluster, node string) error {
	return errors.Join(c.FreeMemory(node), c.Revive(context.Background(), node))
}
