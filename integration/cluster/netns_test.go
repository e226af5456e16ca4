package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNetns checks, on one cluster, the features that the tests of golaunch rely on.
func TestNetns(t *testing.T) {
	c := newTestCluster(t, Config{Nodes: 4})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *Cluster)
	}{
		{"ssh from head reaches every node", testSSH},
		{"nodes have their own files", testPrivateFiles},
		{"names resolve only on the cluster", testNames},
		{"the key is on head only", testKeys},
		{"outside reaches nodes through head only", testOutside},
		{"commands run as asked", testCommand},
		{"signals reach the command", testSignals},
		{"processes are listed", testProcesses},
		{"orphans are reaped", testReaping},
		{"nodes have cgroups", testCgroups},
		{"partition is silence", testPartition},
		{"kill ends everything", testKill},
		{"slow is slow", testSlow},
		{"packets are counted", testPackets},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

// TestOrdinaryUser is a cluster whose commands and logins are not root's.
func TestOrdinaryUser(t *testing.T) {
	c := newTestCluster(t, Config{Nodes: 1, User: "guest"})
	assert.Equal(t, "guest", output(t, c, Head, "id", "-un"))
	assert.Equal(t, "guest", output(t, c, Head, "ssh", "n001", "id", "-un"))
	assert.Equal(t, c.Home("n001"), output(t, c, Head, "ssh", "n001", "pwd; touch file"))
	out, err := c.Command("n001", "mkdir", "/sys/fs/cgroup/mine").CombinedOutput()
	assert.Error(t, err, "it may write to no cgroup: %s", out)
}

func testSSH(t *testing.T, c *Cluster) {
	hosts, err := os.ReadFile(c.HostFile())
	require.NoError(t, err)
	assert.Equal(t, "n001\nn002\nn003\nn004\n", string(hosts))
	for _, n := range c.Nodes() {
		assert.Equal(t, n.Name, output(t, c, Head, "ssh", "-F", c.SSHConfig(), n.Name, "hostname"))
	}
	assert.Equal(t, Head, output(t, c, Head, "ssh", "-F", c.SSHConfig(), Head, "hostname"))
	// Plain ssh, as other launchers call it.
	env := output(t, c, Head, "ssh", "n001", "env; pwd")
	assert.Contains(t, env, "SHELL=/bin/sh")
	assert.Contains(t, env, "\n"+c.Home("n001"))
	assert.NotContains(t, env, "GOLAUNCH")
	assert.NotContains(t, env, marker)
}

func testPrivateFiles(t *testing.T, c *Cluster) {
	for _, dir := range []string{"/tmp", "/dev/shm", "/run", "/var/log"} {
		name := filepath.Join(dir, "golaunch-cluster-test-file")
		output(t, c, "n001", "touch", name)
		assert.Contains(t, output(t, c, "n001", "ls", dir), filepath.Base(name))
		assert.NotContains(t, output(t, c, "n002", "ls", dir), filepath.Base(name))
		assert.NoFileExists(t, name)
	}
	shared := filepath.Join(c.Dir(), "shared")
	output(t, c, "n001", "touch", shared)
	output(t, c, "n002", "test", "-f", shared)
	require.NoError(t, os.Remove(shared))
	assert.Equal(t, "n003", output(t, c, "n003", "cat", "/etc/hostname"))
	assert.Equal(t, "eth0\nlo", output(t, c, "n001", "ls", "/sys/class/net"))
	assert.Equal(t, "1", output(t, c, "n001", "sh", "-c", "ls /proc | grep -cx 1"))
	assert.Equal(t, "sleep", output(t, c, "n001", "cat", "/proc/1/comm"))
}

func testNames(t *testing.T, c *Cluster) {
	for _, n := range c.Nodes() {
		assert.Contains(t, output(t, c, "n001", "getent", "hosts", n.Name), n.Addr.String())
	}
	assert.Empty(t, failure(t, c, Outside, "getent", "hosts", "n001"))
	assert.Empty(t, failure(t, c, "n001", "getent", "hosts", "name-of-nobody"))
	assert.Error(t, exec.Command("getent", "-s", "files", "hosts", "n001").Run())
}

func testKeys(t *testing.T, c *Cluster) {
	find := []string{"find", filepath.Join(c.Dir(), "nodes"), "-name", "id_*"}
	assert.Equal(t, nodeFiles(c.Dir(), Head).key(), output(t, c, Head, find...))
	assert.Empty(t, output(t, c, "n001", find...))
	assert.Equal(t, nodeFiles(c.Dir(), Outside).key(), output(t, c, Outside, find...))
	assert.Contains(t, failure(t, c, "n001", "ssh", "-F", c.SSHConfig(), "n002", "true"), "Permission denied")
}

func testOutside(t *testing.T, c *Cluster) {
	n1, err := c.Node("n001")
	require.NoError(t, err)
	assert.Equal(t, "n001", output(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), "n001", "hostname"))
	assert.Equal(t, Head, output(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), Head, "hostname"))
	direct := failure(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), "-o", "ProxyJump=none", n1.Addr.String(), "true")
	assert.Contains(t, direct, "Network is unreachable")
}

