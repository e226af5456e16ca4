package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// sumsUp asserts that MPI works between four ranks, two on each of two hosts.
func sumsUp(t *testing.T, c *cluster.Cluster, hosts string) {
	t.Helper()
	for _, program := range []string{"mpisum", "mpisum.openmpi"} {
		r := onNode(t, c, cluster.Head, "-H", hosts, "--ssh-config", c.SSHConfig(), "-n", "4", "-N", "2", bin(program), "-a")
		require.Zero(t, r.code, r.stderr)
		for rank := range 4 {
			require.Regexp(t, fmt.Sprintf(`(?m)^rank %d of 4 on \S+: sum 10 ok$`, rank), r.stdout)
		}
	}
}

// Nodes whose own hostname(1) is the same, such as clones of one disk, are two nodes: MPI
// works between them, and each numbers its own ranks.
//
//report:hosts ROCm/mori#74 two nodes that call themselves the same
func TestNodesOfOneHostname(t *testing.T) {
	t.Parallel()
	needMPI(t)
	needOpenMPI(t)
	c := ownCluster(t, 2)
	for _, name := range firstNodes(c, 2) {
		shell(t, c, name, "hostname twin")
	}
	sumsUp(t, c, hostsArg(2))
	r := over(t, c, 2, "-n", "4", "-N", "2", "sh", "-c", "echo $(hostname) $RANK $LOCAL_RANK of $LOCAL_WORLD_SIZE at $GOLAUNCH_NODEID")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"twin 0 0 of 2 at 0", "twin 1 1 of 2 at 0", "twin 2 0 of 2 at 1", "twin 3 1 of 2 at 1"}, r.lines())
}

// Where each host knows its own name as 127.0.1.1, as installers of Debian have it, ranks
// meet at an address that all reach, and MPI works. golaunch may run on one of the hosts,
// be it the first or another.
//
//report:hosts pytorch/pytorch#150532, pytorch/pytorch#85300 the own name of a host is 127.0.1.1
func TestOwnNamesThatAreLoopback(t *testing.T) {
	t.Parallel()
	needMPI(t)
	needOpenMPI(t)
	c := ownCluster(t, 2)
	for _, name := range append(firstNodes(c, 2), cluster.Head) {
		shell(t, c, name, "{ echo 127.0.1.1 $(hostname); grep -vw $(hostname) /etc/hosts; } > /tmp/hosts; mount --bind /tmp/hosts /etc/hosts; getent hosts $(hostname) | grep '^127.0.1.1 '")
	}
	sumsUp(t, c, hostsArg(2))
	for _, hosts := range []string{hostsArg(2), cluster.Head + ",n001", "n001," + cluster.Head} { // head has a second network, which UCX may choose
		r := onNode(t, c, cluster.Head, "-H", hosts, "--ssh-config", c.SSHConfig(), "-n", "4", "-N", "2", "python3", "-c", meet)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "['0 1\\n', '1 0\\n', '1 1\\n']\n", r.stdout)
	}
}

// A host that is named by its name and by its address runs the ranks of both.
//
//report:hosts open-mpi/ompi#2328 one machine by its name and by its address
func TestOneHostByTwoNames(t *testing.T) {
	needMPI(t)
	needOpenMPI(t)
	c := theCluster(t)
	sumsUp(t, c, "n001,"+c.Nodes()[0].Addr.String())
}
