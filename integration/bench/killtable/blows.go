package killtable

import (
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
)

// helper is a word of the command line of a PMIx helper alone.
const helper = "--library"

// lostAfter is the job's --lost-after: a blow that leaves connections open is
// detected by silence.
const lostAfter = 2 * time.Second

// The bootstraps.
const (
	overSSH   = "ssh"
	overSlurm = "slurm"
)

// blow is a harm to a job.
type blow struct {
	name   string
	strike func(*cell) error
	code   int      // golaunch's exit status, or 128 + the signal that ends it
	says   []string // of golaunch's standard error
	silent bool     // noticed only after lostAfter
	cuts   bool     // connections are cut in silence
	phases []phase  // nil: all
	way    string   // the only bootstrap with such a victim; "" if both have it
	// mend undoes the harm of the blow to the cluster.
	mend func(*cell) error
}

// blows are the rows of the table.
func blows() []blow {
	lost := func(host string) []string { return []string{"host " + host} }
	running := []phase{barrier, steady, flood, fence}
	list := []blow{{name: "kill -9 of golaunch", strike: func(c *cell) error { return c.job.Cmd.Signal(syscall.SIGKILL) }, code: 137}}
	for _, at := range []struct{ which, host string }{{"NLA 0", root}, {"a middle NLA", middle}, {"a leaf NLA", leaf}} {
		list = append(list,
			blow{name: "kill -9 of " + at.which + "'s agent", strike: kill(at.host, trial.Agent), code: 125, says: lost(at.host)},
			blow{name: "kill -9 of " + at.which + "'s warden", strike: kill(at.host, trial.Warden), code: 125, says: lost(at.host)},
			blow{name: "kill -9 of " + at.which + "'s agent and warden", strike: killBoth(at.host), code: 125, says: lost(at.host)})
	}
	return append(list,
		blow{name: "kill -9 of an sshd session", way: overSSH, strike: func(c *cell) error { return c.job.KillSession(middle) }, code: 125, says: lost(middle)},
		blow{name: "kill -9 of srun", way: overSlurm, strike: kill(cluster.Head, "--overlap"), code: 125, says: []string{"srun"}},
		blow{name: "kill -9 of a rank", strike: killRank, code: 137, says: []string{"on " + middle, "killed by signal 9"}, phases: running},
		blow{name: "kill -9 of a rank with a grandchild that did setsid and ignores SIGTERM", strike: killRank, code: 137,
			says: []string{"on " + middle, "killed by signal 9"}, phases: []phase{stubborn}},
		blow{name: "kill -9 of a PMIx helper", strike: kill(middle, helper), code: 125, says: []string{"host " + middle, "PMIx helper"}, phases: []phase{fence}},
		blow{name: "kill -9 of a rank in a connect of PMIx", strike: killRank, code: 137, says: []string{"on " + middle, "killed by signal 9"}, phases: []phase{connect}},
		blow{name: "kill -9 of a rank that has spawned over PMIx", strike: killRank, code: 137, says: []string{"on " + middle, "killed by signal 9"},
			phases: []phase{spawning}},
		blow{name: "SIGSTOP of an agent", strike: send(middle, trial.Agent, syscall.SIGSTOP), code: 125, says: lost(middle), silent: true},
		blow{name: "a node partitioned", strike: func(c *cell) error { return c.cluster.Partition(middle) }, code: 125, says: lost(middle), silent: true, cuts: true,
			mend: func(c *cell) error { return c.cluster.Heal(middle) }},
		blow{name: "a node's sshd and all its processes killed", strike: func(c *cell) error { return c.cluster.Kill(middle) }, code: 125, says: lost(middle),
			mend: func(c *cell) error { return c.cluster.Revive(c.ctx, middle) }})
}

// kill sends SIGKILL to the process of a node whose command line has the word.
func kill(node, word string) func(*cell) error { return send(node, word, syscall.SIGKILL) }

func send(node, word string, sig syscall.Signal) func(*cell) error {
	return func(c *cell) error { return c.job.Send(node, word, sig) }
}

func killBoth(node string) func(*cell) error {
	return func(c *cell) error { return c.job.KillBoth(node) }
}

// struckRank is the first rank of the middle node.
const struckRank = perNode

func killRank(c *cell) error { return c.job.KillRank(middle, c.program[0], struckRank) }
