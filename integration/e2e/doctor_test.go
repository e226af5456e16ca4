package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestDoctor looks at this machine, at nodes that are alike, and at a host that is not
// there.
func TestDoctor(t *testing.T) {
	t.Setenv("GOLAUNCH_FOLD", "true") // and other variables of output do not count
	r := local(t, "", "doctor", "--bootstrap", "fork")
	require.Contains(t, r.stdout, "  account    ", r.stderr)
	require.Contains(t, r.stdout, "  system     Linux ")

	c := ownCluster(t, 4)
	words := []string{"doctor", "--ssh-config", c.SSHConfig(), "--copy-agent"}
	r = onNode(t, c, cluster.Head, append(words, "n002,n001")...)
	require.Contains(t, r.stdout, "n[002,001]\n", "they are alike, and in the order in which they are named")
	require.Contains(t, r.stdout, "  agent      in /dev/shm\n")
	require.NotContains(t, r.stdout, "no agent could be started")

	r = onNode(t, c, cluster.Head, append(words, "n003", "n099")...)
	require.NotZero(t, r.code, "n099 is no host")
	require.Contains(t, r.stderr, "n099")
	require.Contains(t, r.stdout, "n099\n  problem    no agent could be started\n             host n099: resolve: name n099: no such host")
}
