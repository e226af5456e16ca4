package slurmboot

import (
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// kept are the variables of golaunch's environment that srun gets, and so the agents. Of
// Slurm's own srun takes many for flags: those of the script's #SBATCH lines, which speak
// of ranks and not of agents. SLURM_EXPORT_ENV, SLURM_STDOUTMODE and SLURM_NTASKS would
// break it.
var kept = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR", "TMPDIR",
	"SLURM_CONF", "SLURM_JOB_ID", "SLURM_CLUSTERS", "SLURM_WORKING_CLUSTER",
}

// environ returns the environment of srun.
func environ(getenv func(string) string) []string {
	var env []string
	for _, name := range kept {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// noGroup is for a job that has no components.
const noGroup = -1

// step is one srun.
type step struct {
	group int // the component of a heterogeneous job, or noGroup
	names []string
	// bring is the path that srun copies the executable to on each node; "" where the
	// nodes have it.
	bring string
}

// words returns the command line of srun that runs argv once on each host.
func (s *step) words(program string, argv []string) []string {
	n := strconv.Itoa(len(s.names))
	words := []string{
		program,
		// Without the number of tasks the job's would count; there is one of them on each node.
		"--nodes=" + n, "--ntasks=" + n, "--ntasks-per-node=1", "--nodelist=" + s.nodeList(),
		"--overlap",            // beside the job's other steps, the one that golaunch may be in among them
		"--mpi=none",           // golaunch serves the ranks
		"--cpu-bind=none",      // agents bind ranks
		"--input=all",          // the secret
		"--export=ALL",         // of the environment that srun is given
		"--kill-on-bad-exit=0", // an agent that fails concerns no other
		"--wait=0",             // nor does one that ends
		"--chdir=/", "--unbuffered", "--label",
	}
	if s.group != noGroup {
		words = append(words, "--het-group="+strconv.Itoa(s.group))
	}
	if s.bring != "" {
		words = append(words, "--bcast="+s.bring)
		// The agent removes the copy as soon as it runs.
		argv = append(slices.Clone(argv), "--unlink", s.bring)
	}
	return append(append(words, "--"), argv...)
}

// nodeList returns the names as srun takes them.
func (s *step) nodeList() string {
	hosts := make([]job.Host, len(s.names))
	for i, name := range s.names {
		hosts[i].Name = name
	}
	return hostlist.Fold(hosts)
}

// split sorts hosts by the components of the job; group is nil where it has none.
func split(hosts []bootstrap.Host, group map[string]int) []step {
	var steps []step
	for _, h := range hosts {
		of := noGroup
		if group != nil {
			of = group[h.Name]
		}
		i := slices.IndexFunc(steps, func(s step) bool { return s.group == of })
		if i < 0 {
			i, steps = len(steps), append(steps, step{group: of})
		}
		steps[i].names = append(steps[i].names, h.Name)
	}
	return steps
}
