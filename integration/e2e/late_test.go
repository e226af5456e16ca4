package e2e

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// lateHost is a host that is not there when a job begins, and how it comes.
type lateHost struct {
	lacks   string // golaunch's word for it
	remove  func(t *testing.T, c *cluster.Cluster, name string)
	restore func(t *testing.T, c *cluster.Cluster, name string)
}

// lateHosts are those of real clusters: an sshd, a name that all nodes learn, and one that
// the launcher's machine alone does.
func lateHosts(t *testing.T, c *cluster.Cluster) map[string]lateHost {
	shared := filepath.Join(c.Dir(), "etc", "hosts")
	own := filepath.Join(built, filepath.Base(filepath.Dir(c.Dir()))+"-hosts")
	whole, err := os.ReadFile(shared)
	require.NoError(t, err)
	write := func(file, without string) {
		var kept []string
		for line := range strings.Lines(string(whole)) {
			if without == "" || !strings.Contains(line, without) {
				kept = append(kept, line)
			}
		}
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(kept, "")), 0o644)) // the same file: nodes have it mounted
	}
	onHead := func(t *testing.T, c *cluster.Cluster, argv ...string) {
		out, err := c.Command(cluster.Head, argv...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return map[string]lateHost{
		"its sshd": {"nothing listens on port 22 yet",
			func(t *testing.T, c *cluster.Cluster, name string) { require.NoError(t, c.Kill(name)) },
			func(t *testing.T, c *cluster.Cluster, name string) { require.NoError(t, c.Revive(t.Context(), name)) }},
		"its name": {"its name is not known yet",
			func(_ *testing.T, _ *cluster.Cluster, name string) { write(shared, name) },
			func(*testing.T, *cluster.Cluster, string) { write(shared, "") }},
		"its name, for the launcher alone": {"its name is not known yet",
			func(t *testing.T, c *cluster.Cluster, name string) {
				write(own, name)
				onHead(t, c, "mount", "--bind", own, "/etc/hosts")
				write(shared, name)
			},
			func(t *testing.T, c *cluster.Cluster, _ string) {
				write(own, "")
				t.Cleanup(func() {
					onHead(t, c, "umount", "/etc/hosts")
					write(shared, "")
				})
			}},
	}
}

// A host that comes up after the job has begun takes part in it, be it the first, which
// starts the others, or a leaf. The user is told once whom golaunch waits for, by which
// time the others are up: it is then that the host comes here.
//
//report:hosts kubeflow/mpi-operator#386, kubeflow/mpi-operator#443, kubeflow/mpi-operator#481, volcano-sh/volcano#1972, NVIDIA/aicr#1631 hosts that come up, or get their names, late
func TestALateHostTakesPart(t *testing.T) {
	t.Parallel()
	for _, lack := range []string{"its sshd", "its name", "its name, for the launcher alone"} {
		t.Run(lack, func(t *testing.T) {
			t.Parallel()
			c := ownCluster(t, 3)
			late := lateHosts(t, c)[lack]
			for _, name := range []string{"n001", "n003"} {
				for _, dead := range []bool{false, true} {
					sub := name
					args := []string{"--wait", "--connect-timeout", "1m"}
					if dead {
						sub += ", which may be dead"
						args = append(args, "--allow-dead-nodes")
					}
					t.Run(sub, func(t *testing.T) {
						late.remove(t, c, name)
						r := waits(t, c, func() { late.restore(t, c, name) }, args...)
						require.Zero(t, r.code, r.stderr)
						require.ElementsMatch(t, []string{"n001", "n002", "n003"}, r.lines(), r.stderr)
						require.Equal(t, "golaunch: host "+name+": "+late.lacks+": waiting up to 1m0s for it (--connect-timeout)\n", r.stderr)
					})
				}
			}
			nothingLeft(t, c, firstNodes(c, 3)...)
		})
	}
}

// Without --wait a host that others replace, and a name that nobody knows, are soon given
// up; a host that must be there is not.
func TestALateHostIsGivenUp(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 3)
	const never = "1h" // longer than any job here may take
	r := onNode(t, c, cluster.Head, "-H", "n001,n002,nosuch", "--ssh-config", c.SSHConfig(), "--connect-timeout", never, "-n", "3", "hostname")
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, "host nosuch: its name is not known yet: waiting up to 3s for it (--wait waits longer)\n")
	require.Contains(t, r.stderr, "host nosuch: resolve: name nosuch: no such host (")

	require.NoError(t, c.Kill("n002"))
	for _, args := range [][]string{{"--allow-dead-nodes", "-n", "3"}, {"--spares", "1", "-n", "2"}} {
		r = onNode(t, c, cluster.Head, append([]string{"-H", "n001:2,n002:2,n003:2", "--ssh-config", c.SSHConfig(), "--connect-timeout", never}, append(args, "hostname")...)...)
		require.Zero(t, r.code, r.stderr)
		require.NotContains(t, r.lines(), "n002")
		require.Contains(t, r.stderr, "host n002: nothing listens on port 22 yet: waiting up to 3s for it (--wait waits longer)\n")
		require.Contains(t, r.stderr, "connection refused (does sshd run there, on port 22?)")
	}
	require.NoError(t, c.Revive(t.Context(), "n002"))

	require.NoError(t, c.Kill("n002"))
	r = waits(t, c, func() { require.NoError(t, c.Revive(t.Context(), "n002")) }, "--connect-timeout", "1m")
	require.Zero(t, r.code, r.stderr)

	require.NoError(t, c.Kill("n002"))
	r = waitsIn(t, c, func() { require.NoError(t, c.Revive(t.Context(), "n002")) },
		"doctor", "--ssh-config", c.SSHConfig(), "--wait", "--connect-timeout", "1m", hostsArg(3))
	require.True(t, strings.HasPrefix(r.stdout, "n[001-003]\n"), "all hosts are examined, and alike: %s", r.stdout)
	require.NotContains(t, r.stdout, "no agent could be started")
	nothingLeft(t, c, firstNodes(c, 3)...)
}

// ConnectionAttempts 30 is a host that is tried for half a minute, whatever golaunch's own
// limits are.
func TestConnectionAttempts(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 3)
	require.NoError(t, c.Kill("n003"))
	r := waits(t, c, func() { require.NoError(t, c.Revive(t.Context(), "n003")) },
		"--allow-dead-nodes", "--ssh-option", "ConnectionAttempts=30")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"n001", "n002", "n003"}, r.lines(), r.stderr)
}

// waits runs a job on three nodes, and does something once it says that it waits.
func waits(t *testing.T, c *cluster.Cluster, act func(), args ...string) result {
	t.Helper()
	args = append([]string{"-H", hostsArg(3), "--ssh-config", c.SSHConfig(), "-n", "3"}, args...)
	return waitsIn(t, c, act, append(args, "hostname")...)
}

// waitsIn does so for any command of golaunch's.
func waitsIn(t *testing.T, c *cluster.Cluster, act func(), args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := c.Command(cluster.Head, append([]string{bin("golaunch")}, args...)...)
	cmd.Stdout = &stdout
	var told io.Writer
	waiting := watch(t, &told, "waiting up to ")
	cmd.Stderr = io.MultiWriter(&stderr, told)
	begin(t, cmd, cmd.Cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the job
	var err error
	select {
	case <-waiting:
		act()
		err = <-ended
	case err = <-ended:
		require.FailNow(t, "the job has not waited", "%v: %s", err, stderr.String())
	}
	if err != nil {
		t.Log(err)
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}
