package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// listening returns the sockets of a process that runs at which others can reach it.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	found, runs := sockets(t, pid)
	require.True(t, runs, "process %d runs", pid)
	return found
}

// sockets returns the sockets of a process at which others can reach it, as
// lines of the tables of its own network: TCP and Unix sockets that listen, and
// UDP sockets. It reports whether the process runs.
func sockets(t *testing.T, pid int) (found []string, runs bool) {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	if len(fds) == 0 {
		return nil, false
	}
	own := map[string]bool{}
	for _, fd := range fds {
		to, err := os.Readlink(fd) // it may be closed meanwhile
		if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []struct {
		name         string
		state, inode int // columns
		listens      string
	}{
		{"tcp", 3, 9, "0A"}, {"tcp6", 3, 9, "0A"},
		{"udp", 3, 9, "07"}, {"udp6", 3, 9, "07"},
		{"unix", 3, 6, "00010000"}, // accepts connections
	} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table.name))
		if strings.HasSuffix(table.name, "6") && os.IsNotExist(err) {
			continue // a kernel without IPv6
		}
		if err != nil { // it has ended meanwhile
			return nil, false
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > table.inode && f[table.state] == table.listens && own[f[table.inode]] {
				found = append(found, table.name+": "+strings.Join(f, " "))
			}
		}
	}
	return found, true
}

// The test below can see what it looks for.
func TestListeningSocketsAreSeen(t *testing.T) {
	seen := len(listening(t, os.Getpid()))
	for _, x := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"tcp", "[::1]:0"}, {"unix", filepath.Join(t.TempDir(), "s")}, {"unix", "@golaunch-e2e-" + fmt.Sprint(os.Getpid())},
	} {
		l, err := net.Listen(x.network, x.address)
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			continue // no IPv6 here
		}
		require.NoError(t, err)
		defer l.Close()
		seen++
		require.Len(t, listening(t, os.Getpid()), seen, "%v", x)
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer u.Close()
	require.Len(t, listening(t, os.Getpid()), seen+1)
}

// Neither golaunch nor an agent or a warden of it has a socket at which others could
// reach it, here and on nodes; services that the user asks for have, for this machine
// alone.
func TestNothingListens(t *testing.T) {
	words := []string{"nla-agent", "nla-warden"}
	j := startLocal(t, 2, "--nodes", "2", bin("rankprobe"), "sleep")
	require.Empty(t, listening(t, j.Process.Pid))
	require.Empty(t, listening(t, j.agent))
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	j.ends(t, 143)

	j = startLocal(t, 2, "--pmi-port", bin("rankprobe"), "sleep")
	require.Len(t, listening(t, j.agent), 1, "only for ranks that are to connect")
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	j.ends(t, 143)

	j = startLocal(t, 2, "--pmgr", bin("rankprobe"), "sleep")
	require.Len(t, listening(t, j.agent), 1, "only for ranks, as long as they live")
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	j.ends(t, 143)

	t.Run("Open MPI 4", onlyTheHelperListens)

	const n = 3
	c := theCluster(t)
	r := sleepers(t, c, n)
	require.Empty(t, listening(t, r.cmd.Process.Pid))
	checked := 0
	for _, node := range firstNodes(c, n) {
		procs, err := c.Processes(node)
		require.NoError(t, err)
		ours := slices.DeleteFunc(slices.Clone(procs), func(p cluster.Proc) bool {
			return !slices.ContainsFunc(p.Cmdline, func(w string) bool { return slices.Contains(words, w) }) || strings.HasPrefix(p.Cmdline[0], "sshd")
		})
		for _, p := range ours {
			require.Empty(t, listening(t, p.PID), "%s: %q", node, p.Cmdline)
			checked++
		}
		sshd := find(t, procs, func(p cluster.Proc) bool { // among those of sessions, which may end
			if !strings.Contains(strings.Join(p.Cmdline, " "), "sshd") {
				return false
			}
			found, _ := sockets(t, p.PID)
			return len(found) > 0
		})
		require.Contains(t, listening(t, sshd.PID)[0], ":0016 ", "port 22 is seen on the node")
	}
	require.GreaterOrEqual(t, checked, 2*n, "an agent and a warden on each node")
	require.NoError(t, r.cmd.Process.Kill())
	r.wait(t)
	nothingLeft(t, c, firstNodes(c, n)...)
}

// onlyTheHelperListens runs a plain program of Open MPI 4: the PMIx helper that it gets listens
// on the loopback interface, and nothing else of golaunch anywhere.
func onlyTheHelperListens(t *testing.T) {
	needOpenMPI(t)
	in, input, err := os.Pipe()
	require.NoError(t, err)
	defer input.Close()
	cmd := exec.Command(bin("golaunch"), "-n", "2", bin("mpisum.openmpi"), "-w")
	cmd.Stdin = in
	j := startCommand(t, 1, cmd) // a line of the node: MPI has begun
	in.Close()
	require.Empty(t, listening(t, j.Process.Pid))
	require.Empty(t, listening(t, j.agent))
	var helpers []int
	for _, warden := range childrenOf(t, j.agent) {
		require.Empty(t, listening(t, warden))
		for _, pid := range childrenOf(t, warden) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			require.NoError(t, err)
			if isHelper(strings.Split(string(line), "\x00")) {
				helpers = append(helpers, pid)
			}
		}
	}
	require.Len(t, helpers, 1)
	found := listening(t, helpers[0])
	require.Len(t, found, 1)
	require.Regexp(t, "^tcp: [0-9]+: 0100007F:", found[0], "127.0.0.1")
	require.NoError(t, input.Close())
	j.ends(t, 0)
}

// childrenOf are the processes that one has started.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	require.NoError(t, err)
	for _, word := range strings.Fields(string(out)) {
		child, err := strconv.Atoi(word)
		require.NoError(t, err)
		children = append(children, child)
	}
	return children
}
