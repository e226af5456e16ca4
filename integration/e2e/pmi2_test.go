package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// needPMI2 skips where Slurm's libpmi2 is not installed, so that the client was
// not built.
func needPMI2(t *testing.T) {
	if _, err := os.Stat(bin("pmi2client")); err != nil {
		t.Skip("skipped: no libpmi2; apt-get install libpmi2-0-dev")
	}
}

// A client library that others wrote goes through all that PMI-2 has.
func TestPMI2(t *testing.T) {
	needPMI2(t)
	for _, nodes := range []string{"1", "7"} {
		r := local(t, "", "-n", "14", "--nodes", nodes, "--degree", "2", bin("pmi2client"), "-n", "3")
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
		require.Len(t, r.lines(), 14)
		require.Contains(t, r.stdout, "rank 13 of 14 ok\n")
	}
}

// The universe is the slots of the job's hosts, those that no rank is on included;
// without slots it is not known. Clients of all kinds are told the same.
func TestUniverseSize(t *testing.T) {
	needPMI2(t)
	needBuilt(t, "mpisingleton", "libmpich-dev mpich")
	c := theCluster(t)
	for _, x := range []struct {
		flags []string
		pmi1  string
		pmi2  string
	}{
		{[]string{"-n", "3", "-H", "n001:2,n002:4,n003:7"}, "13", "13"},
		{[]string{"-n", "3", "-H", "n001:1,n002:1", "--oversubscribe"}, "3", "3"},
		{[]string{"-n", "3", "-H", "n001,n002"}, "-1", "unknown"},
	} {
		run := func(program ...string) result {
			r := onNode(t, c, cluster.Head, slices.Concat([]string{"--ssh-config", c.SSHConfig()}, x.flags, program)...)
			require.Zero(t, r.code, r.stderr)
			return r
		}
		r := run(bin("pmiclient"), "-i")
		require.Equal(t, 3, strings.Count(r.stdout, " info universe "+x.pmi1+" "), r.stdout)
		run(bin("pmi2client"), "-u", x.pmi2)
	}
	// As MPI has it: beside its own rank there is room for four more.
	r := onNode(t, c, cluster.Head, "--ssh-config", c.SSHConfig(), "-n", "1", "-H", "n001:2,n002:3", bin("mpisingleton"), "universe")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.lines(), "the universe has 5")
}

func TestPMI2Failures(t *testing.T) {
	needPMI2(t)
	for fault, message := range map[string]string{
		"abort":      "rank 1 on .* called abort with code 1: out of cheese",
		"nofinalize": "rank 1 on .* without MPI_Finalize",
	} {
		r := local(t, "", "-n", "3", bin("pmi2client"), "-x", fault, "-r", "1")
		require.Equal(t, 1, r.code, r.stderr)
		require.Regexp(t, message, r.stderr)
	}
}

func TestPMI2Spawn(t *testing.T) {
	needPMI2(t)
	r := local(t, "", "-n", "3", "--nodes", "4", "--prelaunch", "--degree", "2", "-l", bin("pmi2client"), "-s", "6")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 2, strings.Count(r.stderr, "\n"), r.stderr)
	require.Equal(t, 2, strings.Count(r.stderr, "golaunch: spawn by rank 0 on "), r.stderr)
	require.Equal(t, 2, strings.Count(r.stderr, "program not found: /no/such/program"), r.stderr)
	require.Len(t, r.lines(), 10)
	for rank := range 7 {
		require.Contains(t, r.stdout, fmt.Sprintf("[1.%d] app %d rank %d of 7 ok\n", rank, rank/6, rank))
	}
}
