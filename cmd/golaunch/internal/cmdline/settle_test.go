package cmdline

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine/machinetest"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/launcher"
)

const (
	slurm     = "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-4] SLURM_TASKS_PER_NODE=2(x4) "
	slurmBare = "SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-4] "
)

// lab returns a machine with files and an environment, variables apart by blanks.
func lab(variables string) machine.Machine {
	return machinetest.New(fstest.MapFS{
		"hosts":   {Data: []byte("a slots=2\nb:3\n")},
		"seq":     {Data: []byte("n2\nn1\nn2\n")},
		"capped":  {Data: []byte("a slots=2 max_slots=2\n")},
		"ranks":   {Data: []byte("rank 0=+n0 slot=0\n")},
		"prepare": {Data: []byte("#!/bin/sh\n")},
	}, strings.Fields(variables)...)
}

// settle settles a line on a machine.
func settle(m machine.Machine, line string) (Settled, error) {
	h, err := hold(m, strings.Fields(line)...)
	if err != nil {
		return Settled{}, err
	}
	return h.Settle(m)
}

// notes returns the notes of a job, of any --verbose.
func notes(s Settled) (list []string) {
	for _, n := range s.Notes {
		list = append(list, n.Text)
	}
	return list
}

// The places of a job: hosts, the number of those that hold ranks, nodes of this
// machine, ranks of the first app, ranks per host, and the rule that places them.
func TestRoom(t *testing.T) {
	for _, c := range []struct{ variables, line, want string }{
		{"", "./a", "hosts= of=0 nodes=0 n=0 ppn=0 "},
		{"", "-n 4 --nodes 2 ./a", "hosts= of=0 nodes=2 n=4 ppn=0 "},
		{"", "-H a,b:2,a ./a", "hosts=a:2,b:2 of=0 nodes=0 n=0 ppn=0 "},
		{"", "-f hosts ./a", "hosts=a:2,b:3 of=0 nodes=0 n=0 ppn=0 "},
		{"", "-f hosts --exclude b ./a", "hosts=a:2 of=0 nodes=0 n=0 ppn=0 "},
		{"", "-H a,b,c --nodes 2 ./a", "hosts=a,b,c of=2 nodes=0 n=0 ppn=0 "},
		{"", "-H a,b,c --nodes 2 --spares 1 -n 4 ./a", "hosts=a,b,c of=2 nodes=0 n=4 ppn=0 "},
		{"GOLAUNCH_HOSTS=a,b", "--bootstrap fork --nodes 2 ./a", "hosts= of=0 nodes=2 n=0 ppn=0 "},
		{slurm, "./a", "hosts=n[1-4]:2 of=0 nodes=0 n=0 ppn=0 "},
		{slurm, "--nodes 2 ./a", "hosts=n[1-4]:2 of=2 nodes=0 n=0 ppn=0 "},
		{slurm, "-H n1 ./a", "hosts=n1 of=0 nodes=0 n=0 ppn=0 "},
		{slurmBare + "SLURM_NTASKS=6", "./a", "hosts=n[1-4] of=0 nodes=0 n=6 ppn=0 "},
		{slurm, "srun ./a", "hosts=n[1-4] of=4 nodes=0 n=4 ppn=0 "},
		{slurm + "SLURM_NTASKS=8", "srun ./a", "hosts=n[1-4] of=4 nodes=0 n=8 ppn=0 "},
		{slurm, "srun -n 2 ./a", "hosts=n[1-4] of=2 nodes=0 n=2 ppn=0 "},
		{slurm, "srun -N2 -n 3 ./a", "hosts=n[1-4] of=2 nodes=0 n=3 ppn=0 "},
		{slurm, "srun -n 2 -w n3 ./a", "hosts=n[1,3,2,4] of=2 nodes=0 n=2 ppn=0 "},
		{slurm, "srun -n 2 -r 2 ./a", "hosts=n[3-4] of=2 nodes=0 n=2 ppn=0 "},
		{slurm, "srun -n 2 -m arbitrary -w n2,n1 ./a", "hosts=n[1-2] of=0 nodes=0 n=2 ppn=0 seq"},
		{slurm + "SLURM_DISTRIBUTION=cyclic", "-n 2 ./a", "hosts=n[1-4]:2 of=0 nodes=0 n=2 ppn=0 node"},
		{slurm + "SLURM_DISTRIBUTION=cyclic", "-n 2 --map-by slot ./a", "hosts=n[1-4]:2 of=0 nodes=0 n=2 ppn=0 slot"},
		{slurm + "SLURM_DISTRIBUTION=cyclic SLURM_STEP_ID=0", "-n 2 ./a", "hosts=n[1-4] of=0 nodes=0 n=2 ppn=0 "},
		{slurm + "SLURM_DISTRIBUTION=arbitrary SLURM_HOSTFILE=seq", "./a", "hosts=n2:2,n1 of=0 nodes=0 n=0 ppn=0 seq"},
		{"", "mpirun_rsh -np 3 a b a sh", "hosts=a:2,b of=0 nodes=0 n=3 ppn=0 seq"},
		{"", "mpiexec -rankmap 0,1 -H a,b ./a", "hosts=a,b of=0 nodes=0 n=0 ppn=0 file:"},
		{"", "mpiexec.hydra -n 4 -hosts a,b ./a", "hosts=a,b of=0 nodes=0 n=4 ppn=0 node"},
		{"", "mpiexec.hydra -n 4 -hosts a,b -ppn 2 ./a", "hosts=a,b of=0 nodes=0 n=4 ppn=2 "},
	} {
		s, err := settle(lab(c.variables), c.line)
		require.NoError(t, err, c)
		r := s.room
		got := fmt.Sprintf("hosts=%s of=%d nodes=%d n=%d ppn=%d %s", hostlist.Fold(r.hosts), r.rankHosts, r.nodes, r.apps[0].N, r.ppn, s.wish.Rule)
		assert.Equal(t, c.want, got, c)
	}
}

