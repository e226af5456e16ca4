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
	r.cmd.Stderr = &r.stderr
	pipe, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { r.cmd.Process.Kill() })
	r.out = bufio.NewReader(pipe)
	for range n {
		line, err := r.out.ReadString('\n')
		require.NoError(t, err, r.stderr.String())
		r.ranks[strings.TrimSpace(line)] = true
	}
	require.Len(t, r.ranks, n)
	return r
}

// wait returns golaunch's exit code, or -1 if a signal ended it.
func (r *running) wait(t *testing.T) int {
	t.Helper()
	done := make(chan struct{})
	go func() {
		r.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
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

func TestKill(t *testing.T) {
	const n = 7
	c := ownCluster(t, n)
	names := firstNodes(c, n)
	for _, x := range []struct {
		name string
		do   func(*running)
		code int
		says []string
	}{
		{"golaunch", func(r *running) { r.cmd.Process.Kill() }, -1, nil},
		{"the root's agent", func(*running) { kill(t, c, "n001", "nla-agent") }, 125, []string{"host n001", "link to its agent lost"}},
		{"a middle agent", func(*running) { kill(t, c, "n002", "nla-agent") }, 125, []string{"host n002", "link to its agent lost"}},
		{"a leaf's agent", func(*running) { kill(t, c, "n007", "nla-agent") }, 125, []string{"host n007", "link to its agent lost"}},
		{"agent and warden of a leaf", func(*running) { killBoth(t, c, "n006") }, 125, []string{"host n006", "link to its agent lost"}},
		{"agent and warden of a middle node", func(*running) { killBoth(t, c, "n002") }, 125, []string{"host n002", "link to its agent lost"}},
		{"agent and warden of the root", func(*running) { killBoth(t, c, "n001") }, 125, []string{"host n001", "link to its agent lost"}},
		{"a warden", func(*running) { kill(t, c, "n003", "nla-warden") }, 125, []string{"host n003", "warden"}},
		{"a rank", func(*running) { kill(t, c, "n004", bin("rankprobe")) }, 137, []string{"rank 3 on n004", "killed by signal 9"}},
		{"SIGTERM to golaunch", func(r *running) { r.cmd.Process.Signal(syscall.SIGTERM) }, 143, []string{"terminate"}},
		{"SIGINT to golaunch", func(r *running) { r.cmd.Process.Signal(syscall.SIGINT) }, 130, []string{"interrupting"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			word := "sleep"
			if x.code != 143 && x.code != 130 { // those wait for the ranks' grace
				word = "stubborn"
			}
			r := probes(t, c, n, word)
			x.do(r)
			require.Equal(t, x.code, r.wait(t), r.stderr.String())
			for _, text := range x.says {
				require.Contains(t, r.stderr.String(), text)
			}
			nothingLeft(t, c, names...)
		})
	}
}

// Ctrl-Z for longer than what counts as a loss, then fg.
func TestSuspension(t *testing.T) {
	const n = 5
	c := ownCluster(t, n)
	r := sleepers(t, c, n, "--lost-after", "2s")
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
	time.Sleep(6 * time.Second) // thrice what would be a loss
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

func TestKillOfANode(t *testing.T) {
	c := ownCluster(t, 7)
	r := sleepers(t, c, 7)
	require.NoError(t, c.Kill("n005")) // sshd and all else
	require.Equal(t, 125, r.wait(t), r.stderr.String())
	require.Contains(t, r.stderr.String(), "host n005")
	nothingLeft(t, c, firstNodes(c, 7)...)
}

func TestPartition(t *testing.T) {
	c := ownCluster(t, 7)
	r := sleepers(t, c, 7, "--lost-after", "2s")
	require.NoError(t, c.Partition("n002"))
	require.Equal(t, 125, r.wait(t), r.stderr.String())
	require.Contains(t, r.stderr.String(), "host n002")
	nothingLeft(t, c, firstNodes(c, 7)...) // the node itself noticed, too
}
