package cluster

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocker runs the checks of the other provider on the docker provider.
func TestDocker(t *testing.T) {
	if testing.Short() {
		t.Skip("containers take long to start: not with -short")
	}
	c := newTestCluster(t, Config{Nodes: 2, Provider: Docker})
	for _, n := range c.Nodes() {
		assert.Equal(t, n.Name, output(t, c, Head, "ssh", "-F", c.SSHConfig(), n.Name, "hostname"))
	}
	assert.Equal(t, "n001", output(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), "n001", "hostname"))
	testKeys(t, c)
	assert.Contains(t, output(t, c, Head, "mpiexec.hydra", "-f", c.HostFile(), "-n", "2", "hostname"), "n002")

	var exit *exec.ExitError
	require.ErrorAs(t, c.Command("n001", "sh", "-c", "exit 7").Run(), &exit)
	assert.Equal(t, 7, exit.ExitCode())
	cmd := c.Command("n001", "sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done")
	r, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = r.Read(make([]byte, 8))
	require.NoError(t, err)
	procs, err := c.Processes("n001")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(procs), 2, "sshd and the command")
	require.NoError(t, cmd.Signal(syscall.SIGINT))
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 9, exit.ExitCode())

	ssh := []string{"ssh", "-F", c.SSHConfig(), "-o", "ConnectTimeout=1", "n002", "hostname"}
	require.NoError(t, c.Slow("n002", 30*time.Second))
	assert.Contains(t, failure(t, c, Head, ssh...), "banner exchange")
	require.NoError(t, c.Slow("n002", 0))
	require.NoError(t, c.Partition("n002"))
	assert.Contains(t, failure(t, c, Head, ssh...), "timed out")
	require.NoError(t, c.Heal("n002"))
	require.NoError(t, c.Kill("n002"))
	assert.Contains(t, failure(t, c, Head, ssh...), "Connection refused")
	require.NoError(t, c.Revive(testContext(t), "n002"))
	ssh[4] = "ConnectTimeout=20"
	assert.Equal(t, "n002", output(t, c, Head, ssh...))
	rx, tx, err := c.Packets("n002")
	require.NoError(t, err)
	assert.Positive(t, min(rx, tx))

	require.NoError(t, c.Down(testContext(t)))
	assert.NoDirExists(t, c.Dir())
	left, err := docker(testContext(t), "ps", "--all", "--quiet", "--filter", "name="+(&dockerProvider{c.state}).project())
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Error(t, c.Command("n001", "true").Run())
}