// Doubtful readings of a line are told; -v tells more.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		variables, line string
		want            []string
	}{
		{"", "-n 2 ./a", nil},
		{slurmBare + "SLURM_NTASKS=6", "./a", []string{"SLURM_TASKS_PER_NODE does not say how many ranks each host holds: the 6 of SLURM_NTASKS are spread evenly"}},
		{"PBS_JOBID=3", "./a", []string{"this is a job of PBS, which does not tell its hosts here: all ranks run on this machine; name the hosts with --hosts"}},
		{"", "-H a,b --exclude c ./a", []string{"--exclude: c is none of the hosts"}},
		{"GOLAUNCH_EXCLUDE=c", "./a", nil},
		{"", "srun -N2 ./a", []string{"-N is read as srun has it", "-N2: no hosts are named, and this is no allocation: the 2 nodes are all this machine; name hosts with -H or -f"}},
		{"", "-n 2 srun ./a", []string{"srun is the program here, which each rank starts; write golaunch srun ... for its line to be read, golaunch ... -- srun where the program is meant"}},
		{"", "-n 2 -- srun ./a", nil},
		{"", "srun -n 2 -m block,pack ./a", []string{"-m: Pack: ranks are spread over the hosts as without it; -N says over how many"}},
		{slurm + "SLURM_DISTRIBUTION=block,Pack", "./a", []string{
			"SLURM_DISTRIBUTION=block,pack: ranks are placed so", "SLURM_DISTRIBUTION: Pack: ranks are spread over the hosts as without it; -N says over how many",
		}},
		{"", "torchrun -H a,b --no-python --master-addr b ./a", []string{
			"--master-addr: rank 0 is on a, and ranks are told to meet on b: leave it out, or name that host first",
		}},
	} {
		s, err := settle(lab(c.variables), c.line)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, notes(s), c)
	}
}

