package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/network/topology/measure"
)

// TestMeasuredNetwork measures between four nodes, two on each of two leaf switches
// as the file has it: all six pairs, two of them below one switch.
func TestMeasuredNetwork(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 4)
	dir, err := os.MkdirTemp(built, "measure-")
	require.NoError(t, err)
	network := filepath.Join(dir, "topology.conf")
	require.NoError(t, os.WriteFile(network, []byte("SwitchName=s0 Nodes=n[001-002]\nSwitchName=s1 Nodes=n[003-004]\nSwitchName=s2 Switches=s[0-1]\n"), 0o600))
	topoMeasure := func(args ...string) result {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		cmd := c.CommandContext(ctx, cluster.Head, append([]string{"env", "GOLAUNCH_SSH_CONFIG=" + c.SSHConfig(), bin("golaunch"), "topo", "measure", "-H", hostsArg(4)}, args...)...)
		return finish(t, cmd, cmd.Cmd, "")
	}
	r := topoMeasure("--topology", network, "--format", "json")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	var report measure.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	require.Len(t, report.Levels, 4, r.stdout)
	for i, want := range []struct {
		name  string
		pairs int
	}{{"1 hop, ping-ping", 2}, {"1 hop, ping-pong", 2}, {"3 hops, ping-ping", 4}, {"3 hops, ping-pong", 4}} {
		l := report.Levels[i]
		require.Equal(t, want.name, l.Name())
		require.Equal(t, want.pairs, l.Pairs, want.name)
		require.Positive(t, l.Latency, want.name)
		require.Positive(t, l.Bandwidth, want.name)
	}
	for _, s := range report.Samples {
		require.NoError(t, s.Check())
	}

	r = topoMeasure("--pairs", "3")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `(?m)^ *all +ping-pong +3 +[0-9.]+ +[0-9.]+ +[0-9.]+ *$`, r.stdout)
	nothingLeft(t, c, firstNodes(c, 4)...)
}
