package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSlurm is a cluster whose Slurm an ordinary user gives jobs to.
func TestSlurm(t *testing.T) {
	c := newTestCluster(t, Config{Nodes: 3, User: "guest", Slurm: true})
	out := output(t, c, Head, "srun", "-N", "3", "sh", "-c", "echo $(hostname) $(id -un) $SLURM_JOB_ID")
	assert.ElementsMatch(t, []string{"n001 guest 1", "n002 guest 1", "n003 guest 1"}, strings.Split(out, "\n"))

	// A step is told from the rest of its node, and from all else of this machine.
	cgroups := output(t, c, Head, "srun", "-w", "n002", "cat", "/proc/self/cgroup")
	if c.SlurmTracksByCgroup() {
		assert.Contains(t, cgroups, "freezer:/slurm_n002/")
	}

	require.NoError(t, c.Kill("n003"))
	require.NoError(t, c.Revive(testContext(t), "n003"))
	assert.Equal(t, "n003", output(t, c, Head, "srun", "-w", "n003", "hostname"))

	require.NoError(t, c.Down(testContext(t)))
	requireGone(t, c.state)
	if c.state.Freezer != "" {
		_, err := os.Stat(c.state.Freezer)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestFreezerMount(t *testing.T) {
	const v1 = "31 30 0:27 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
	for _, test := range []struct{ mountinfo, want string }{
		{v1, "/sys/fs/cgroup/freezer"},
		{strings.Replace(v1, "rw,freezer", "rw,cpu,freezer", 1), "/sys/fs/cgroup/freezer"},
		{strings.Replace(v1, "rw,freezer", "rw,cpu", 1), ""},
		{strings.Replace(v1, "0:27 /", "0:27 /part", 1), ""},
		{strings.Replace(v1, " rw,relatime", " ro,relatime", 1), ""},
		{"29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", ""},
		{"nonsense - cgroup x freezer\n", ""},
		{"", ""},
	} {
		assert.Equal(t, test.want, freezerMount(test.mountinfo), test.mountinfo)
	}
}
