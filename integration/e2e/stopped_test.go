package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// stopAgent stops the agent on a node as soon as its shell has become it, mostly
// before it says a word. It reports false if golaunch was over first.
func stopAgent(t *testing.T, c *cluster.Cluster, node string, r *running) bool {
	t.Helper()
	over := make(chan struct{})
	go func() { // ends with golaunch
		_ = r.cmd.Wait() // the state tells
		close(over)
	}()
	r.over = over
	for {
		procs, err := c.Processes(node)
		require.NoError(t, err)
		for _, p := range procs {
			if strings.Contains(strings.Join(p.Cmdline, " "), "nla-agent") && !slices.Contains(p.Cmdline, "-c") {
				return p.Signal(syscall.SIGSTOP) == nil
			}
		}
		select {
		case <-over:
			return false
		case <-time.After(time.Millisecond): // it is starting
		}
	}
}

// An agent that is stopped while it starts does not stay on its node, however it
// came there and however the start ends.
func TestAgentsStoppedAtTheStartLeaveNothing(t *testing.T) {
	const n, tries = 2, 20
	c := ownCluster(t, n)
	for _, way := range []struct {
		name  string
		flags []string
	}{
		{"installed", nil},
		{"copied", []string{"--copy-agent"}},
		{"kept", []string{"--copy-agent", "--keep-agent"}},
		{"over a command", viaSSH(c)},
	} {
		for _, end := range []struct {
			name  string
			flags []string
			codes []int
			do    syscall.Signal
		}{
			{"given up", nil, []int{0, 125}, 0},
			// 125 where it was stopped late: once the ranks were launched.
			{"done without", []string{"--allow-dead-nodes", "--oversubscribe"}, []int{0, 125}, 0},
			{"interrupted", nil, []int{130}, syscall.SIGINT},
		} {
			t.Run(way.name+", "+end.name, func(t *testing.T) {
				stopped := 0
				for i := 0; i < tries && stopped == 0; i++ {
					flags := slices.Concat([]string{"--connect-timeout", "1s", "--lost-after", "2s"}, way.flags, end.flags)
					r := start(t, c, n, append(flags, "-n", "2", "true")...)
					if !stopAgent(t, c, "n002", r) {
						continue
					}
					stopped++
					if end.do != 0 {
						require.NoError(t, r.cmd.Process.Signal(end.do))
					}
					code := r.wait(t)
					began := time.Now()
					require.Contains(t, end.codes, code, r.stderr.String())
					nothingLeft(t, c, firstNodes(c, n)...)
					t.Logf("exit status %d; nothing left after %v", code, time.Since(began).Round(time.Millisecond))
				}
				require.Positive(t, stopped)
			})
		}
	}
	for _, node := range firstNodes(c, n) { // what was to be kept
		require.NotContains(t, shell(t, c, node, "ls /tmp/golaunch-*; true"), "part-")
		shell(t, c, node, "rm -rf /tmp/golaunch-*")
	}
	noCgroupsLeft(t, c, firstNodes(c, n)...)
	t.Run("child of golaunch", func(t *testing.T) {
		stopped := false
		for i := 0; i < tries && !stopped; i++ {
			r := &running{cmd: c.Command(cluster.Head, bin("golaunch"), "--connect-timeout", "1s", "--lost-after", "2s", "-n", "2", "true")}
			r.cmd.Stderr = &r.stderr
			require.NoError(t, r.cmd.Start())
			if stopped = stopAgent(t, c, cluster.Head, r); stopped {
				require.Contains(t, []int{0, 125}, r.wait(t), r.stderr.String())
			}
			nothingLeft(t, c, cluster.Head)
		}
		require.True(t, stopped)
	})
}
