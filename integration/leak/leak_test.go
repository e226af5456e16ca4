package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestNothingLeaks runs 100 jobs in one process, with agents of this machine and
// over SSH, half of which fail.
func TestNothingLeaks(t *testing.T) {
	cache, err := filepath.Abs("../../.cache") // nodes see it
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(cache, 0o755))
	dir, err := os.MkdirTemp(cache, "leak-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "leak")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)

	t.Run("fork", func(t *testing.T) {
		t.Parallel()
		out, err := exec.Command(program, "-jobs", "100").CombinedOutput()
		require.NoError(t, err, "%s", out)
		noMore(t, string(out))
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		if err := cluster.Unavailable(); err != nil {
			t.Skipf("skipped: no test cluster here: %v", err)
		}
		c, err := cluster.Up(t.Context(), cluster.Config{Dir: filepath.Join(dir, "c"), Nodes: 3, Share: []string{dir}})
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Down(t.Context())) }()
		out, err := c.Command(cluster.Head, program, "-jobs", "100", "-hosts", "n[001-003]:2", "-ssh-config", c.SSHConfig()).CombinedOutput()
		require.NoError(t, err, "%s", out)
		noMore(t, string(out))
	})
}

// noMore asserts that the last count is not above the first, when something of the
// first jobs may have been on its way out still.
func noMore(t *testing.T, out string) {
	t.Helper()
	t.Log(out)
	var files, goroutines [2]int
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2, out)
	for i, label := range []string{"first", "last"} {
		_, err := fmt.Sscanf(lines[i], label+": %d descriptors, %d goroutines", &files[i], &goroutines[i])
		require.NoError(t, err, out)
	}
	require.LessOrEqual(t, files[1], files[0], "descriptors")
	require.LessOrEqual(t, goroutines[1], goroutines[0], "goroutines")
}
