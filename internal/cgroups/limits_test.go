package cgroups

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The least limit of a process's cgroups and of those above counts, of either version.
func TestLimits(t *testing.T) {
	root := t.TempDir()
	v2 := "30 1 0:26 / " + root + " rw - cgroup2 cgroup2 rw\n"
	groupFiles(t, filepath.Join(root, "a/b"), map[string]string{"memory.max": "max\n", "pids.max": "24\n", "cpu.max": "max 100000\n"})
	groupFiles(t, filepath.Join(root, "a"), map[string]string{"memory.max": "67108864\n", "pids.max": "100\n", "cpu.max": "50000 100000\n"})
	require.Equal(t, Limits{64 << 20, 24, 0.5}, limits(v2, "0::/a/b\n"))
	require.Equal(t, Limits{64 << 20, 100, 0.5}, limits(v2, "0::/a\n"))
	require.Equal(t, Limits{}, limits(v2, "0::/\n"))
	require.Equal(t, Limits{}, limits("", ""))

	v1 := ""
	for _, controller := range []string{"memory", "pids", "cpu"} {
		v1 += "31 1 0:27 /docker/c " + root + "/" + controller + " rw - cgroup cgroup rw," + controller + "\n"
	}
	groupFiles(t, root+"/memory", map[string]string{"memory.limit_in_bytes": "33554432\n"})
	groupFiles(t, root+"/pids", map[string]string{"pids.max": "max\n"})
	groupFiles(t, root+"/cpu", map[string]string{"cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n"})
	const member = "4:memory:/docker/c\n8:pids:/docker/c\n1:cpu:/docker/c\n0::/docker/c\n"
	require.Equal(t, Limits{32 << 20, 0, 1.5}, limits(v1, member))
	groupFiles(t, root+"/memory", map[string]string{"memory.limit_in_bytes": "9223372036854771712\n"})
	groupFiles(t, root+"/cpu", map[string]string{"cpu.cfs_quota_us": "-1\n"})
	require.Equal(t, Limits{}, limits(v1, member))
}

// groupFiles writes the files of a cgroup of a made-up hierarchy.
func groupFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}
