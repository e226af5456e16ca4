package e2e

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// hostsArg is the first n nodes as a list.
func hostsArg(n int) string { return fmt.Sprintf("n[001-%03d]", n) }

// over runs golaunch on the head over the first n nodes.
func over(t *testing.T, c *cluster.Cluster, n int, args ...string) result {
	t.Helper()
	return onNode(t, c, cluster.Head, append([]string{"-H", hostsArg(n), "--ssh-config", c.SSHConfig()}, args...)...)
}

func TestMPIOverTheNetwork(t *testing.T) {
	needMPI(t)
	c := theCluster(t)
	// All that golaunch sends goes to port 22: the rest is MPI's.
	const enough = 20
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel() // ends a wait for packets that never come, too
	var counted []*cluster.Cmd
	for _, name := range []string{"n001", "n016", "n032"} {
		cmd := c.CommandContext(ctx, name, "tcpdump", "-i", "eth0", "-c", fmt.Sprint(enough), "--immediate-mode", "-w", "/dev/null", "tcp and not port 22")
		listening := watch(t, &cmd.Stderr, "listening on")
		require.NoError(t, cmd.Start())
		select {
		case <-listening:
		case <-ctx.Done():
			require.FailNow(t, "tcpdump does not listen", "on %s", name)
		}
		counted = append(counted, cmd)
	}
	r := over(t, c, 32, "-n", "32", "--degree", "4", "--copy-agent", "-l", bin("mpisum"))
	require.Zero(t, r.code, r.stderr)
	require.Len(t, r.lines(), 32)
	for i := range 32 {
		require.Contains(t, r.stdout, fmt.Sprintf("[%d] rank %d of 32 on n%03d: sum 528 ok\n", i, i, i+1))
	}
	for _, cmd := range counted {
		require.NoError(t, cmd.Wait(), "MPI's own traffic crossed the network: %d packets seen", enough)
	}
	nothingLeft(t, c, firstNodes(c, 32)...)
}

// watch sets *w to a writer and returns a channel that is closed once text was
// written to it.
func watch(t *testing.T, w *io.Writer, text string) <-chan struct{} {
	seen, found := "", make(chan struct{})
	*w = writerFunc(func(p []byte) {
		if strings.Contains(seen, text) {
			return
		}
		if seen += string(p); strings.Contains(seen, text) {
			close(found)
		}
	})
	return found
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func TestPMIClientsInATree(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 32, "-n", "1024", "-N", "32", "--degree", "4", "--copy-agent", "-l", bin("pmiclient"))
	require.Zero(t, r.code, r.stderr)
	lines := r.lines()
	require.Len(t, lines, 1024)
	for _, i := range []int{0, 31, 32, 1023} {
		require.Contains(t, lines, fmt.Sprintf("[%d] rank %d of 1024 ok", i, i))
	}
	nothingLeft(t, c, firstNodes(c, 32)...)
}

func TestNothingIsInstalledOnNodes(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 8, "-n", "8", "--degree", "2", "--copy-agent", "sh", "-c", "ls -A ~/.ssh 2>/dev/null | grep -v known_hosts | grep -v authorized_keys; ls -A /tmp /dev/shm | grep -i -e golaunch -e nla; true")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout, "no private key on a node, and no agent left while the job runs")
}

// The agent alone travels, where golaunch has it and both are of one revision.
func TestTheAgentAloneTravels(t *testing.T) {
	c := theCluster(t)
	size := func(path string) int64 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	whole, lean := size(bin("golaunch")), size(bin("libexec/golaunch/nla-"+runtime.GOOS+"-"+runtime.GOARCH))
	require.Less(t, lean, whole*9/10)
	want := whole // of sources that are no revision
	build, err := buildinfo.ReadFile(bin("golaunch"))
	require.NoError(t, err)
	if slices.Contains(build.Settings, debug.BuildSetting{Key: "vcs.modified", Value: "false"}) {
		want = lean
	}
	r := over(t, c, 3, "-n", "3", "--degree", "1", "--copy-agent", "sh", "-c", "stat -Lc %s /proc/$PPID/exe")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, strings.Repeat(fmt.Sprintln(want), 3), r.stdout)
}

// meet is a program whose ranks meet at rank 0, which listens, as programs of machine
// learning do. It prints what the others are.
const meet = `
import os, socket
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(("", at[1])) as s:
        print(sorted(s.accept()[0].makefile().readline() for _ in range(size - 1)))
else:
    while True:
        try:
            s = socket.create_connection(at)
            break
        except ConnectionRefusedError:
            pass
    s.sendall(("%s %s\n" % (os.environ["GROUP_RANK"], os.environ["LOCAL_RANK"])).encode())
`

// Programs of machine learning find where to meet, on every node the same, and can: rank
// 0 listens there, the others call.
func TestRanksMeetOverTCP(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 3, "-n", "6", "--degree", "1", "-N", "2", "python3", "-c", meet)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "['0 1\\n', '1 0\\n', '1 1\\n', '2 0\\n', '2 1\\n']\n", r.stdout)
	r = over(t, c, 3, "-n", "3", "-x", "MASTER_ADDR=mine", "sh", "-c", "echo $MASTER_ADDR $GROUP_WORLD_SIZE $ROLE_RANK")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"mine 3 0", "mine 3 1", "mine 3 2"}, r.lines())
}

func TestTwoHundredNodes(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 200, "-n", "200", "hostname")
	require.Zero(t, r.code, r.stderr)
	names := r.lines()
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 200)
	nothingLeft(t, c, firstNodes(c, 200)...)
}

