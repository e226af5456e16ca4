package dialects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
)

// Lines of each launcher, the tools that they are of, and the same in golaunch's words.
func TestRead(t *testing.T) {
	const mpich = "mpiexec of MPICH, mpiexec of Intel MPI"
	m := machinetest.New(nil, "A=1", "SLURM_CONF=/c")
	for _, c := range []struct{ line, tools, want string }{
		{"-n 4 ./a -x", "", "--np 4 ./a -x"},
		{"-lvi 3 ./a", "", "-l -v --stdin 3 ./a"},
		{"-vn3 -np=3 --bind-to=core -o=a -N=2 ./a", "", "-v --np 3 --bind-to core --out a --ppn 2 ./a"},
		{"-vqn 3 -l=host --np=3 ./a", "", "-v -q --np 3 -l=host ./a"},
		{"-n 2 ./a : -n 1 ./b", "", "--np 2 ./a : --np 1 ./b"},
		{"-n4 -H a,b -- srun", "", "--np 4 --hosts a,b -- srun"},
		{"srun -N2 -n8 -l -c 2 --cpu-bind=cores ./a", "srun", "--nodes 2 --np 8 -l --env SLURM_CPUS_PER_TASK=2 --bind-to hwthread:2 ./a"},
		{"srun -ul -w n[1-2] --mpi=pmi2 ./a", "srun", "--unbuffered -l --hosts n[1-2] --mpi auto ./a"},
		{"srun -n 2 -m plane=2 -t 1:30 ./a", "srun", "--np 2 --map-by slot --rank-by plane:2 --timeout 90 ./a"},
		{"srun -o all -e none -i /dev/null ./a", "srun", "--err /dev/null --stdin none ./a"},
		{"srun --export=NONE,A=1 ./a", "srun", "--env-none --genv SLURM_CONF --genv A=1 ./a"},
		{"srun -n 2 -n 3 ./a", "srun", "--np 3 ./a"}, // the last counts
		{"srun --wdir=/a -n2 --wdir=/b ./a", "srun", "--wdir /b --np 2 ./a"},
		{"-N4 -c2 -ul --mpi=pmi2 ./a", "srun", "--nodes 4 --env SLURM_CPUS_PER_TASK=2 --unbuffered -l --mpi auto ./a"},
		{"mpirun -np 2 --map-by ppr:2:node -x A ./a", "mpirun of Open MPI", "--np 2 --ppn 2 --env A ./a"},
		{"mpirun -np 2 --map-by socket:PE=2 --tag-output ./a", "mpirun of Open MPI", "--np 2 --map-by slot --label --bind-to core:2 ./a"},
		{"mpirun --mca btl tcp --mca orte_tag_output 1 ./a", "mpirun of Open MPI", "--env OMPI_MCA_btl=tcp --label ./a"},
		{"mpirun -np 2 --hostfile f --output dir=d:nocopy,tag ./a", "mpirun of Open MPI", "--np 2 --hostfile f --log-dir d --label ./a"},
		{"orterun -pernode --rankfile r ./a", "mpirun of Open MPI", "--ppn 1 --map-by file:r ./a"},
		{"mpiexec -n 2 -genv A B -ppn 2 ./a", mpich, "--np 2 --genv A=B --ppn 2 ./a"},
		{"mpiexec -genvlist A,NO -machinefile f ./a", mpich, "--env-none --genv A --hostfile f ./a"},
		{"mpiexec -rankmap (0,2,1),1 ./a", mpich, "--map-by file:-rankmap ./a"},
		{"mpiexec.hydra -perhost 2 -rr ./a : -n 1 ./b", "mpiexec of Intel MPI", "--ppn 2 --map-by node ./a : --np 1 ./b"},
		{"mpirun_rsh -np 2 a b A=1 sh x", "mpirun_rsh", "--np 2 --hosts a,b --env A=1 sh x"},
		{"mpirun_rsh -np 2 -hostfile f sh", "mpirun_rsh", "--np 2 --hostfile f sh"},
		{"torchrun --standalone --nproc-per-node gpu train.py", "torchrun", "--bootstrap fork --ppn 2 --genv OMP_NUM_THREADS=1 python3 -u train.py"},
		{"torchrun --standalone --no-python --role x ./a", "torchrun", "--bootstrap fork --genv ROLE_NAME=x ./a"},
		{"torchrun -t 3 --log-dir d t.py", "torchrun", "--tee --log-dir d python3 -u t.py"},
	} {
		l, err := Read(strings.Fields(c.line), Own(), m)
		require.NoError(t, err, c.line)
		var names, parts []string
		for _, of := range l.Tools {
			names = append(names, of.name)
		}
		for _, part := range l.Parts {
			parts = append(parts, strings.Join(part, " "))
		}
		assert.Equal(t, c.tools, strings.Join(names, ", "), c.line)
		assert.Equal(t, c.want, strings.Join(parts, " : "), c.line)
	}
}

// Words without an equal are answered together, each in a line that says what to do.
func TestAnswers(t *testing.T) {
	for line, want := range map[string]string{
		"srun --het-group=0 -n 2 ./a": "--het-group=0: this is no heterogeneous job of Slurm; name the hosts in -H",
		"torchrun --nnodes 2 --nproc-per-node gpu train.py": "--nproc-per-node: the number of other hosts' GPUs is not known before they are reached; " +
			"give it, as in --nproc-per-node 2",
		"mpirun -tv --xterm 1 -np 2 ./a": "-tv: not a flag of golaunch: " + answerDebug + "\n--xterm: not a flag of golaunch: " + answerDebug,
		"./a : srun -N2 ./b":             "",
		"./a : --xterm 1 ./b":            "app 1: --xterm: not a flag of golaunch: " + answerDebug,
	} {
		_, err := Read(strings.Fields(line), Own(), machinetest.New(nil))
		if want == "" {
			assert.NoError(t, err, line)
			continue
		}
		assert.EqualError(t, err, want, line)
	}
}
