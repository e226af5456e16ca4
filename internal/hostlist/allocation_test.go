package hostlist

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// environment returns one of "NAME=value;..." and of some files.
func environment(variables string) Environment {
	set := make(map[string]string)
	for kv := range strings.SplitSeq(variables, ";") {
		name, value, _ := strings.Cut(kv, "=")
		set[name] = value
	}
	files := map[string]string{"cores": "a\na\nb\n", "hosts": "a\nb\n", "pe": "a 4 all.q@a <NULL>\nb 2 all.q@b <NULL>\n", "wrong": "a;b\n"}
	return Environment{
		Getenv: func(name string) string { return set[name] },
		Read: func(file string, read func(io.Reader) error) error {
			text, ok := files[file]
			if !ok {
				return fmt.Errorf("%s: permission denied", file)
			}
			return read(strings.NewReader(text))
		},
	}
}

func TestAllocated(t *testing.T) {
	const step = "SLURM_STEP_ID=0;SLURM_TASKS_PER_NODE=1;SLURM_JOB_CPUS_PER_NODE=2(x4)"
	const het = "SLURM_HET_SIZE=2;SLURM_JOB_NODELIST_HET_GROUP_0=n1;SLURM_TASKS_PER_NODE_HET_GROUP_0=2;" +
		"SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3];SLURM_TASKS_PER_NODE_HET_GROUP_1=2(x2)"
	for _, c := range []struct{ variables, manager, hosts string }{
		{"HOME=/root", "", ""},
		{"SLURM_JOB_NODELIST=n[001-003],m5", "Slurm", "n001 n002 n003 m5"},
		{"SLURM_JOB_NODELIST=n[001-003],m5;SLURM_TASKS_PER_NODE=4(x3),2", "Slurm", "n001:4 n002:4 n003:4 m5:2"},
		{"SLURM_JOB_NODELIST=n[1-4];SLURM_TASKS_PER_NODE=2,1(x2),3", "Slurm", "n1:2 n2:1 n3:1 n4:3"},
		{"SLURM_NODELIST=n1;SLURM_TASKS_PER_NODE=16", "Slurm", "n1:16"},
		{"SLURM_JOB_NODELIST=n[1-4];" + step, "Slurm", "n1:2 n2:2 n3:2 n4:2"},
		{"SLURM_JOB_NODELIST=n[1-2];SLURM_STEP_ID=0;SLURM_TASKS_PER_NODE=1;SLURM_JOB_CPUS_PER_NODE=7,2;SLURM_CPUS_PER_TASK=3", "Slurm", "n1:2 n2:1"},
		{"SLURM_JOB_NODELIST=n[1-2];SLURM_STEP_ID=4294967290;SLURM_TASKS_PER_NODE=2(x2);SLURM_JOB_CPUS_PER_NODE=6(x2);SLURM_CPUS_PER_TASK=3", "Slurm", "n1:2 n2:2"},
		{"SLURM_JOB_NODELIST=n[1-4];SLURM_STEP_ID=0;SLURM_TASKS_PER_NODE=1", "Slurm", "n1 n2 n3 n4"},
		{"SLURM_JOB_NODELIST=n1;SLURM_TASKS_PER_NODE=2;" + het, "Slurm", "n1:2 n2:2 n3:2"},
		{het + ";SLURM_STEP_ID=0;SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=4;SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=8(x2)", "Slurm", "n1:4 n2:8 n3:8"},
		{"SLURM_HET_SIZE=2;SLURM_JOB_NODELIST_HET_GROUP_0=n1;SLURM_TASKS_PER_NODE_HET_GROUP_0=2;" +
			"SLURM_JOB_NODELIST_HET_GROUP_1=n1;SLURM_TASKS_PER_NODE_HET_GROUP_1=3", "Slurm", "n1:5"},
		{"PBS_JOBID=1.a;PBS_NODEFILE=cores", "PBS", "a:2 b:1"},
		{"LSB_JOBID=1;LSB_DJOB_HOSTFILE=cores;LSB_MCPU_HOSTS=x 1", "LSF", "a:2 b:1"},
		{"LSB_JOBID=1;LSB_DJOB_HOSTFILE=secret;LSB_MCPU_HOSTS=a 3 b 1", "LSF", "a:3 b:1"},
		{"LSB_JOBID=1;LSB_HOSTS=a a b", "LSF", "a:2 b:1"},
		{"CSM_ALLOCATION_ID=7;LSB_JOBID=1;LSB_MCPU_HOSTS=batch5 1 h41n04 42 h41n05 42", "LSF", "h41n04:42 h41n05:42"},
		{"PE_HOSTFILE=pe", "Grid Engine", "a:4 b:2"},
		{"COBALT_JOBID=1;COBALT_NODEFILE=hosts", "Cobalt", "a b"},
		{"OAR_JOB_ID=1;OAR_NODEFILE=cores", "OAR", "a:2 b:1"},
		{"LOADL_STEP_ID=a.1.0;LOADL_HOSTFILE=cores", "LoadLeveler", "a:2 b:1"},
		{"LOADL_STEP_ID=a.1.0;LOADL_PROCESSOR_LIST=a b b", "LoadLeveler", "a:1 b:2"},
		{"PJM_JOBID=1;PJM_O_NODEINF=hosts", "PJM", "a b"},
		{"FLUX_JOB_ID=f2", "Flux", ""},
		{"FLUX_ENCLOSING_ID=f2", "Flux", ""},
		{"SLURM_JOB_ID=1", "Slurm", ""},
	} {
		got, err := Allocated(environment(c.variables))
		require.NoError(t, err, c.variables)
		assert.Equal(t, c.hosts, show(got.Hosts), c.variables)
		assert.Equal(t, c.manager, got.Manager, c.variables)
		assert.Equal(t, c.manager != "" && c.hosts == "", got.Hint != "", c.variables)
	}
	for _, c := range []struct{ variables, want string }{
		{"SLURM_JOB_NODELIST=n[1-;SLURM_TASKS_PER_NODE=1", `SLURM_JOB_NODELIST: "n[1-": [ without ]`},
		{"SLURM_JOB_NODELIST=n[1-4];SLURM_TASKS_PER_NODE=2(x3)", `SLURM_TASKS_PER_NODE: "2(x3)": counts 3 nodes, SLURM_JOB_NODELIST has 4`},
		{"SLURM_JOB_NODELIST=n[1-4];SLURM_TASKS_PER_NODE=2(x5)", `SLURM_TASKS_PER_NODE: "2(x5)": counts more nodes than the 4 of SLURM_JOB_NODELIST`},
		{"SLURM_JOB_NODELIST=n1;SLURM_TASKS_PER_NODE=2(x1", `SLURM_TASKS_PER_NODE: "2(x1": not of the form 4 or 4(x3)`},
		{"SLURM_JOB_NODELIST=n1;SLURM_TASKS_PER_NODE=2(x)", `SLURM_TASKS_PER_NODE: "2(x)": not of the form 4 or 4(x3)`},
		{"SLURM_JOB_NODELIST=n1;SLURM_TASKS_PER_NODE=two", `SLURM_TASKS_PER_NODE: "two": "two" is not a number of slots`},
		{"SLURM_JOB_NODELIST=n1;SLURM_TASKS_PER_NODE=1,", `SLURM_TASKS_PER_NODE: "": no number of slots after the colon`},
		{"SLURM_HET_SIZE=many", `SLURM_HET_SIZE: "many" is not 1 to 128 components`},
		{"SLURM_HET_SIZE=1000000000", `SLURM_HET_SIZE: "1000000000" is not 1 to 128 components`},
		{"SLURM_HET_SIZE=2;SLURM_JOB_NODELIST_HET_GROUP_0=n1", `SLURM_JOB_NODELIST_HET_GROUP_1 is not set, though SLURM_HET_SIZE is 2`},
		{"PBS_NODEFILE=secret", `PBS_NODEFILE: secret: permission denied`},
		{"LSB_DJOB_HOSTFILE=secret", `LSB_DJOB_HOSTFILE: secret: permission denied`},
		{"LSB_DJOB_HOSTFILE=wrong;LSB_MCPU_HOSTS=a 4", `LSB_DJOB_HOSTFILE: wrong:1: "a;b": character ';' in host name`},
		{"LSB_MCPU_HOSTS=a 4 b", `LSB_MCPU_HOSTS: "a 4 b": not pairs of host and slots`},
	} {
		_, err := Allocated(environment(c.variables))
		assert.EqualError(t, err, c.want)
	}
}

// Jobs of a manager have a number each, and so have the tasks of an array of them.
func TestNumbersOfAllocations(t *testing.T) {
	for variables, want := range map[string]string{
		"SLURM_JOB_ID=7;SLURM_JOB_NODELIST=n1":                     "7",
		"SLURM_JOB_NODELIST=n1":                                    "",
		"PBS_JOBID=1[2].a;PBS_NODEFILE=cores":                      "1[2].a",
		"LSB_JOBID=1;LSB_JOBINDEX=0;LSB_HOSTS=a":                   "1",
		"LSB_JOBID=1;LSB_JOBINDEX=3;LSB_HOSTS=a":                   "1.3",
		"JOB_ID=5;SGE_TASK_ID=undefined;PE_HOSTFILE=pe":            "5",
		"JOB_ID=5;SGE_TASK_ID=2;PE_HOSTFILE=pe;SLURM_JOB_ID=other": "5.2",
		"OAR_JOB_ID=9;OAR_NODEFILE=cores":                          "9",
		"HOME=/root":                                               "",
	} {
		a, err := Allocated(environment(variables))
		require.NoError(t, err)
		assert.Equal(t, want, a.ID, variables)
	}
}
