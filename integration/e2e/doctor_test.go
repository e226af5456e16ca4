package e2e

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestDoctor looks at this machine, at nodes that are alike, and at a host that is not
// there.
func TestDoctor(t *testing.T) {
	t.Setenv("GOLAUNCH_FOLD", "true") // and other variables of output do not count
	r := local(t, "", "doctor", "--bootstrap", "fork")
	require.Contains(t, r.stdout, "  account    ", r.stderr)
	require.Contains(t, r.stdout, "  system     Linux ")

	c := ownCluster(t, 4)
	words := []string{"doctor", "--ssh-config", c.SSHConfig(), "--copy-agent"}
	r = onNode(t, c, cluster.Head, append(words, "n002,n001")...)
	require.Contains(t, r.stdout, "n[002,001]\n", "they are alike, and in the order in which they are named")
	require.Contains(t, r.stdout, "  agent      in /dev/shm\n")
	require.NotContains(t, r.stdout, "no agent could be started")
	require.Contains(t, r.stdout, "between hosts\n  network    2 of 2 ways from host to host that were tried are answered\n")
	require.Empty(t, r.stderr, "golaunch, which is the program there, is no MPI program")
	require.NotEqual(t, 125, r.code)

	r = onNode(t, c, cluster.Head, append(words, "n003", "n099")...)
	require.NotZero(t, r.code, "n099 is no host")
	require.Contains(t, r.stderr, "n099")
	require.Contains(t, r.stdout, "n099\n  problem    no agent could be started\n             host n099: resolve: name n099: no such host")
}

// TestDoctorOfContainers reads the limits of containers, and tells that those of two
// networks do not reach one another, and that one has none.
func TestDoctorOfContainers(t *testing.T) {
	needEngine(t)
	var hosts []string
	for range 2 {
		name := containerName()
		engine(t, "network", "create", name)
		t.Cleanup(func() { _ = exec.Command("docker", "network", "rm", name).Run() })
		container(t, name, "--network", name, "--memory", "64m", "--pids-limit", "40", "--cpus", "0.5", cluster.NodeImage, "sleep", "infinity")
		hosts = append(hosts, name)
	}
	r := local(t, "", "doctor", "--bootstrap", "docker", hosts[0], hosts[1])
	require.Equal(t, 1, r.code, r.stderr)
	require.Contains(t, r.stdout, "  cgroup     64 MiB of memory, 40 processes and threads, the time of 0.5 CPUs; 64 MiB of /dev/shm\n")
	require.Contains(t, r.stdout, "  16 ranks   4 MiB of memory and 0.031 CPUs each; /dev/shm holds 11 of MPICH, 16 of Open MPI; processes are too few: some 64 are needed\n")
	require.NotContains(t, r.stdout, "where golaunch was called", "ranks have the image's directory")
	require.Contains(t, r.stdout, "between hosts\n  network    0 of 2 ways from host to host that were tried are answered\n")
	for i, host := range hosts {
		require.Regexp(t, "problem    "+host+" does not reach "+hosts[1-i]+": no answer from [0-9.]+: MPI between them waits for ever\n", r.stdout)
	}

	alone := containerName()
	container(t, alone, "--network", "none", cluster.NodeImage, "sleep", "infinity")
	r = local(t, "", "doctor", "--bootstrap", "docker", hosts[0], alone)
	require.Equal(t, 1, r.code, r.stderr)
	require.Contains(t, r.stdout, "between hosts\n  network    0 of 2 ways from host to host that were tried are answered\n")
	require.Contains(t, r.stdout, "problem    "+hosts[0]+" does not reach "+alone+": it has no address beyond the loopback interface: MPI between them cannot work\n")
}
