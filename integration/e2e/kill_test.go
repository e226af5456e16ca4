package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// running is a job of sleeping ranks.
type running struct {
	cmd    *cluster.Cmd
	stderr bytes.Buffer
	out    *bufio.Reader
	ranks  map[string]bool // lines "rank R sleeps PID"
	over   chan struct{}   // see ended
}

// sleepers starts a job of n ranks over the first n nodes and waits until every
// rank runs.
func sleepers(t *testing.T, c *cluster.Cluster, n int, args ...string) *running {
	t.Helper()
	return probes(t, c, n, "sleep", args...)
}

// probes does so with ranks that run rankprobe's word.
func probes(t *testing.T, c *cluster.Cluster, n int, word string, args ...string) *running {
	t.Helper()
	argv := slices.Concat([]string{bin("golaunch"), "-H", hostsArg(n), "--ssh-config", c.SSHConfig(), "-n", fmt.Sprint(n), "--degree", "2"},
		args, []string{bin("rankprobe"), word})
	r := &running{cmd: c.Command(cluster.Head, argv...), ranks: map[string]bool{}}
	r.cmd.Env = append(r.cmd.Env, patient...)
	r.cmd.Stderr = &r.stderr
	pipe, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, r.cmd, r.cmd.Cmd)
	r.out = bufio.NewReader(pipe)
	for range n {
		line, err := r.out.ReadString('\n')
		require.NoError(t, err, r.stderr.String())
		r.ranks[strings.TrimSpace(line)] = true
	}
	require.Len(t, r.ranks, n)
	return r
}

// ended is closed with golaunch's end.
func (r *running) ended() <-chan struct{} {
	if r.over == nil {
		r.over = make(chan struct{})
		go func() { // ends with golaunch
			_ = r.cmd.Wait() // the state tells
			close(r.over)
		}()
	}
	return r.over
}

// wait returns golaunch's exit code, or -1 if a signal ended it.
func (r *running) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-r.ended():
	case <-time.After(limit):
		t.Fatal("golaunch does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

// kill sends SIGKILL to the first process of a node whose command line has the
// word.
func kill(t *testing.T, c *cluster.Cluster, node, word string) {
	t.Helper()
	procs, err := c.Processes(node)
	require.NoError(t, err)
	i := slices.IndexFunc(procs, func(p cluster.Proc) bool { return slices.Contains(p.Cmdline, word) })
	require.GreaterOrEqual(t, i, 0, "%s on %s", word, node)
	require.NoError(t, procs[i].Signal(syscall.SIGKILL))
}

// killBoth leaves nobody on a node who could end its ranks: the agent is
// stopped before it can see that the warden is dead.
func killBoth(t *testing.T, c *cluster.Cluster, node string) {
	t.Helper()
	procs, err := c.Processes(node)
	require.NoError(t, err)
	find := func(word string) cluster.Proc {
		i := slices.IndexFunc(procs, func(p cluster.Proc) bool { return slices.Contains(p.Cmdline, word) })
		require.GreaterOrEqual(t, i, 0, "%s on %s", word, node)
		return procs[i]
	}
	agent, warden := find("nla-agent"), find("nla-warden")
	require.NoError(t, agent.Signal(syscall.SIGSTOP))
	require.NoError(t, warden.Signal(syscall.SIGKILL))
	require.NoError(t, agent.Signal(syscall.SIGKILL))
}

// Kills of parts of a job are tried in integration/bench/killtable.
func TestSignalsEndTheJob(t *testing.T) {
	const n = 7
	c := theCluster(t)
	for _, x := range []struct {
		signal  syscall.Signal
		code    int
		message string
	}{
		{syscall.SIGTERM, 143, "terminate"},
		{syscall.SIGINT, 130, "interrupting"},
	} {
		t.Run(x.signal.String(), func(t *testing.T) {
			r := sleepers(t, c, n)
			require.NoError(t, r.cmd.Signal(x.signal))
			require.Equal(t, x.code, r.wait(t), r.stderr.String())
			require.Contains(t, r.stderr.String(), x.message)
			nothingLeft(t, c, firstNodes(c, n)...)
		})
	}
}

// Ctrl-Z stops the ranks, too, and fg has them run again, though that lasts longer than
// what counts as a loss.
//
//report:ends open-mpi/ompi#13496, open-mpi/ompi#8672 a launcher that is stopped, and continued
func TestSuspension(t *testing.T) {
	t.Parallel()
	const n = 5
	c := ownCluster(t, n)
	r := sleepers(t, c, n, "--lost-after", "5s")
	states := func() (s string) {
		for _, name := range firstNodes(c, n) {
			procs, err := c.Processes(name)
			require.NoError(t, err)
			for _, p := range procs {
				if slices.Contains(p.Cmdline, bin("rankprobe")) {
					s += state(t, p.PID)
				}
			}
		}
		return s
	}
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTSTP))
	require.Eventually(t, func() bool { return state(t, r.cmd.Process.Pid) == "T" && states() == "TTTTT" }, limit, 10*time.Millisecond, "golaunch and its ranks stop")
	time.Sleep(11 * time.Second) //nolint:forbidigo // the silence itself is under test: twice --lost-after
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return states() == "SSSSS" }, limit, 10*time.Millisecond, "they run again")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, r.wait(t), r.stderr.String())
	nothingLeft(t, c, firstNodes(c, n)...)
}

// state is the letter of a process's state in /proc/PID/stat, by the host's
// PID.
func state(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))[0]
}
