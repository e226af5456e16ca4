package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// memoryCgroup makes a cgroup of so many bytes of memory, of the version that this
// machine has memory in, and skips where it allows none.
func memoryCgroup(t *testing.T, bytes int) (dir string, version int) {
	t.Helper()
	above, limit, version := "/sys/fs/cgroup", "memory.max", 2
	member, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	for line := range strings.Lines(string(member)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && f[1] == "memory" {
			above, limit, version = filepath.Join("/sys/fs/cgroup/memory", f[2]), "memory.limit_in_bytes", 1
		}
	}
	if version == 2 {
		err = os.WriteFile(above+"/cgroup.subtree_control", []byte("+memory"), 0o644)
	}
	dir = filepath.Join(above, fmt.Sprint("golaunch-e2e-", os.Getpid()))
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		t.Skipf("skipped: no memory cgroup can be made here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, limit), []byte(strconv.Itoa(bytes)), 0o644))
	return dir, version
}

const (
	greedy      = "[ $PMI_RANK = 1 ] && exec tail /dev/zero; exec sleep 1000"
	greedyBelow = "[ $PMI_RANK = 0 ] && exec sleep 1000; tail /dev/zero; exit $?"
	suicidal    = "[ $PMI_RANK = 0 ] && exec sleep 1000; kill -9 $$"
)

// A rank that the kernel kills for memory is told as that.
func TestOutOfMemory(t *testing.T) {
	dir, _ := memoryCgroup(t, 256<<20)
	for script, want := range map[string]string{
		greedy:      `was killed by signal 9: out of memory \(its cgroup's limit of 256 MiB\)$`,
		greedyBelow: `exited with code 137: a process that it started was killed: out of memory \(its cgroup's limit of 256 MiB\)$`,
		suicidal:    `was killed by signal 9 \(killed\)$`,
	} {
		cmd := exec.Command("sh", "-c", `echo $$ >"$0"; exec "$@"`, dir+"/cgroup.procs", bin("golaunch"), "-n", "2", "sh", "-c", script)
		r := finish(t, cmd, cmd, "")
		require.Equal(t, 137, r.code, r.stderr)
		require.Regexp(t, `(?m)^golaunch: rank 1 on \S+ \(pid \d+\) `+want, r.stderr)
	}
}

// A container's limit is told as such, also where memory with swap has the same one: newer
// kernels do not count then that it was in the way.
func TestOutOfMemoryInAContainer(t *testing.T) {
	needEngine(t)
	for _, swap := range []string{"64m", "128m"} {
		name := containerName()
		container(t, name, "--memory", "64m", "--memory-swap", swap, cluster.NodeImage, "sleep", "infinity")
		r := local(t, "", "--bootstrap", "docker", "-H", name+":2", "sh", "-c", greedy)
		require.Equal(t, 137, r.code, r.stderr)
		require.Regexp(t, `(?m)^golaunch: rank 1 on `+name+` \(pid \d+\) was killed by signal 9: out of memory \(its cgroup's limit of 64 MiB\)$`, r.stderr)
	}
}

// The limit may be another node's.
func TestOutOfMemoryOnANode(t *testing.T) {
	needCluster(t)
	dir, version := memoryCgroup(t, 256<<20)
	if version != 1 {
		t.Skip("skipped: nodes here are cgroups that cannot have further ones with a limit; TestOutOfMemory has one")
	}
	c := ownCluster(t, 2) // goes down before the cgroup, as its processes are in there
	out, err := c.Command("n002", "sh", "-c", "mkdir /tmp/memory && mount -t cgroup -o memory none /tmp/memory").CombinedOutput()
	require.NoError(t, err, "%s", out)
	procs, err := c.Processes("n002")
	require.NoError(t, err)
	require.NotEmpty(t, procs)
	for _, p := range procs { // sshd, whose children inherit it
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(p.PID)), 0o644))
	}
	r := over(t, c, 2, "-n", "2", "-N", "1", "sh", "-c", greedy)
	require.Equal(t, 137, r.code, r.stderr)
	require.Regexp(t, `^golaunch: rank 1 on n002 \(pid \d+\) was killed by signal 9: out of memory \(its cgroup's limit of 256 MiB\)\n`, r.stderr)
	nothingLeft(t, c, firstNodes(c, 2)...)
}
