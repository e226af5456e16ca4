package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A rank may start a launcher, golaunch or another, whose ranks are a world of their
// own; so may what another launcher has started, and an MPI program after MPI_Init.
//
//report:nested pmodels/mpich#1539, python/cpython#132377, open-mpi/ompi#9729, QMCPACK/qmcpack#3100 a launcher inside a rank
func TestLaunchersWithinRanks(t *testing.T) {
	needMPI(t)
	needOpenMPI(t)
	golaunch := bin("golaunch")
	hydra, openmpi := []string{"mpiexec.hydra"}, []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"}
	for name, x := range map[string]struct {
		line   []string
		worlds int // of two ranks each
	}{
		"golaunch in golaunch":              {[]string{golaunch, "-n", "2", golaunch, "-n", "2", bin("mpisum"), "-a"}, 2},
		"nodes in nodes":                    {[]string{golaunch, "-n", "2", "--nodes", "2", golaunch, "-n", "2", "--nodes", "2", bin("mpisum.openmpi"), "-a"}, 2},
		"hydra in golaunch":                 {append(append([]string{golaunch, "-n", "2"}, hydra...), "-n", "2", bin("mpisum"), "-a"), 2},
		"golaunch in hydra":                 {append(hydra, "-n", "2", golaunch, "-n", "2", bin("mpisum"), "-a"), 2},
		"golaunch in mpirun":                {append(openmpi, "-n", "2", golaunch, "-n", "2", bin("mpisum.openmpi"), "-a"), 2},
		"golaunch in mpirun, another MPI":   {append(openmpi, "-n", "1", golaunch, "-n", "2", bin("mpisum"), "-a"), 1},
		"golaunch after MPI_Init":           {[]string{golaunch, "-n", "2", bin("mpilate"), "0", golaunch + " -n 2 " + bin("mpisum") + " -a"}, 1},
		"hydra after MPI_Init":              {[]string{golaunch, "-n", "2", bin("mpilate"), "0", "mpiexec.hydra -n 2 " + bin("mpisum") + " -a"}, 1},
		"golaunch after MPI_Init, in hydra": {append(hydra, "-n", "2", bin("mpilate"), "0", golaunch+" -n 2 "+bin("mpisum.openmpi")+" -a"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(x.line[0], x.line[1:]...)
			r := finish(t, cmd, cmd, "")
			require.Zero(t, r.code, r.stderr)
			for _, rank := range []string{"rank 0 of 2 on ", "rank 1 of 2 on "} {
				require.Equal(t, x.worlds, strings.Count(r.stdout, rank), r.stdout)
			}
			require.Equal(t, 2*x.worlds, strings.Count(r.stdout, ": sum 3 ok\n"), r.stdout)
		})
	}
	nothingRuns(t)
}
