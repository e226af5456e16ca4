package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// mpis are a program that sends bytes, built with each MPI library, and where that is from.
var mpis = []struct{ name, program, packages string }{
	{"MPICH, ch4:ucx", "mpibytes", "libmpich-dev mpich"},
	{"MPICH, ch3", "mpibytes.ch3", "what scripts/mpich.sh needs, and run it"},
	{"Open MPI 4", "mpibytes.openmpi", "openmpi-bin libopenmpi-dev"},
	{"Open MPI 5", "mpibytes.openmpi5", "what scripts/openmpi5.sh needs, and run it"},
}

// manyBytes is the size of their messages in all, and fewBytes 1 % of it.
const manyBytes, fewBytes = 20_000_000, manyBytes / 100

// sentOver runs the first two nodes' ranks, of which the first sends the second bytes. It
// returns what the first node has sent meanwhile over its two networks, golaunch's own
// bytes on the first among it.
func sentOver(t *testing.T, c *cluster.Cluster, program string, flags ...string) (first, second int) {
	t.Helper()
	sent := func() (counts [2]int) {
		for i, text := range strings.Fields(shell(t, c, "n001", "cd /sys/class/net; cat eth0/statistics/tx_bytes eth1/statistics/tx_bytes")) {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			counts[i] = n
		}
		return counts
	}
	before := sent()
	r := over(t, c, 2, append(append([]string{"-n", "2", "-N", "1", "--timeout", limit.String()}, flags...), bin(program), strconv.Itoa(manyBytes))...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, fmt.Sprintf("%d bytes sent\n", manyBytes), r.stdout)
	after := sent()
	return after[0] - before[0], after[1] - before[1]
}

// MPI's bytes go over the network that the user names, and no other, whatever each node
// calls its interface there.
func TestIface(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, cluster.Config{Nodes: 2, SecondNetwork: true})
	onSecond := func(wanted string) {
		for _, mpi := range mpis {
			t.Run(mpi.name+" over "+wanted, func(t *testing.T) {
				needBuilt(t, mpi.program, mpi.packages)
				first, second := sentOver(t, c, mpi.program, "--iface", wanted)
				require.Greater(t, second, manyBytes)
				require.Less(t, first, fewBytes)
			})
		}
	}
	t.Run("over eth0", func(t *testing.T) {
		needMPI(t)
		first, second := sentOver(t, c, "mpibytes", "--iface", "eth0")
		require.Greater(t, first, manyBytes)
		require.Less(t, second, fewBytes)
	})
	onSecond("eth1")
	shell(t, c, "n002", "ip link set eth1 down && ip link set eth1 name fast0 && ip link set fast0 up")
	onSecond("10.90.0.0/16")

	r := over(t, c, 2, "-n", "2", "-N", "1", "--iface", "eth1", "hostname")
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, "golaunch: rank 1 on n002 was not started: --iface eth1: there is no such interface; "+
		"this host has lo (127.0.0.1/8, ::1/128), eth0 (10.88.1.2/16), fast0 (10.90.1.2/16)\n")
	r = over(t, c, 2, "-n", "2", "-N", "1", "--iface", "10.90.0.0/16", "sh", "-c",
		"echo $MASTER_ADDR $PMI_HOSTNAME $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"10.90.1.1 10.90.1.1 =eth1 eth1", "10.90.1.1 10.90.1.2 =fast0 fast0"}, r.lines())
	r = over(t, c, 2, "-n", "2", "-N", "1", "--iface", "lo", "true")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "golaunch: host n001: --iface lo: no other host reaches 127.0.0.1, and ranks are on 2 hosts\n", r.stderr)
	t.Run("spawned ranks", func(t *testing.T) {
		needBuilt(t, "mpispawn.openmpi5", "what scripts/openmpi5.sh needs, and run it")
		r := over(t, c, 2, "-l", "-n", "1", "--iface", "10.90.0.0/16", "--timeout", limit.String(), bin("mpispawn.openmpi5"), "leaves")
		require.Equal(t, 3, r.code, r.stdout+r.stderr)
		require.Equal(t, []string{"goes on"}, r.labeled("1.0"))
	})
	nothingLeft(t, c, firstNodes(c, 2)...)
}

