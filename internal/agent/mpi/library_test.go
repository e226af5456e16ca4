package mpi

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMPILibrariesByName(t *testing.T) {
	for name, want := range map[string]struct{ mpi, openMPI bool }{
		"libmpi.so.40":                 {true, true},
		"libmpi.so.20":                 {true, true},
		"libmpi.so.40.30.4":            {true, true}, // the file
		"libmpi.so.400":                {true, false},
		"libmpi_mpifh.so.40":           {true, true},
		"libmpi_usempif08.so.40":       {true, true},
		"liboshmem.so.40":              {true, true},
		"libmpi.so.12":                 {true, false}, // MPICH, MVAPICH2, Intel
		"libmpich.so.12":               {true, false},
		"libmpifort.so.12":             {true, false},
		"libmpi_cray.so.12":            {true, false},
		"libmpichfinalize.so":          {}, // golaunch's own
		"libc.so.6":                    {},
		"libmpv.so.2":                  {},
		"libmpiwrap-amd64-linux.so":    {},
		"libopen-rte.so.40":            {}, // of mpirun, too
		"libopen-pal.so.40":            {},
		"/usr/lib/x86_64/libmpi.so.40": {}, // names have no directories
	} {
		require.Equal(t, want.openMPI, isOpenMPI(name), name)
		require.Equal(t, want.mpi, isMPI(name), name)
	}
}

func TestFluxIDs(t *testing.T) {
	seen := map[string]bool{}
	for i := range 1000 {
		id := fluxID("kvs_" + strconv.Itoa(i) + "_0")
		n, err := strconv.ParseUint(id, 10, 31)
		require.NoError(t, err)
		require.NotZero(t, n)
		require.Zero(t, n&0x8000, "which Open MPI's ranks would not agree on")
		seen[id] = true
	}
	require.Greater(t, len(seen), 990)
}