func testCommand(t *testing.T, c *Cluster) {
	cmd := c.Command("n001", "sh", "-c", "cat; echo problem >&2; exit 7")
	cmd.Stdin = strings.NewReader("input")
	out, err := cmd.Output()
	assert.Equal(t, "input", string(out))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 7, exit.ExitCode())
	assert.Equal(t, "problem\n", string(exit.Stderr))

	t.Setenv("SSH_AUTH_SOCK", "/nowhere")
	assert.NotContains(t, output(t, c, "n001", "env"), "SSH_AUTH_SOCK")
	assert.Contains(t, output(t, c, "n001", "env"), "HOME="+c.Home("n001"))

	dir, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, dir, output(t, c, "n001", "pwd"))
	t.Chdir(t.TempDir()) // below /tmp, so not on the nodes
	assert.Equal(t, c.Home("n001"), output(t, c, "n001", "pwd"))

	assert.ErrorIs(t, c.Command("n001", "no-such-program").Run(), exec.ErrNotFound)
	assert.ErrorContains(t, c.Command("n099", "true").Run(), `no machine "n099"`)
	assert.ErrorContains(t, c.Command("n001").Run(), "no command given")
	wrong := c.Command("n001", "true")
	assert.ErrorIs(t, wrong.Cmd.Start(), errWrongStart)
}

func testSignals(t *testing.T, c *Cluster) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cmd := c.Command("n001", "sleep", "1000")
		require.NoError(t, cmd.Start())
		require.NoError(t, cmd.Signal(sig))
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		ws, ok := exit.Sys().(syscall.WaitStatus)
		require.True(t, ok)
		assert.Equal(t, sig, ws.Signal())
	}
}

// listed finds the processes on a node whose command line has a word.
func listed(t *testing.T, c *Cluster, node, word string) []Proc {
	t.Helper()
	procs, err := c.Processes(node)
	require.NoError(t, err)
	return slices.DeleteFunc(procs, func(p Proc) bool { return !slices.Contains(p.Cmdline, word) })
}

func testProcesses(t *testing.T, c *Cluster) {
	cmd := c.Command("n002", "sh", "-c", "unshare --pid --fork sleep 1717 & echo started; wait")
	cmd.Env = append(cmd.Env, "MARK=here")
	r, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = r.Read(make([]byte, 16))
	require.NoError(t, err)
	// unshare and, in a PID namespace below the node's, sleep, once it was executed.
	asleep := func(p Proc) bool {
		exe, err := p.Exe()
		return err == nil && filepath.Base(exe) == "sleep" && p.NodePID > 1
	}
	require.Eventually(t, func() bool {
		procs := listed(t, c, "n002", "1717")
		return len(procs) >= 2 && slices.ContainsFunc(procs, asleep)
	}, time.Minute, time.Millisecond)
	assert.Empty(t, listed(t, c, "n001", "1717"))
	procs := listed(t, c, "n002", "1717")
	for _, p := range procs {
		assert.True(t, p.Alive())
		env, err := p.Environ()
		require.NoError(t, err)
		assert.Contains(t, env, "MARK=here")
	}
	assert.True(t, slices.ContainsFunc(procs, asleep))
	require.NoError(t, c.Kill("n002"))
	assert.Error(t, cmd.Wait())
	for _, p := range procs {
		assert.False(t, p.Alive())
		assert.ErrorIs(t, p.Signal(syscall.SIGTERM), os.ErrProcessDone)
	}
	require.NoError(t, c.Revive(testContext(t), "n002"))
}

func testReaping(t *testing.T, c *Cluster) {
	output(t, c, "n001", "sh", "-c", "for i in 1 2 3; do (sh -c 'echo $$ >>/tmp/orphans; sleep 0.05; exit 0' &) ; done")
	// They end, and do not stay as zombies.
	require.Eventually(t, func() bool {
		return output(t, c, "n001", "sh", "-c", "wc -l </tmp/orphans; cd /proc; ls -d $(cat /tmp/orphans) 2>/dev/null; true") == "3"
	}, time.Minute, 10*time.Millisecond)
}