// Impossible jobs are refused before anything starts.
func TestSettleRefuses(t *testing.T) {
	for _, c := range []struct{ variables, line, want string }{
		{"", "-q -v ./a", "--quiet and --verbose exclude each other"},
		{"", "-H a -f hosts ./a", "--hosts and --hostfile exclude each other; name all hosts in one"},
		{"GOLAUNCH_HOSTS=a GOLAUNCH_HOSTFILE=hosts", "./a", "--hosts and --hostfile exclude each other; name all hosts in one"},
		{"", "./a : -H a -f hosts -n 1 ./b", "app 1: --hosts and --hostfile exclude each other; name all hosts in one"},
		{"", "./a : -f - -n 1 ./b", "app 1: -f -: standard input can be the host file of the first app alone; name a file"},
		{"", "-H a/b ./a", `-H: "a/b": character '/' in host name; a host file goes with -f`},
		{"", "-f capped --oversubscribe ./a", "capped:1: max_slots forbids --oversubscribe; leave one out"},
		{"", "-H a --exclude a ./a", "--exclude: it leaves none of 1 host"},
		{"", "--exclude a ./a", "--exclude: no hosts are named, and this is no allocation; name the hosts with -H or -f"},
		{"", "-H a,b --nodes 3 ./a", "--nodes: 3 are more than the 2 hosts named; name more, or leave it out"},
		{slurm, "--nodes 5 ./a", "--nodes: 5 are more than the 4 hosts of the allocation; for nodes of this machine say --bootstrap fork, too"},
		{slurm, "srun -r 9 ./a", "-r 9: the allocation has 4 hosts, of which the first is 0"},
		{"", "torchrun --nnodes 2 --no-python ./a", "--nnodes 2: no hosts are named, and this is no allocation; name them with -H or -f, or say --bootstrap fork for 2 nodes of this machine"},
		{"", "-n 2 a b sh", "program not found: a; hosts are named with -H, as in golaunch -n 2 -H a,b sh"},
		{"", "--map-by comm:g --metis-file h ./a", "--metis-file: --map-by comm:g names a graph, too; leave one out"},
		{"", "--map-by node --metis-file h ./a", "--metis-file: --map-by node does not go by a graph; leave one out"},
		{"", "--map-by file:none ./a", "--map-by: none: file does not exist"},
		{"", "--profile-what time ./a", "--profile-what: nothing is counted without --profile FILE"},
		{slurm + "SLURM_DISTRIBUTION=arbitrary SLURM_HOSTFILE=none", "./a", "SLURM_HOSTFILE: none: file does not exist"},
		{slurm, "srun -m arbitrary ./a", "-m arbitrary: name the host of each rank, in order, with -w or -F, or in the file that SLURM_HOSTFILE names"},
	} {
		_, err := settle(lab(c.variables), c.line)
		assert.EqualError(t, err, c.want, c)
	}
}

// A line without flags has the default options, with golaunch's facts about itself.
func TestOptionsOfNoFlags(t *testing.T) {
	m := lab("A=1 GOLAUNCH_JOB=x PMI_RANK=3")
	s, err := settle(m, "./a x")
	require.NoError(t, err)
	o := s.Options(m)
	assert.Equal(t, []string{"./a", "x"}, o.Programs.Apps[0].Argv)
	assert.Equal(t, []string{"A=1"}, o.Programs.Env)
	assert.Equal(t, "/work", o.Programs.Dir)
	assert.Equal(t, m.Environ, o.Boot.Environ)
	want := launcher.DefaultOptions()
	want.Programs, want.Boot = o.Programs, o.Boot
	assert.Equal(t, want, o)
	require.NoError(t, o.Validate())
}

// Settling changes none of the statements: it can be done again, with the same result.
func TestSettleTwice(t *testing.T) {
	for _, line := range []string{
		"srun -N2 -n 3 --exclude n4 ./a", "-H a,b,c --nodes 2 -n 5 --exclude b ./a : -n 2 -H d,e ./b", "-f seq --map-by seq ./a", "torchrun --no-python ./a",
	} {
		m := lab(slurm + "OMPI_MCA_plm_rsh_args=-p")
		h, err := hold(m, strings.Fields(line)...)
		require.NoError(t, err, line)
		first, err := h.Settle(m)
		require.NoError(t, err, line)
		second, err := h.Settle(m)
		require.NoError(t, err, line)
		assert.Equal(t, first.Options(m), second.Options(m), line)
		assert.Equal(t, first.Notes, second.Notes, line)
	}
}