// The user's own setting counts more, and -v says so.
func TestIfaceLeavesWhatTheUserSets(t *testing.T) {
	t.Parallel()
	needMPI(t)
	needOpenMPI(t)
	c := clusterOf(t, cluster.Config{Nodes: 2, SecondNetwork: true})
	for name, x := range map[string]struct {
		program string
		flags   []string
	}{
		"a rank's variable": {"mpibytes", []string{"-x", "UCX_NET_DEVICES=eth0"}},
		"every rank's":      {"mpibytes", []string{"--genv", "UCX_NET_DEVICES=eth0"}},
		"the opposite":      {"mpibytes.openmpi", []string{"-x", "OMPI_MCA_btl_tcp_if_exclude=lo,eth1"}},
	} {
		first, second := sentOver(t, c, x.program, append([]string{"--iface", "eth1"}, x.flags...)...)
		require.Greater(t, first, manyBytes, name)
		require.Less(t, second, fewBytes, name)
	}
	r := over(t, c, 2, "-v", "-n", "2", "-N", "1", "--iface", "eth1", "--genv", "UCX_NET_DEVICES=eth0", "sh", "-c", "echo $UCX_NET_DEVICES $FI_TCP_IFACE")
	require.Equal(t, "eth0 eth1\neth0 eth1\n", r.stdout)
	require.Contains(t, r.stderr, "golaunch: host n001: UCX_NET_DEVICES is set, and counts more than --iface eth1\n")
}

// Nodes without IPv4 run what others do.
func TestIPv6Only(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, cluster.Config{Nodes: 3, SecondNetwork: true, IPv6Only: true})
	names := firstNodes(c, 3)
	first, err := c.Node("n001")
	require.NoError(t, err)
	for _, x := range []struct {
		name, node string
		args       []string
	}{
		{"by names", cluster.Head, []string{"-H", hostsArg(3), "--ssh-config", c.SSHConfig(), "--degree", "1", "hostname"}},
		{"through a bastion", cluster.Outside, []string{"-H", hostsArg(3), "--ssh-config", c.OutsideSSHConfig(), "--degree", "1", "hostname"}},
		{"a copied agent", cluster.Head, []string{"-H", hostsArg(3), "--ssh-config", c.SSHConfig(), "--copy-agent", "--degree", "1", "hostname"}},
		{"by addresses", cluster.Head, []string{"-H", "[" + first.Addr.String() + "]:1,n002,n003", "--ssh-config", c.SSHConfig(), "hostname"}},
	} {
		r := onNode(t, c, x.node, x.args...)
		require.Zero(t, r.code, "%s: %s", x.name, r.stderr)
		require.ElementsMatch(t, names, r.lines(), x.name)
	}
	// This machine among others, which reach it.
	r := onNode(t, c, cluster.Head, "-H", "n001,head", "--ssh-config", c.SSHConfig(), "--degree", "1", "hostname")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"n001", "head"}, r.lines())
	for _, args := range [][]string{{"--pmi-port", bin("pmiclient"), "-q"}, {"--pmgr", bin("pmgrclient")}} {
		r := over(t, c, 3, append([]string{"-n", "6", "-N", "2"}, args...)...)
		require.Zero(t, r.code, "%s: %s", args[0], r.stderr)
	}
	// Where to meet is an address as it is, without brackets.
	r = over(t, c, 3, "-n", "3", "-N", "1", "python3", "-c", `
import os, socket
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    with socket.create_server(("", at[1]), family=socket.AF_INET6) as s:
        print(at[0], sorted(s.accept()[0].makefile().readline() for _ in range(2)))
else:
    while True:
        try:
            s = socket.create_connection(at)
            break
        except ConnectionRefusedError:
            pass
    s.sendall(os.environ["RANK"].encode())
`)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, first.Addr.String()+" ['1', '2']\n", r.stdout)
	nothingLeft(t, c, names...)
}

// Both MPIs talk there, over the network that is named. MPICH's ch3 has no IPv6.
func TestIPv6OnlyMPI(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, cluster.Config{Nodes: 2, SecondNetwork: true, IPv6Only: true})
	for _, mpi := range mpis {
		if mpi.program == "mpibytes.ch3" {
			continue
		}
		t.Run(mpi.name, func(t *testing.T) {
			needBuilt(t, mpi.program, mpi.packages)
			first, second := sentOver(t, c, mpi.program)
			require.Greater(t, first+second, manyBytes)
			for _, wanted := range []string{"eth1", "fd00:0:0:5a::/64"} {
				first, second = sentOver(t, c, mpi.program, "--iface", wanted)
				require.Greater(t, second, manyBytes)
				require.Less(t, first, fewBytes)
			}
		})
	}
	nothingLeft(t, c, firstNodes(c, 2)...)
}
