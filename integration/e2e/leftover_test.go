package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// cgroups lists those that wardens made on a node.
func cgroups(t *testing.T, c *cluster.Cluster, node string) string {
	t.Helper()
	return shell(t, c, node, `while read -r dev dir type rest; do
	[ "$type" != cgroup2 ] || find "$dir" -type d -name "golaunch-job-*"
done < /proc/mounts; true`)
}

// noCgroupsLeft asserts that nothing of a job is on any of the nodes, empty
// cgroups included.
func noCgroupsLeft(t *testing.T, c *cluster.Cluster, names ...string) {
	t.Helper()
	noFilesLeft(t, c, names...)
	for _, name := range names {
		require.Eventually(t, func() bool { return cgroups(t, c, name) == "" }, limit, 100*time.Millisecond, "left on %s", name)
	}
}

// awaitProc waits for a process of a node whose words match.
func awaitProc(t *testing.T, c *cluster.Cluster, node string, match func([]string) bool) cluster.Proc {
	t.Helper()
	var found cluster.Proc
	require.Eventually(t, func() bool {
		procs, err := c.Processes(node)
		require.NoError(t, err)
		i := slices.IndexFunc(procs, func(p cluster.Proc) bool { return match(p.Cmdline) })
		if i >= 0 {
			found = procs[i]
		}
		return i >= 0
	}, limit, time.Millisecond)
	return found
}

func isWarden(words []string) bool { return slices.Contains(words, "nla-warden") }

// A shell that is killed while it brings the agent to its node leaves nothing:
// its parent removes what it had made. Another try may come too late.
func TestKilledShellsLeaveNothing(t *testing.T) {
	t.Parallel()
	const n, times, tries = 3, 4, 40 // on a busy machine a shell may come and go between two looks
	c := ownCluster(t, n)
	hits := 0
	for i := 0; hits < times && i < tries; i++ {
		r := start(t, c, n, "--copy-agent", "--degree", "2", "-n", "3", "true")
		if killShell(t, c, firstNodes(c, n)[i%n], r) {
			hits++
		}
		r.wait(t)
		noCgroupsLeft(t, c, firstNodes(c, n)...)
	}
	require.Equal(t, times, hits)
}

// killShell kills the shell that brings the agent to a node. It reports false if
// golaunch was over first.
func killShell(t *testing.T, c *cluster.Cluster, node string, r *running) bool {
	t.Helper()
	for {
		procs, err := c.Processes(node)
		require.NoError(t, err)
		for _, p := range procs {
			if w := p.Cmdline; len(w) > 5 && w[0] == "/bin/sh" && w[3] == "golaunch" && slices.Contains(w, "nla-agent") {
				_ = p.Signal(syscall.SIGKILL) // it may have become the agent, which removes its file first of all
				return true
			}
		}
		select {
		case <-r.ended():
			return false
		case <-time.After(time.Millisecond): // it is starting
		}
	}
}

// However a warden ends, and whenever, its cgroup goes.
func TestKilledWardensLeaveNothing(t *testing.T) {
	t.Parallel()
	const n = 3
	c := ownCluster(t, n)
	if shell(t, c, "n001", "grep ' cgroup2 rw' /proc/mounts; true") == "" {
		t.Skip("skipped: the nodes have no cgroup v2")
	}
	for name, do := range map[string]func(){
		"killed before the launch": func() {
			require.NoError(t, awaitProc(t, c, "n001", isWarden).Signal(syscall.SIGKILL))
		},
		"killed with its agent before the launch": func() {
			killBoth(t, c, "n002")
		},
		"cut off before the launch": func() {
			require.NoError(t, c.Partition("n002"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.Partition("n003")) // keeps the others from their launch
			t.Cleanup(func() { require.NoError(t, c.Heal("n003")) })
			r := start(t, c, n, "--connect-timeout", "20s", "--lost-after", "5s", "-n", "3", bin("rankprobe"), "sleep")
			for _, node := range []string{"n001", "n002"} {
				require.Eventually(t, func() bool { return cgroups(t, c, node) != "" }, limit, 10*time.Millisecond)
			}
			do()
			r.wait(t)
			for _, node := range firstNodes(c, n)[1:] {
				require.NoError(t, c.Heal(node))
			}
			noCgroupsLeft(t, c, firstNodes(c, n)...)
		})
	}
	t.Run("stopped at the end", func(t *testing.T) {
		r := sleepers(t, c, n)
		require.NoError(t, awaitProc(t, c, "n002", isWarden).Signal(syscall.SIGSTOP))
		require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
		r.wait(t)
		noCgroupsLeft(t, c, firstNodes(c, n)...)
	})
}

// start begins a job on the first n nodes.
func start(t *testing.T, c *cluster.Cluster, n int, args ...string) *running {
	t.Helper()
	r := &running{cmd: c.Command(cluster.Head, append([]string{bin("golaunch"), "-H", hostsArg(n), "--ssh-config", c.SSHConfig()}, args...)...)}
	r.cmd.Stderr = &r.stderr
	begin(t, r.cmd, r.cmd.Cmd)
	return r
}
