package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestOpenSSH10 has hosts of OpenSSH 10 start each other, with the key exchange that it
// chooses, and with that alone.
func TestOpenSSH10(t *testing.T) {
	if err := cluster.OpenSSH10Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster with OpenSSH 10 here: %v", err)
	}
	const exchange = "mlkem768x25519-sha256"
	c := clusterOf(t, cluster.Config{Nodes: 4, Kex: cluster.KexOpenSSH10})
	output, err := c.Command(cluster.Head, "ssh", "-v", "n001", "true").CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "Local version string SSH-2.0-OpenSSH_10.")
	require.Contains(t, string(output), "remote software version OpenSSH_10.")
	require.Contains(t, string(output), "kex: algorithm: "+exchange)

	config, err := os.ReadFile(c.SSHConfig())
	require.NoError(t, err)
	alone := filepath.Join(filepath.Dir(c.Dir()), "alone")
	require.NoError(t, os.WriteFile(alone, []byte("KexAlgorithms "+exchange+"\n"+string(config)), 0o644))
	for _, file := range []string{c.SSHConfig(), alone} {
		r := onNode(t, c, cluster.Head, "-H", hostsArg(4), "--ssh-config", file, "--degree", "1", "--copy-agent", "-n", "8", "-N", "2", "-l", "hostname")
		require.Zero(t, r.code, r.stderr)
		require.ElementsMatch(t, strings.Split("[0] n001,[1] n001,[2] n002,[3] n002,[4] n003,[5] n003,[6] n004,[7] n004", ","), r.lines())
	}
	nothingLeft(t, c, firstNodes(c, 4)...)
}
