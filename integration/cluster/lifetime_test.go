package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDownLeavesNothing(t *testing.T) {
	if err := Unavailable(); err != nil {
		t.Skipf("no cluster on this machine: %v", err)
	}
	limits, rest := limitsAtRest(t)
	dir := filepath.Join(t.TempDir(), "c")
	c := newTestCluster(t, Config{Dir: dir, Nodes: 3})
	// A command that nobody has waited for, with a cgroup of its own.
	cmd := c.Command("n001", "sh", "-c", "mkdir -p /sys/fs/cgroup/a/b && mount -t tmpfs tmpfs /mnt; setsid sleep 1000 & exec sleep 1000")
	require.NoError(t, cmd.Start())
	requireNoInterface(t, c.state)

	other, err := Open(dir)
	require.NoError(t, err, "from another process, as it were")
	require.NoError(t, other.Down(testContext(t)))
	requireGone(t, c.state)
	assert.Error(t, cmd.Wait())
	if now, stillAtRest := limitsAtRest(t); rest && stillAtRest {
		assert.Equal(t, limits, now)
	}
	_, err = Open(dir)
	assert.ErrorIs(t, err, ErrNoCluster)
	assert.ErrorIs(t, DownDir(testContext(t), dir), ErrNoCluster)
	_, err = c.Processes("n001")
	assert.ErrorIs(t, err, errGone)
	assert.ErrorIs(t, c.Command("n001", "true").Run(), errGone)
}

func TestDownKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	c := newTestCluster(t, Config{Dir: dir, Nodes: 1})
	require.NoError(t, c.Down(testContext(t)))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "mine", entries[0].Name())
	require.NoError(t, os.Remove(filepath.Join(dir, "mine")))
	require.NoError(t, os.Remove(dir))
}

func TestUpTwice(t *testing.T) {
	c := newTestCluster(t, Config{Nodes: 1})
	_, err := Up(testContext(t), Config{Dir: c.Dir(), Nodes: 2})
	require.ErrorContains(t, err, "a cluster is up here already")
	assert.Equal(t, "n001", output(t, c, Head, "ssh", "n001", "hostname"), "the first is unharmed")
}

// TestTwoClusters has two at once, which use the same names and addresses and
// do not see each other.
func TestTwoClusters(t *testing.T) {
	if err := Unavailable(); err != nil {
		t.Skipf("no cluster on this machine: %v", err)
	}
	ctx, base := testContext(t), t.TempDir()
	var clusters [2]*Cluster
	var errs [2]error
	var wg sync.WaitGroup
	for i := range clusters {
		wg.Go(func() {
			clusters[i], errs[i] = Up(ctx, Config{Dir: filepath.Join(base, string(rune('a'+i))), Nodes: 2})
		})
	}
	wg.Wait()
	for i, c := range clusters {
		require.NoError(t, errs[i])
		output(t, c, "n001", "touch", "/tmp/"+c.state.ID)
	}
	for i, c := range clusters {
		ls := output(t, c, Head, "ssh", "n001", "ls /tmp")
		assert.Contains(t, ls, c.state.ID)
		assert.NotContains(t, ls, clusters[1-i].state.ID)
	}
	require.NoError(t, clusters[0].Down(ctx))
	now, err := readNeighbourLimits()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, now[2], enough[2], "the other cluster still needs it")
	assert.Equal(t, "n002", output(t, clusters[1], Head, "ssh", "n002", "hostname"))
	require.NoError(t, clusters[1].Down(ctx))
	requireGone(t, clusters[0].state)
	requireGone(t, clusters[1].state)
}

func TestUpCancelled(t *testing.T) {
	if err := Unavailable(); err != nil {
		t.Skipf("no cluster on this machine: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "c")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Up(ctx, Config{Dir: dir, Nodes: 2})
	require.ErrorIs(t, err, context.Canceled)
	assert.NoDirExists(t, dir)
}

// TestUpKilled kills a process that is making a cluster, at several moments.
func TestUpKilled(t *testing.T) {
	if err := Unavailable(); err != nil {
		t.Skipf("no cluster on this machine: %v", err)
	}
	for _, keepers := range []int{0, 1, 7, 34} {
		dir := filepath.Join(t.TempDir(), "c")
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), upEnv+"="+dir)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			s, err := loadState(dir)
			if err != nil {
				return false
			}
			list, err := (&netnsProvider{state: s}).keepers()
			return err == nil && len(list) >= keepers
		}, 2*time.Minute, time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed, or it was faster
		c, err := open(dir)
		require.NoError(t, err)
		if !c.state.Ready {
			_, err = Open(dir)
			require.ErrorContains(t, err, "interrupted")
		}
		require.NoError(t, c.Down(testContext(t)))
		requireGone(t, c.state)
	}
}

func TestSwitches(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(shared, []byte("#!/bin/sh\nhostname\n"), 0o755))
	c := newTestCluster(t, Config{Nodes: 3, Switches: Switches{2, 2}, Uplink: 50e6, Edge: 200e6,
		Kex: KexCurve25519, Share: []string{shared}})
	for i, n := range c.Nodes() {
		assert.Equal(t, 1+i/2, n.Switch)
		assert.Contains(t, output(t, c, n.Name, "tc", "qdisc", "show", "dev", "eth0"), "tbf")
		// Over one switch, over the core, and with a program below /tmp.
		assert.Equal(t, n.Name, output(t, c, Head, "ssh", n.Name, shared))
	}
	out, err := exec.Command("nsenter", "--net=/proc/"+strconv.Itoa(c.state.Fabric.PID)+"/ns/net", "tc", "qdisc", "show").CombinedOutput()
	require.NoError(t, err)
	for _, port := range []string{"up1", "down1", "up2", "down2", "n001", "n002", "n003"} {
		assert.Regexp(t, `qdisc tbf \S+ dev `+port+` `, string(out))
	}
	before, err := c.UplinkBytes()
	require.NoError(t, err)
	assert.Len(t, output(t, c, Head, "ssh", "n003", "head -c 100000 /dev/zero | tr '\\0' x"), 100000)
	after, err := c.UplinkBytes()
	require.NoError(t, err)
	assert.Greater(t, after, before+100000)
	require.NoError(t, c.Partition("n003"))
	assert.Contains(t, failure(t, c, Head, "ssh", "-o", "ConnectTimeout=1", "n003", "true"), "timed out")
}

// TestDelay accepts a kernel without netem if the message says so.
func TestDelay(t *testing.T) {
	if err := available(Config{Provider: Netns, Delay: 1}); err != nil {
		t.Skipf("no cluster on this machine: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "c")
	c, err := Up(testContext(t), Config{Dir: dir, Nodes: 1, Delay: 10 * time.Millisecond})
	if err != nil {
		assert.ErrorContains(t, err, "netem")
		assert.NoDirExists(t, dir)
		return
	}
	assert.Contains(t, output(t, c, "n001", "tc", "qdisc", "show", "dev", "eth0"), "netem")
	require.NoError(t, c.Down(testContext(t)))
}
