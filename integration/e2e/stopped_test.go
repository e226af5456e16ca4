package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// stoppedFile is there once the agent was stopped; nodes have a /tmp of their own.
func stoppedFile() string { return filepath.Join(built, "stopped") }

// untilStopped returns the command of the ranks.
func untilStopped() string { return "until [ -e " + stoppedFile() + " ]; do sleep 0.01; done" }

// stopAgent stops the agent on a node as soon as its shell has become it, mostly
// before it says a word. It reports false if golaunch was over first, or went on
// without that node: ranks run, and there is no agent.
func stopAgent(t *testing.T, c *cluster.Cluster, node string, r *running) bool {
	t.Helper()
	for {
		without, err := c.Processes("n001")
		require.NoError(t, err)
		procs, err := c.Processes(node)
		require.NoError(t, err)
		for _, p := range procs {
			if strings.Contains(strings.Join(p.Cmdline, " "), "nla-agent") && !slices.Contains(p.Cmdline, "-c") {
				return p.Signal(syscall.SIGSTOP) == nil
			}
		}
		if slices.ContainsFunc(without, func(p cluster.Proc) bool { return slices.Contains(p.Cmdline, untilStopped()) }) {
			return false
		}
		select {
		case <-r.ended():
			return false
		case <-time.After(time.Millisecond): // it is starting
		}
	}
}

// impatient are the flags by which golaunch gives a stopped agent up soon, though on a
// busy machine not before there is one.
func impatient(try int) []string {
	return []string{"--connect-timeout", fmt.Sprintf("%ds", 1+try/2), "--lost-after", "2s"}
}

// An agent that is stopped while it starts does not stay on its node, however it
// came there and however the start ends. The job does not end by itself before:
// one that is stopped once it has taken its leave is nobody's.
func TestAgentsStoppedAtTheStartLeaveNothing(t *testing.T) {
	const n, tries = 2, 20
	c := ownCluster(t, n)
	stopped := stoppedFile()
	job := []string{"-n", "2", "sh", "-c", untilStopped()}
	t.Cleanup(func() { _ = os.Remove(stopped) })
	goOn := func() { require.NoError(t, os.WriteFile(stopped, nil, 0o600)) }
	for _, kind := range []struct {
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
			// 125 where the other host was given up first, on a busy machine.
			{"interrupted", nil, []int{130, 125}, syscall.SIGINT},
		} {
			t.Run(kind.name+", "+end.name, func(t *testing.T) {
				hit := false
				for i := 0; i < tries && !hit; i++ {
					_ = os.Remove(stopped) // the first has none
					flags := slices.Concat(impatient(i), kind.flags, end.flags)
					r := start(t, c, n, append(flags, job...)...)
					hit = stopAgent(t, c, "n002", r)
					if end.do != 0 {
						_ = r.cmd.Process.Signal(end.do) // it may be over
					}
					goOn()
					code := r.wait(t)
					began := time.Now()
					if hit {
						require.Contains(t, end.codes, code, r.stderr.String())
					}
					nothingLeft(t, c, firstNodes(c, n)...)
					t.Logf("exit status %d; nothing left after %v", code, time.Since(began).Round(time.Millisecond))
				}
				require.True(t, hit)
			})
		}
	}
	for _, node := range firstNodes(c, n) { // agents that were to be kept
		require.NotContains(t, shell(t, c, node, "ls /tmp/golaunch-*; true"), "part-")
		shell(t, c, node, "rm -rf /tmp/golaunch-*")
	}
	noCgroupsLeft(t, c, firstNodes(c, n)...)
	t.Run("child of golaunch", func(t *testing.T) {
		hit := false
		for i := 0; i < tries && !hit; i++ {
			_ = os.Remove(stopped)
			r := &running{cmd: c.Command(cluster.Head, slices.Concat([]string{bin("golaunch")}, impatient(i), job)...)}
			r.cmd.Stderr = &r.stderr
			begin(t, r.cmd, r.cmd.Cmd)
			hit = stopAgent(t, c, cluster.Head, r)
			goOn()
			if code := r.wait(t); hit {
				require.Contains(t, []int{0, 125}, code, r.stderr.String())
			}
			nothingLeft(t, c, cluster.Head)
		}
		require.True(t, hit)
	})
}

// An agent that is stopped while its ranks run, and whose warden is then killed or
// swept with the rest, is ended by its parent, the launcher or another agent.
func TestAStoppedAgentIsEndedByItsParent(t *testing.T) {
	t.Parallel()
	const n = 3
	c := ownCluster(t, n)
	for _, x := range []struct {
		name   string
		flags  []string
		warden bool // is killed, too
	}{
		{"its warden is dead", nil, true},
		{"its warden is dead, over a command", viaSSH(c), true},
		{"over a command", viaSSH(c), false},
	} {
		for _, node := range []string{"n001", "n002"} {
			t.Run(x.name+", "+node, func(t *testing.T) {
				r := sleepers(t, c, n, append([]string{"--lost-after", "2s"}, x.flags...)...)
				agent := awaitProc(t, c, node, func(words []string) bool {
					return slices.Contains(words, "nla-agent") && !slices.Contains(words, "-c")
				})
				require.NoError(t, agent.Signal(syscall.SIGSTOP))
				if x.warden {
					kill(t, c, node, "nla-warden")
				}
				require.Equal(t, 125, r.wait(t), r.stderr.String())
				require.Contains(t, r.stderr.String(), "host "+node)
				nothingLeft(t, c, firstNodes(c, n)...)
				noCgroupsLeft(t, c, firstNodes(c, n)...)
			})
		}
	}
}
