package trial

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/integration/cluster"
)

// The words by which command lines of agents and wardens are known.
const (
	Agent  = "nla-agent"
	Warden = "nla-warden"
)

// Send sends a signal to the job's process on a node whose command line has the
// word.
func (j *Job) Send(node, word string, sig syscall.Signal) error {
	p, err := j.Find(node, word)
	if err != nil {
		return err
	}
	return p.Signal(sig)
}

// KillBoth kills agent and warden so that nobody on a node could end its ranks:
// the agent is stopped before it can see that the warden is dead.
func (j *Job) KillBoth(node string) error {
	agent, err := j.Find(node, Agent)
	if err != nil {
		return err
	}
	warden, err := j.Find(node, Warden)
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

// Session finds the sshd process whose child a node's agent is: the holder of the link
// on that node.
func (j *Job) Session(node string) (cluster.Proc, error) {
	agent, err := j.Find(node, Agent)
	if err != nil {
		return cluster.Proc{}, err
	}
	procs, err := j.c.Processes(node)
	if err != nil {
		return cluster.Proc{}, err
	}
	i := slices.IndexFunc(procs, func(p cluster.Proc) bool { return p.PID == agent.PPID })
	if i < 0 || !strings.HasPrefix(strings.Join(procs[i].Cmdline, " "), "sshd") {
		return cluster.Proc{}, fmt.Errorf("%s: the agent's parent is no sshd", node)
	}
	return procs[i], nil
}

// KillSession kills a node's Session.
func (j *Job) KillSession(node string) error {
	p, err := j.Session(node)
	if err != nil {
		return err
	}
	return p.Signal(syscall.SIGKILL)
}

// KillRank kills a rank that runs program on a node. A descendant of the rank
// has the same command line and environment, but a later PID.
func (j *Job) KillRank(node, program string, rank int) error {
	// Others may have filled the output before it was there.
	if _, err := j.Find(node, program); err != nil {
		return err
	}
	procs, err := j.c.Processes(node)
	if err != nil {
		return err
	}
	slices.SortFunc(procs, func(a, b cluster.Proc) int { return a.NodePID - b.NodePID })
	for _, p := range procs {
		env, err := p.Environ()
		if err != nil {
			continue // gone
		}
		if slices.Contains(p.Cmdline, program) && slices.Contains(env, fmt.Sprintf("PMI_RANK=%d", rank)) {
			return p.Signal(syscall.SIGKILL)
		}
	}
	return fmt.Errorf("%s: rank %d is not there", node, rank)
}
