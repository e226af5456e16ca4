package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGridEngine is a cluster whose Grid Engine an ordinary user gives jobs to.
func TestGridEngine(t *testing.T) {
	if err := GridEngineUnavailable(); err != nil {
		t.Skipf("skipped: no cluster with Grid Engine here: %v", err)
	}
	c := newTestCluster(t, Config{Nodes: 2, User: "guest", GridEngine: true})
	nodeOf := func(node string) string {
		return output(t, c, Head, "qrsh", "-now", "no", "-l", "hostname="+node, "echo $(hostname) $(id -un) $(id -gn) $JOB_ID")
	}
	assert.Equal(t, "n002 guest guest 1", nodeOf("n002"))
	require.NoError(t, c.Kill("n001"))
	require.NoError(t, c.Revive(testContext(t), "n001"))
	assert.Equal(t, "n001 guest guest 2", nodeOf("n001"))
	require.NoError(t, c.Down(testContext(t)))
	requireGone(t, c.state)
}
