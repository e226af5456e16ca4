package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
)

// Open MPI is told where ranks share CPUs, unless the user has a word on it.
func TestYield(t *testing.T) {
	cpus, err := unix.Affinity(0)
	require.NoError(t, err)
	a, w, _ := newWorld(t, 1)
	for ranks, want := range map[int][]string{len(cpus): nil, len(cpus) + 1: {"OMPI_MCA_mpi_yield_when_idle=1"}} {
		a.oneMachine, w.view.Size = true, ranks
		require.Equal(t, want, w.yieldEnv(nil), ranks)
		require.Empty(t, w.yieldEnv([]string{"OMPI_MCA_mpi_yield_when_idle=0"}))
	}
}
