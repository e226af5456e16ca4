package e2e

import (
	"bufio"
	"bytes"
	"fmt"
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
	argv := slices.Concat([]string{bin("golaunch"), "-H", hostsArg(n), "--ssh-config", c.SSHConfig(), "-n", fmt.Sprint(n), "--degree", "2"},
		args, []string{bin("rankprobe"), "sleep"})
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
		{"a warden", func(*running) { kill(t, c, "n003", "nla-warden") }, 125, []string{"host n003", "warden"}},
		{"a rank", func(*running) { kill(t, c, "n004", bin("rankprobe")) }, 137, []string{"rank 3 on n004", "killed by signal 9"}},
		{"SIGTERM to golaunch", func(r *running) { r.cmd.Process.Signal(syscall.SIGTERM) }, 143, []string{"terminate"}},
		{"SIGINT to golaunch", func(r *running) { r.cmd.Process.Signal(syscall.SIGINT) }, 130, []string{"interrupting"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := sleepers(t, c, n)
			x.do(r)
			require.Equal(t, x.code, r.wait(t), r.stderr.String())
			for _, text := range x.says {
				require.Contains(t, r.stderr.String(), text)
			}
			nothingLeft(t, c, names...)
		})
	}
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
