package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// lostAfter is the job's --lost-after: a blow that leaves connections open is
// detected by silence.
const lostAfter = 2 * time.Second

// blow is what happens to a job.
type blow struct {
	name   string
	strike func(*cell) error
	code   int      // golaunch's exit status, or 128 + the signal that ends it
	says   []string // of golaunch's standard error
	silent bool     // noticed only after lostAfter
	cuts   bool     // connections are cut in silence
	phases []phase  // nil: all
	// mend undoes what the blow did to the cluster.
	mend func(*cell) error
}

// blows are the rows of the table.
func blows() []blow {
	lost := func(host string) []string { return []string{"host " + host} }
	running := []phase{barrier, steady, flood}
	list := []blow{{name: "kill -9 of golaunch", strike: func(c *cell) error { return c.job.cmd.Signal(syscall.SIGKILL) }, code: 137}}
	for _, at := range []struct{ which, host string }{{"NLA 0", root}, {"a middle NLA", middle}, {"a leaf NLA", leaf}} {
		list = append(list,
			blow{name: "kill -9 of " + at.which + "'s agent", strike: kill(at.host, "nla-agent"), code: 125, says: lost(at.host)},
			blow{name: "kill -9 of " + at.which + "'s warden", strike: kill(at.host, "nla-warden"), code: 125, says: lost(at.host)},
			blow{name: "kill -9 of " + at.which + "'s agent and warden", strike: killBoth(at.host), code: 125, says: lost(at.host)})
	}
	return append(list,
		blow{name: "kill -9 of an sshd session", strike: killSession, code: 125, says: lost(middle)},
		blow{name: "kill -9 of a rank", strike: killRank, code: 137, says: []string{"on " + middle, "killed by signal 9"}, phases: running},
		blow{name: "kill -9 of a rank with a grandchild that did setsid and ignores SIGTERM", strike: killRank, code: 137,
			says: []string{"on " + middle, "killed by signal 9"}, phases: []phase{stubborn}},
		blow{name: "SIGSTOP of an agent", strike: send(middle, "nla-agent", syscall.SIGSTOP), code: 125, says: lost(middle), silent: true},
		blow{name: "a node partitioned", strike: func(c *cell) error { return c.cluster.Partition(middle) }, code: 125, says: lost(middle), silent: true, cuts: true,
			mend: func(c *cell) error { return c.cluster.Heal(middle) }},
		blow{name: "a node's sshd and all its processes killed", strike: func(c *cell) error { return c.cluster.Kill(middle) }, code: 125, says: lost(middle),
			mend: func(c *cell) error { return c.cluster.Revive(c.ctx, middle) }})
}

// kill sends SIGKILL to the process of a node whose command line has the word.
func kill(node, word string) func(*cell) error { return send(node, word, syscall.SIGKILL) }

func send(node, word string, sig syscall.Signal) func(*cell) error {
	return func(c *cell) error {
		p, err := c.job.find(node, word)
		if err != nil {
			return err
		}
		return p.Signal(sig)
	}
}

// killBoth leaves nobody on a node who could end its ranks: the agent is
// stopped before it can see that the warden is dead.
func killBoth(node string) func(*cell) error {
	return func(c *cell) error {
		agent, err := c.job.find(node, "nla-agent")
		if err != nil {
			return err
		}
		warden, err := c.job.find(node, "nla-warden")
		if err != nil {
			return err
		}
		if err := agent.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		if err := warden.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		return agent.Signal(syscall.SIGKILL)
	}
}

// killSession kills the sshd process whose child the middle node's agent is:
// what holds the link on that node.
func killSession(c *cell) error {
	agent, err := c.job.find(middle, "nla-agent")
	if err != nil {
		return err
	}
	procs, err := c.cluster.Processes(middle)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(procs, func(p cluster.Proc) bool { return p.PID == agent.PPID })
	if i < 0 || !strings.HasPrefix(strings.Join(procs[i].Cmdline, " "), "sshd") {
		return fmt.Errorf("%s: the agent's parent is no sshd", middle)
	}
	return procs[i].Signal(syscall.SIGKILL)
}

// struckRank is the first rank of the middle node.
const struckRank = perNode

// killRank kills it. A descendant of the rank has the same command line and
// environment, but a later PID.
func killRank(c *cell) error {
	// Others may have filled the output before it was there.
	if _, err := c.job.find(middle, c.program[0]); err != nil {
		return err
	}
	procs, err := c.cluster.Processes(middle)
	if err != nil {
		return err
	}
	slices.SortFunc(procs, func(a, b cluster.Proc) int { return a.NodePID - b.NodePID })
	for _, p := range procs {
		env, err := p.Environ()
		if err != nil {
			continue // gone
		}
		if slices.Contains(p.Cmdline, c.program[0]) && slices.Contains(env, fmt.Sprintf("PMI_RANK=%d", struckRank)) {
			return p.Signal(syscall.SIGKILL)
		}
	}
	return fmt.Errorf("%s: rank %d is not there", middle, struckRank)
}
