package cmdline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
)

// --mpi and the flags that it has replaced.
func TestMPIOfALine(t *testing.T) {
	type is struct{ openMPI, pmix, fix, noFix, none bool }
	mpi := func(variables, line string) is {
		m := machinetest.New(nil, strings.Fields(variables)...)
		h, err := hold(m, strings.Fields(line)...)
		require.NoError(t, err, line)
		settled, err := h.SettleHosts(m)
		require.NoError(t, err, line)
		o := settled.Options(m)
		return is{o.Launch.OpenMPI, o.Launch.PMIx, o.MPI.MPICHFix, o.MPI.NoMPICHFix, o.Launch.NoMPI}
	}
	for line, want := range map[string]is{
		"-n 2 ./a":                          {},
		"--mpi auto ./a":                    {},
		"--mpi mpich ./a":                   {fix: true},
		"--mpi openmpi ./a":                 {openMPI: true},
		"--mpi=pmix ./a":                    {pmix: true},
		"--mpi none ./a":                    {noFix: true, none: true},
		"srun -n 2 --mpi=pmix ./a":          {pmix: true},
		"srun -n 2 --mpi=pmix_v4 ./a":       {pmix: true},
		"srun -n 2 --mpi=pmi2 ./a":          {},
		"-n 2 --mpi pmix_v3 ./a":            {pmix: true},
		"srun -n 2 --mpi=none ./a":          {noFix: true, none: true},
		"-N4 --mpi=cray_shasta ./a":         {},
		"--open-mpi ./a":                    {openMPI: true},
		"--pmix ./a":                        {pmix: true},
		"--mpich-fix ./a":                   {fix: true},
		"--no-mpich-fix ./a":                {noFix: true},
		"mpirun -np 2 ./wrapper":            {}, // its MPI is found out
		"--mca btl tcp,self -np 2 ./a":      {},
		"mpirun -H a --pmi-port ./wrapper":  {},
		"mpiexec -n 2 --mpi openmpi app.py": {openMPI: true},
		"--open-mpi --no-mpich-fix ./a":     {openMPI: true, noFix: true},
	} {
		assert.Equal(t, want, mpi("", line), line)
	}
	for _, x := range []struct {
		variables, line string
		want            is
	}{ // the line counts more
		{"GOLAUNCH_MPI=pmix", "./a", is{pmix: true}},
		{"GOLAUNCH_MPI=pmix", "--mpich-fix ./a", is{fix: true}},
		{"GOLAUNCH_MPI=mpich", "--no-mpich-fix ./a", is{noFix: true}},
		{"GOLAUNCH_OPEN_MPI=1", "--mpi pmix ./a", is{pmix: true}},
		{"GOLAUNCH_OPEN_MPI=1", "--pmix ./a", is{pmix: true}},
		{"GOLAUNCH_MPICH_FIX=1", "--mpi auto ./a", is{}},
		{"GOLAUNCH_MPICH_FIX=1", "--no-mpich-fix ./a", is{noFix: true}},
		{"GOLAUNCH_OPEN_MPI=1", "--no-mpich-fix ./a", is{openMPI: true, noFix: true}},
		{"GOLAUNCH_OPEN_MPI=1 GOLAUNCH_NO_MPICH_FIX=1", "./a", is{openMPI: true, noFix: true}},
	} {
		assert.Equal(t, x.want, mpi(x.variables, x.line), x)
	}
	_, err := hold(machinetest.New(nil), "--mpi", "ompi", "./a")
	assert.ErrorContains(t, err, `"ompi" is none; auto, mpich, openmpi, pmix, none are`)
}

// The value of -q is a QOS where srun's line says so, and no path.
func TestQuietIsNoQOS(t *testing.T) {
	for line, program := range map[string]string{ // in an allocation
		"-q ./app.sh -t 5 /bin/hostname":           "./app.sh -t 5 /bin/hostname",
		"-q sh -c exit":                            "sh -c exit",
		"-t 5 -q ./app.sh -p x /bin/hostname":      "./app.sh -p x /bin/hostname",
		"-t 5 -q high -p x /bin/hostname":          "/bin/hostname",
		"srun -q high /bin/hostname -t 5":          "/bin/hostname -t 5",
		"-p debug -q high --mem 4G -n 2 ./app -np": "./app -np",
	} {
		h, err := hold(machinetest.New(nil, "SLURM_JOB_ID=7"), strings.Fields(line)...)
		require.NoError(t, err, line)
		assert.Equal(t, program, strings.Join(h.apps[0].Argv, " "), line)
	}
	h, err := hold(machinetest.New(nil), "-q", "sh", "-c", "echo hi")
	require.NoError(t, err)
	assert.Equal(t, []string{"sh", "-c", "echo hi"}, h.apps[0].Argv)
	assert.True(t, h.Quiet())
}
