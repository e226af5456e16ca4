package cluster

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node that is short of memory loses the greatest process that its sshd has started,
// and none of those that look at it; with memory again, all goes on.
func TestANodeShortOfMemory(t *testing.T) {
	if err := Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	if err := MemoryUnavailable(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	c, err := Up(t.Context(), Config{Dir: filepath.Join(t.TempDir(), "c"), Nodes: 2, Memory: true})
	require.NoError(t, err)
	down := func() error { return c.Down(context.WithoutCancel(t.Context())) }
	defer func() { require.NoError(t, down()); require.NoDirExists(t, c.state.Memory) }()
	take := func(node string) ([]byte, error) {
		return c.Command(Head, "ssh", "-F", c.SSHConfig(), node, "head -c 30M /dev/zero | tail -c 30M | wc -c").CombinedOutput()
	}
	require.NoError(t, c.BoundMemory("n001", 16<<20))
	for node, want := range map[string]string{"n001": "0\n", "n002": "31457280\n"} {
		out, err := take(node)
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), want, node)
	}
	kills, err := c.MemoryKills("n001")
	require.NoError(t, err)
	require.Equal(t, 1, kills)

	giveBack, err := c.TakeMemory("n001", 64<<20)
	require.NoError(t, err)
	more, err := c.MemoryKills("n001")
	require.NoError(t, err)
	require.Greater(t, more, kills)
	require.NoError(t, giveBack())
	require.NoError(t, c.FreeMemory("n001"))
	require.NoError(t, c.Revive(t.Context(), "n001"))
	out, err := take("n001")
	require.NoError(t, err, "%s", out)
	require.Equal(t, "31457280\n", string(out))
}

func TestMemoryWasNotAskedFor(t *testing.T) {
	c := &Cluster{provider: &netnsProvider{state: &state{}}}
	require.ErrorContains(t, c.BoundMemory("n001", 0), "without Config.Memory")
	require.ErrorContains(t, (&Config{Nodes: 1, Provider: Docker, Memory: true}).validate(), "does not bound memory")
}

func TestMemoryFiles(t *testing.T) {
	require.Equal(t, "/a:b", cgroupOfController("5:devices:/\n4:cpu,memory:/a:b\n0::/c\n", "memory"))
	require.Equal(t, "/", cgroupOfController("0::/c\nx\n", "memory"))
	kills, err := oomKills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
	require.NoError(t, err)
	require.Equal(t, 3, kills)
	for _, bad := range []string{"", "oom_kill\n", "oom_kill x\n", "oom_kill_disable 1\n"} {
		_, err := oomKills(bad)
		require.Error(t, err, bad)
	}
}
