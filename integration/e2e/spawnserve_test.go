package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// The services of the first world's ranks serve those of spawned worlds: they do every
// operation of package client, and of libgolaunch, splits included, while the first
// world lives. The nodes are those of the first world, others, and both.
func TestToursInSpawnedWorlds(t *testing.T) {
	c := theCluster(t)
	client := bin("spawnclient")
	for _, program := range []string{"tour", "treetour"} {
		for name, x := range map[string]struct{ first, nodes string }{
			"where the first world is": {"16", "n[001-008]:4"},
			"on new hosts, too":        {"2", "n001:4,n[002-008]:2"},
		} {
			t.Run(program+", "+name, func(t *testing.T) {
				r := onNode(t, c, cluster.Head, "-H", x.nodes, "--ssh-config", c.SSHConfig(), "-n", x.first, "-N", "2", "--degree", "2", "-l", "--copy-agent",
					client, "-r", "1", "8", "--", bin(program), "20000", "+", "8", "--", bin(program), "20000")
				require.Zero(t, r.code, r.stderr)
				require.Empty(t, r.stderr)
				require.Equal(t, []string{"tour of 16 ranks on 8 nodes: ok"}, r.labeled("1.0"))
				require.Contains(t, r.labeled("1"), "rc=0")
			})
		}
	}
	r := onNode(t, c, cluster.Head, "-H", "n[001-008]:4", "--ssh-config", c.SSHConfig(), "-n", "8", "-N", "1", "--degree", "2", "-l",
		client, "16", "--", bin("treesplit"), "3", "+", "8", "--", bin("treesplit"), "3")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"24 ranks on 8 nodes, 3 colors: ok"}, r.labeled("1.0"))
	nothingLeft(t, c, firstNodes(c, 8)...)
}

// Worlds use the tree at the same time, each its own.
func TestWorldsUseTheTreeAtOnce(t *testing.T) {
	client, tour := bin("spawnclient"), bin("treetour")
	r := local(t, "", four("-n", "2", "sh", "-c", client+" -t 3 8 -- "+tour+" 3000 && exec "+tour+" 3000")...)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Contains(t, r.labeled("0"), "tour of 2 ranks on 2 nodes: ok")
	for world := 1; world <= 3; world++ {
		require.Equal(t, []string{"tour of 8 ranks on 4 nodes: ok"}, r.labeled(fmt.Sprintf("%d.0", world)))
	}
}

// A rank that breaks the protocol of the tree's service, or leaves others alone, is
// named with its world.
func TestSpawnedRanksBreakTheService(t *testing.T) {
	client := bin("spawnclient")
	r := local(t, "", four("-n", "1", client, "2", "--", bin("treebreak"), "fences")...)
	require.Equal(t, 125, r.code, r.stderr)
	require.Regexp(t, `rank 1\.0 on .* \(pid \d+\) broke the protocol of the tree's service: it enters a fence while another`, r.stderr)
	r = local(t, "", four("-n", "1", client, "1", "--", "sh", "-c", "PMI_RANK=7 "+bin("treetour")+"; true")...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "rank 7 is not on this node")
	r = local(t, "", four("-n", "1", client, "1", "--", "sh", "-c", "GOLAUNCH_WORLD=7 "+bin("treetour")+"; true")...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "rank 0 is not on this node")
}

// PMGR serves spawned worlds, too: each has a port of its own.
func TestPMGRInSpawnedWorlds(t *testing.T) {
	client := bin("spawnclient")
	r := local(t, "", four("--pmgr", "-n", "2", "sh", "-c", client+" 8 -- "+bin("pmgrclient")+" -s 3000")...)
	require.Zero(t, r.code, r.stderr)
	for rank := range 8 {
		require.Equal(t, []string{fmt.Sprintf("rank %d of 8 ok", rank)}, r.labeled(fmt.Sprintf("1.%d", rank)))
	}
	r = local(t, "", four("-n", "1", client, "2", "--", "sh", "-c", "env | grep -c ^MPIRUN_; :")...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 2, strings.Count(r.stdout, "] 0\n"), "nothing leads PMGR's clients astray")
}