// TestNodeCountsAroundTheDegree runs the sizes at which other launchers' trees
// hang.
func TestNodeCountsAroundTheDegree(t *testing.T) {
	c := theCluster(t)
	for _, k := range []int{2, 3, 8} {
		for _, n := range []int{k, k + 1, k * k, k*k + 1, k*k + k + 1} {
			t.Run(fmt.Sprintf("degree %d, %d nodes", k, n), func(t *testing.T) {
				r := over(t, c, n, "-n", fmt.Sprint(2*n), "-N", "2", "--degree", fmt.Sprint(k), bin("pmiclient"), "-q")
				require.Zero(t, r.code, r.stderr)
			})
		}
	}
}

func TestThroughABastion(t *testing.T) {
	c := theCluster(t)
	r := onNode(t, c, cluster.Outside, "-H", hostsArg(9), "--ssh-config", c.OutsideSSHConfig(), "-n", "9", "--degree", "2", "hostname")
	require.Zero(t, r.code, r.stderr)
	names := r.lines()
	slices.Sort(names)
	require.Equal(t, firstNodes(c, 9), names)
}

func TestOutputOverTheTree(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 16, "-n", "64", "-N", "4", "--degree", "2", bin("rankprobe"), "lines", "500")
	require.Zero(t, r.code, r.stderr)
	checkLines(t, r, 64)
}

func TestHostFileSlots(t *testing.T) {
	c := theCluster(t)
	r := onNode(t, c, cluster.Head, "-H", "n001:3,n002:1,n[003-004]:2", "--ssh-config", c.SSHConfig(), "-l", "hostname")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{
		"[0] n001", "[1] n001", "[2] n001", "[3] n002", "[4] n003", "[5] n003", "[6] n004", "[7] n004",
	}, r.lines())
}

// Each app runs on its own hosts, in one world.
func TestHostsOfApps(t *testing.T) {
	c := theCluster(t)
	r := onNode(t, c, cluster.Head, "-H", "n001", "--ssh-config", c.SSHConfig(), "-l", "-n", "2", "sh", "-c", "echo first $(hostname) $PMI_SIZE",
		":", "-n", "4", "-H", "n002,n003", "sh", "-c", "echo second $(hostname) $PMI_SIZE", ":", "-n", "1", "sh", "-c", "echo third $(hostname) $PMI_SIZE")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{
		"[0] first n001 7", "[1] first n001 7", "[2] second n002 7", "[3] second n002 7", "[4] second n003 7", "[5] second n003 7", "[6] third n001 7",
	}, r.lines())
}

func TestDeadHostsAreListed(t *testing.T) {
	c := theCluster(t)
	args := []string{"-H", "n001,n002,nowhere,n003", "--ssh-config", c.SSHConfig(), "-n", "4", "hostname"}
	r := onNode(t, c, cluster.Head, args...)
	require.Equal(t, 125, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "1 of 4 hosts could not be started")
	require.Contains(t, r.stderr, "host nowhere: resolve: ")

	r = onNode(t, c, cluster.Head, append([]string{"--allow-dead-nodes"}, args...)...)
	require.Zero(t, r.code, r.stderr)
	names := strings.Fields(r.stdout)
	require.Len(t, names, 4)
	slices.Sort(names)
	require.Equal(t, firstNodes(c, 3), slices.Compact(names))
}

// Where nothing says how many ranks there are, each live host runs the command once,
// however many are dead; a spare runs it in the place of a dead one. With -n ranks
// move, and slots are as many ranks as ever.
func TestDeadHostsRunNothing(t *testing.T) {
	c := theCluster(t)
	nodes := firstNodes(c, 3)
	for _, x := range []struct {
		args []string
		want []string
	}{
		{[]string{"-H", "n001,nowhere,n002"}, nodes[:2]},
		{[]string{"-H", "nowhere,n001,nobody", "--ppn", "2"}, []string{nodes[0], nodes[0]}},
		{[]string{"-H", "n001,nowhere,n002,n003", "--spares", "1"}, nodes},
		{[]string{"-H", "n001,nowhere,n002", "-n", "3"}, []string{nodes[0], nodes[0], nodes[1]}},
		{[]string{"-H", "n001,n002,n002,nowhere", "-n", "3"}, []string{nodes[0], nodes[1], nodes[1]}},
	} {
		t.Run(strings.Join(x.args, " "), func(t *testing.T) {
			t.Parallel()
			r := onNode(t, c, cluster.Head, append(append([]string{"--ssh-config", c.SSHConfig(), "--allow-dead-nodes"}, x.args...), "sh", "-c", "echo $(hostname) $PMI_SIZE")...)
			require.Zero(t, r.code, r.stderr)
			var want []string
			for _, name := range x.want {
				want = append(want, fmt.Sprintf("%s %d", name, len(x.want)))
			}
			require.ElementsMatch(t, want, r.lines(), r.stderr)
		})
	}
	t.Run("too few are left", func(t *testing.T) {
		t.Parallel()
		r := onNode(t, c, cluster.Head, "--ssh-config", c.SSHConfig(), "--allow-dead-nodes", "-H", "n001,n001,nowhere", "hostname")
		require.Equal(t, 125, r.code)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, "without nowhere: not enough slots: 3 ranks, 2 slots on 1 host of -H, 1 missing")
	})
}

// A spare host takes the ranks of a dead one; without any dead it idles, and
// the ranks' fences do not wait for it.
func TestSpareHosts(t *testing.T) {
	c := theCluster(t)
	for _, hosts := range []string{"n001,nowhere,n[002-005]", "n[001-006]"} {
		r := onNode(t, c, cluster.Head, "-H", hosts, "--spares", "1", "--degree", "2", "--ssh-config", c.SSHConfig(), "-n", "10", bin("pmiclient"), "-m", "all")
		require.Zero(t, r.code, r.stderr)
		require.Len(t, r.lines(), 10)
	}
}
