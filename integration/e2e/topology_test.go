package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// pods is two pods of two leaf switches with two hosts each.
const pods = "fattree:2,2,2/1,2,2/1,1,1"

// podsMap writes which of the hosts of pods the nodes n001 to n008 are: h3, h6, h1, h4,
// h7, h2, h5 and h0.
func podsMap(t *testing.T) string {
	dir, err := os.MkdirTemp(built, "map-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "n%03d h%d\n", i+1, (i*3+3)%8)
	}
	file := filepath.Join(dir, "map")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	return file
}

// byRanks are the lines of switches and treeswitch for pods, with the first so many
// ranks on each host.
func byRanks(perHost int) []string {
	lines := []string{"depth 1: 1 cluster", "depth 2: 2 clusters", "depth 3: 4 clusters"}
	for depth, hosts := range map[int]int{1: 8, 2: 4, 3: 2} {
		for first := 0; first < 8*perHost; first += hosts * perHost {
			line := fmt.Sprintf("depth %d: ranks", depth)
			for rank := range hosts * perHost {
				line += fmt.Sprintf(" %d", first+rank)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Eight nodes of a fat tree are used in the order of its places, and their ranks split
// the world by switch, by both libraries and by their environment.
func TestSplitBySwitch(t *testing.T) {
	c := theCluster(t)
	names := podsMap(t)
	for _, program := range []string{"switches", "treeswitch"} {
		r := over(t, c, 8, "-n", "16", "-N", "2", "--degree", "2", "--topology", pods, "--map", names, bin(program))
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
		require.ElementsMatch(t, byRanks(2), r.lines(), program)
	}
	r := over(t, c, 8, "-l", "--topology", pods, "--map", names, "sh", "-c", "echo $(hostname) $GOLAUNCH_TOPO_DEPTH $GOLAUNCH_TOPO_CLUSTERS")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{
		"[0] n008 3 0,0,0", "[1] n003 3 0,0,0", "[2] n006 3 0,0,2", "[3] n001 3 0,0,2",
		"[4] n004 3 0,4,4", "[5] n007 3 0,4,4", "[6] n002 3 0,4,6", "[7] n005 3 0,4,6",
	}, r.lines())
	nothingLeft(t, c, firstNodes(c, 8)...)
}

// The tree follows switches also where the order of the hosts mixes them.
func TestTreeOfMixedHosts(t *testing.T) {
	c := theCluster(t)
	args := []string{"-n", "16", "-N", "2", "--degree", "2", "--topology", "torus:2x2,hosts=2", "--map", podsMap(t)}
	r := over(t, c, 8, append(args, "--dry-run", bin("tour"))...)
	require.Contains(t, r.stdout, "\norder  as given: ")
	require.Contains(t, r.stdout, "\ntree   3 of 7 edges between switches, of which there are 4\n")
	for _, program := range [][]string{{bin("tour")}, {"--cache", "distributed", bin("pmiclient"), "-m", "all"}, {bin("switches")}} {
		r := over(t, c, 8, append(args, program...)...)
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
	}
	nothingLeft(t, c, firstNodes(c, 8)...)
}

// Dead hosts, also those that lead into a switch, leave their part of a tree that
// follows the network to others, who may log in there.
func TestDeadHostsOfATreeThatFollowsSwitches(t *testing.T) {
	c := theCluster(t)
	dir, err := os.MkdirTemp(built, "map-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	network := filepath.Join(dir, "topology.conf")
	require.NoError(t, os.WriteFile(network, []byte(`SwitchName=s1 Nodes=nobody1,n00[1-2]
SwitchName=s2 Nodes=nobody2,nobody3,n00[3-4]
SwitchName=s3 Nodes=n00[5-8],nobody4
SwitchName=s0 Switches=s[1-3]
`), 0o644))
	for _, degree := range []string{"2", "8"} {
		r := onNode(t, c, cluster.Head, "-H", "n00[1-8],nobody[1-4]", "--ssh-config", c.SSHConfig(), "-n", "12", "--degree", degree, "--allow-dead-nodes",
			"--topology", network, bin("tour"))
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stderr, "4 of 12 hosts could not be started:\n")
		require.NotContains(t, r.stderr, "signature")
		nothingLeft(t, c, firstNodes(c, 8)...)
	}
}

// A spawned world is told of its own nodes, also of those that come for it: clusters
// are counted where it is, and numbered as in the first.
func TestSpawnedWorldsSplitBySwitch(t *testing.T) {
	c := theCluster(t)
	hosts := "n008:2,n003:2,n[001,002,004-007]:1" // the first two places, and the others
	r := onNode(t, c, cluster.Head, "-H", hosts, "--ssh-config", c.SSHConfig(), "-n", "2", "-N", "1", "--degree", "2", "-l", "--copy-agent", "--topology", pods, "--map", podsMap(t),
		bin("spawnclient"), "-r", "1", "8", "--", bin("treeswitch"))
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	var got []string
	for rank := range 8 {
		got = append(got, r.labeled(fmt.Sprintf("1.%d", rank))...)
	}
	require.ElementsMatch(t, byRanks(1), got)
	nothingLeft(t, c, firstNodes(c, 8)...)
}

// Without a network there is none to tell of; under auto one that is wrong is no reason
// not to run.
func TestNoNetwork(t *testing.T) {
	for _, program := range []string{"switches", "treeswitch"} {
		r := local(t, "", "-n", "2", bin(program))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "no network is known; name it with golaunch --topology\n", r.stdout)
	}
	r := local(t, "", "-n", "1", "sh", "-c", `echo "$GOLAUNCH_TOPO_DEPTH, ${GOLAUNCH_TOPO_CLUSTERS-none}"`)
	require.Equal(t, "0, none\n", r.stdout)
	t.Setenv("GOLAUNCH_TOPOLOGY", "/no/such/file")
	r = local(t, "", "-n", "1", "--topology", "auto", "echo", "it runs")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "it runs\n", r.stdout)
	require.Equal(t, "golaunch: network /no/such/file: no such file or directory; going on without it\n", r.stderr)
	r = local(t, "", "-n", "1", "echo", "it does not run")
	require.Equal(t, 2, r.code)
	require.Equal(t, "golaunch: --topology: /no/such/file: no such file or directory\n", r.stderr)
}
