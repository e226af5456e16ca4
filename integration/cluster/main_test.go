package cluster

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// upEnv makes the test binary a process that makes a cluster in the directory
// it names, for the test that kills such a process.
const upEnv = "CLUSTER_TEST_UP"

func TestMain(m *testing.M) {
	if dir := os.Getenv(upEnv); dir != "" {
		if _, err := Up(context.Background(), Config{Dir: dir, Nodes: 32}); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newTestCluster makes a cluster for one test, or skips it where there can be none.
func newTestCluster(t *testing.T, c Config) *Cluster {
	t.Helper()
	if err := available(c); err != nil {
		t.Skipf("no cluster on this machine: %v", err)
	}
	if c.Dir == "" {
		c.Dir = t.TempDir() + "/c"
	}
	ctx := testContext(t)
	cl, err := Up(ctx, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		if _, err := os.Stat(c.Dir); err == nil {
			require.NoError(t, cl.Down(context.WithoutCancel(ctx)))
		}
	})
	return cl
}

// output runs a command on a node, which must succeed, and returns its output.
func output(t *testing.T, c *Cluster, node string, argv ...string) string {
	t.Helper()
	out, err := c.Command(node, argv...).CombinedOutput()
	require.NoErrorf(t, err, "%s: %q: %s", node, argv, out)
	return strings.TrimSpace(string(out))
}

// failure runs a command on a node, which must fail, and returns its output.
func failure(t *testing.T, c *Cluster, node string, argv ...string) string {
	t.Helper()
	out, err := c.Command(node, argv...).CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAsf(t, err, &exit, "%s: %q: %s", node, argv, out)
	return string(out)
}

// limitsAtRest reads the neighbour limits and reports whether they are the
// machine's own: no cluster is up, here or in another test.
func limitsAtRest(t *testing.T) (limits neighbourLimits, atRest bool) {
	t.Helper()
	absent := func() bool {
		_, err := os.Stat(neighbourRecord)
		return errors.Is(err, fs.ErrNotExist)
	}
	atRest = absent()
	limits, err := readNeighbourLimits()
	require.NoError(t, err)
	return limits, atRest && absent()
}

// requireNoInterface checks that nothing of a cluster's network shows on the
// host, where its names would collide with another's.
func requireNoInterface(t *testing.T, s *state) {
	t.Helper()
	for _, p := range s.ports() {
		_, err := net.InterfaceByName(p.name)
		require.Error(t, err, p.name)
	}
}

// requireGone checks that nothing is left of a cluster.
func requireGone(t *testing.T, s *state) {
	t.Helper()
	requireNoInterface(t, s)
	require.NoDirExists(t, s.Config.Dir)
	if s.Cgroup != "" {
		require.NoDirExists(t, s.Cgroup)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), s.Config.Dir)
	if record, err := os.ReadFile(neighbourRecord); err == nil {
		require.NotContains(t, string(record), s.ID)
	}
	keepers, err := (&netnsProvider{state: s}).keepers()
	require.NoError(t, err)
	require.Empty(t, keepers)
	list, err := pids()
	require.NoError(t, err)
	for _, pid := range list {
		env, err := os.ReadFile(procPath(pid, "environ"))
		if err == nil {
			require.NotContains(t, string(env), "HOME="+s.Config.Dir, "process %d", pid)
		}
	}
}
