package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
)

// fault is something that happens to a job.
type fault struct {
	name   string
	before bool // it is there when the job starts
	// strike returns what undoes it, or nil.
	strike func(j *job, node string) (undo func() error, err error)
	codes  []int // golaunch's exit status where it ends the job
	blames bool  // the node is named then
	deaf   bool  // the warden hears nothing, maybe while it starts ranks
	silent bool  // it is noticed after lostAfter
	cuts   bool  // sshd does not learn that connections are over
	dead   bool  // nobody on the node could remove anything
	// orphans tells that who is stopped on the node has nobody who ends it.
	orphans bool
}

// blow is a fault as it was drawn.
type blow struct {
	*fault
	node  string
	early bool // after the start of golaunch, not of the ranks
	after time.Duration
	lasts time.Duration // where it can be undone
}

func (b blow) String() string {
	when := "ranks"
	switch {
	case b.before:
		return fmt.Sprintf("%s, %s, for %v", b.name, b.node, b.lasts)
	case b.early:
		when = "start"
	}
	return fmt.Sprintf("%s, %s, %v after %s, for %v", b.name, b.node, b.after, when, b.lasts)
}

func drawBlow(r *rand.Rand, hosts []string) blow {
	b := blow{fault: &faults[r.IntN(len(faults))], node: pick(r, hosts), early: r.IntN(3) == 0}
	longest := 300
	if b.early {
		longest = 600 // start-up takes about so long
	}
	b.after = time.Duration(r.IntN(longest)) * time.Millisecond
	b.lasts = pick(r, []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second})
	return b
}

const exitLost = 125

// faults are the rows of the table.
var faults = []fault{
	{name: "kill -9 of an agent", strike: send(trial.Agent, syscall.SIGKILL), codes: []int{exitLost}, blames: true},
	{name: "kill -9 of a warden", strike: send(trial.Warden, syscall.SIGKILL), codes: []int{exitLost}, blames: true},
	{name: "kill -9 of agent and warden", strike: func(j *job, node string) (func() error, error) {
		return nil, j.KillBoth(node)
	}, codes: []int{exitLost}, blames: true},
	{name: "kill -9 of an sshd session", strike: func(j *job, node string) (func() error, error) {
		return nil, j.KillSession(node)
	}, codes: []int{exitLost}, blames: true, orphans: true},
	{name: "kill -9 of a rank", strike: func(j *job, node string) (func() error, error) {
		return nil, j.Send(node, j.program.argv[0], syscall.SIGKILL)
	}, codes: []int{128 + 9}, blames: true},
	{name: "SIGSTOP of a rank", strike: stop(func(j *job, node string) (cluster.Proc, error) { return j.Find(node, j.program.argv[0]) })},
	{name: "SIGSTOP of an agent", strike: func(j *job, node string) (func() error, error) {
		p, err := j.Find(node, trial.Agent)
		if err == nil && slices.Contains(p.Cmdline, "-c") {
			err = fmt.Errorf("%s: it is a shell as yet, and ends when sshd ends it", node)
		}
		if err == nil && slices.ContainsFunc(j.blows, func(b blow) bool { return b.node == node && b.orphans }) {
			_, err = j.Find(node, trial.Warden) // only a warden could end it then: sshd's process is gone
		}
		if err != nil {
			return nil, err
		}
		return nil, p.Signal(syscall.SIGSTOP)
	}, codes: []int{exitLost}, blames: true, silent: true},
	{name: "SIGSTOP of a warden", strike: send(trial.Warden, syscall.SIGSTOP), codes: []int{exitLost}, blames: true, silent: true, deaf: true},
	{name: "SIGSTOP and SIGCONT of an agent", strike: stop(func(j *job, node string) (cluster.Proc, error) { return j.Find(node, trial.Agent) }),
		codes: []int{exitLost}, blames: true},
	{name: "SIGSTOP and SIGCONT of a warden", strike: stop(func(j *job, node string) (cluster.Proc, error) { return j.Find(node, trial.Warden) }),
		codes: []int{exitLost}, blames: true},
	{name: "SIGSTOP and SIGCONT of an sshd session", strike: stop(func(j *job, node string) (cluster.Proc, error) { return j.Session(node) }), codes: []int{exitLost}, blames: true},
	{name: "SIGSTOP and SIGCONT of golaunch", strike: func(j *job, _ string) (func() error, error) {
		return func() error { return gone(j.Cmd.Signal(syscall.SIGCONT)) }, j.Cmd.Signal(syscall.SIGSTOP)
	}, codes: []int{exitLost}},
	{name: "kill -9 of golaunch", strike: signal(syscall.SIGKILL), codes: []int{128 + 9}},
	{name: "SIGTERM of golaunch", strike: signal(syscall.SIGTERM), codes: []int{128 + 15}},
	{name: "SIGINT of golaunch", strike: signal(syscall.SIGINT), codes: []int{128 + 2}},
	{name: "SIGHUP of golaunch", strike: signal(syscall.SIGHUP), codes: []int{128 + 1}},
	{name: "link down", strike: func(j *job, node string) (func() error, error) {
		return func() error { return j.place.cluster.Heal(node) }, j.place.cluster.Partition(node)
	}, codes: []int{exitLost}, blames: true, silent: true, cuts: true},
	{name: "node dead", strike: func(j *job, node string) (func() error, error) {
		return func() error { return j.place.cluster.Revive(context.Background(), node) }, j.place.cluster.Kill(node)
	}, codes: []int{exitLost, 128 + 9}, blames: true, dead: true},
	{name: "sshd late", before: true, strike: func(j *job, node string) (func() error, error) {
		return func() error { return j.place.cluster.Slow(node, 0) }, j.place.cluster.Slow(node, 2500*time.Millisecond)
	}, codes: []int{exitLost}, blames: true},
	{name: "/tmp full", before: true, strike: full("/tmp"), codes: []int{exitLost}, blames: true},
	{name: "/dev/shm full", before: true, strike: full("/dev/shm"), codes: []int{exitLost}, blames: true},
	{name: "/tmp and /dev/shm full", before: true, strike: full("/tmp", "/dev/shm"), codes: []int{exitLost}, blames: true},
}

func send(word string, sig syscall.Signal) func(*job, string) (func() error, error) {
	return func(j *job, node string) (func() error, error) { return nil, j.Send(node, word, sig) }
}

func signal(sig syscall.Signal) func(*job, string) (func() error, error) {
	return func(j *job, _ string) (func() error, error) { return nil, j.Cmd.Signal(sig) }
}

// stop stops a process that continues afterwards.
func stop(find func(*job, string) (cluster.Proc, error)) func(*job, string) (func() error, error) {
	return func(j *job, node string) (func() error, error) {
		p, err := find(j, node)
		if err != nil {
			return nil, err
		}
		return func() error { return gone(p.Signal(syscall.SIGCONT)) }, p.Signal(syscall.SIGSTOP)
	}
}

// gone takes it as no error that a process has ended: most do.
func gone(error) error { return nil }

// full leaves no room in directories of a node, which are file systems.
func full(dirs ...string) func(*job, string) (func() error, error) {
	resize := func(j *job, node, size string) error {
		for _, dir := range dirs {
			out, err := j.place.cluster.Command(node, "mount", "-o", "remount,size="+size, dir).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: resize %s: %w: %s", node, dir, err, out)
			}
		}
		return nil
	}
	return func(j *job, node string) (func() error, error) {
		return func() error { return resize(j, node, "50%") }, resize(j, node, "16k")
	}
}
