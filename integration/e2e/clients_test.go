package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// sixtyFour runs a program as 64 ranks, eight on each of eight nodes.
func sixtyFour(t *testing.T, args ...string) result {
	t.Helper()
	c := theCluster(t)
	r := over(t, c, 8, append([]string{"-n", "64", "-N", "8", "--degree", "2"}, args...)...)
	require.Zero(t, r.code, r.stderr)
	nothingLeft(t, c, firstNodes(c, 8)...)
	return r
}

// TestMPICHInitAndFinalize has MPICH's own client exchange 64 addresses.
func TestMPICHInitAndFinalize(t *testing.T) {
	needMPI(t)
	r := sixtyFour(t, bin("mpihello"))
	var want []string
	for rank := range 64 {
		want = append(want, fmt.Sprintf("rank %d of 64 on n%03d", rank, rank/8+1))
	}
	require.ElementsMatch(t, want, r.lines())
}

// TestMPICHNames has MPICH publish a port on one node, which all others look up.
func TestMPICHNames(t *testing.T) {
	needBuilt(t, "mpinames", "libmpich-dev mpich")
	r := sixtyFour(t, bin("mpinames"))
	require.Equal(t, "64 ranks found the port\n", r.stdout)
}

// TestLibPMI2 has Slurm's client go through all that PMI-2 has, over eight nodes.
func TestLibPMI2(t *testing.T) {
	needPMI2(t)
	r := sixtyFour(t, bin("pmi2client"), "-n", "3")
	var want []string
	for rank := range 64 {
		want = append(want, fmt.Sprintf("rank %d of 64 ok", rank))
	}
	require.ElementsMatch(t, want, r.lines())
	require.Empty(t, r.stderr)
}