func testCgroups(t *testing.T, c *Cluster) {
	if c.state.Cgroup == "" {
		t.Skip("this machine has no cgroup v2 hierarchy")
	}
	assert.Equal(t, "0::/", output(t, c, "n001", "grep", "^0:", "/proc/self/cgroup"))
	out, err := c.Command("n001", "sh", "-c", "mkdir /sys/fs/cgroup/job && echo $$ >/sys/fs/cgroup/job/cgroup.procs && echo in && echo 1 >/sys/fs/cgroup/job/cgroup.kill").Output()
	require.Error(t, err)
	assert.Equal(t, "in\n", string(out))
	assert.NotContains(t, output(t, c, "n002", "ls", "/sys/fs/cgroup"), "job")
}

func testPartition(t *testing.T, c *Cluster) {
	ssh := []string{"ssh", "-F", c.SSHConfig(), "-o", "ConnectTimeout=1", "n002", "hostname"}
	require.NoError(t, c.Partition("n002"))
	assert.Contains(t, failure(t, c, Head, ssh...), "timed out")
	require.NoError(t, c.Partition("n002"), "again")
	assert.Equal(t, "n003", output(t, c, Head, "ssh", "n003", "hostname"))
	require.NoError(t, c.Heal("n002"))
	ssh[4] = "ConnectTimeout=20"
	assert.Equal(t, "n002", output(t, c, Head, ssh...))

	require.NoError(t, c.Partition(Head))
	assert.Contains(t, failure(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), "-o", "ConnectTimeout=1", Head, "true"), "timed out")
	require.NoError(t, c.Heal(Head))
	assert.Equal(t, Head, output(t, c, Outside, "ssh", "-F", c.OutsideSSHConfig(), Head, "hostname"))
}

func testKill(t *testing.T, c *Cluster) {
	cmd := c.Command("n003", "sh", "-c", "trap '' TERM INT; setsid sleep 1000 & sleep 1000")
	require.NoError(t, cmd.Start())
	require.NoError(t, c.Kill("n003"))
	assert.Error(t, cmd.Wait())
	procs, err := c.Processes("n003")
	require.NoError(t, err)
	assert.Empty(t, procs)
	assert.Contains(t, failure(t, c, Head, "ssh", "n003", "true"), "Connection refused")
	require.NoError(t, c.Kill("n003"), "again")

	require.NoError(t, c.Revive(testContext(t), "n003"))
	assert.Equal(t, "n003", output(t, c, Head, "ssh", "n003", "hostname"))
	before, err := c.Processes("n003")
	require.NoError(t, err)
	require.NoError(t, c.Revive(testContext(t), "n003"), "again")
	after, err := c.Processes("n003")
	require.NoError(t, err)
	assert.Subset(t, before, after)
	assert.ErrorIs(t, c.Revive(testContext(t), Outside), errNoSSHD)
}

func testSlow(t *testing.T, c *Cluster) {
	ssh := []string{"ssh", "-F", c.SSHConfig(), "-o", "ConnectTimeout=1", "n004", "hostname"}
	require.NoError(t, c.Slow("n004", 30*time.Second))
	assert.Contains(t, failure(t, c, Head, ssh...), "banner exchange")
	require.NoError(t, c.Slow("n004", 0))
	ssh[4] = "ConnectTimeout=20"
	assert.Equal(t, "n004", output(t, c, Head, ssh...))
	require.NoError(t, c.Slow("n004", time.Millisecond))
	assert.Equal(t, "n004", output(t, c, Head, ssh...), "late, but it answers")
	require.NoError(t, c.Slow("n004", 0))
	assert.ErrorIs(t, c.Slow(Outside, time.Second), errNoSSHD)
	assert.ErrorContains(t, c.Slow("n004", -time.Second), "want 0 to")
}

func testPackets(t *testing.T, c *Cluster) {
	count := func(node string) [2]uint64 {
		rx, tx, err := c.Packets(node)
		require.NoError(t, err)
		return [2]uint64{rx, tx}
	}
	n1, n4 := count("n001"), count("n004")
	const size = 1 << 20
	var got bytes.Buffer
	cmd := c.Command(Head, "ssh", "n004", "head -c 1048576 /dev/zero")
	cmd.Stdout = &got
	require.NoError(t, cmd.Run())
	assert.Equal(t, size, got.Len())
	now := count("n004")
	assert.Greater(t, now[0], n4[0])
	// A virtual Ethernet packet holds at most 64 kB.
	assert.Greater(t, now[1], n4[1]+size/65536)
	assert.Equal(t, n1, count("n001"), "a node that says nothing and is not spoken to")
	_, _, err := c.Packets("nobody")
	assert.ErrorContains(t, err, `no machine "nobody"`)
}
