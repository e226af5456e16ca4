package hostlist

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// Environment is the source of an allocation.
type Environment struct {
	// Getenv is the value of a variable, "" where it is not set.
	Getenv func(name string) string
	// Read hands the contents of a file to read. Its error begins with the name.
	Read func(file string, read func(io.Reader) error) error
}

// Allocation holds the hosts that a resource manager has given to a job.
type Allocation struct {
	Manager string     // "" outside of a job of one
	ID      string     // of the job, and of its task where it is an array of them; "" where it is not told
	Hosts   []job.Host // none where the environment does not tell them
	Hint    string     // advice to name the hosts, where there are none
}

// manager is a resource manager: how its jobs are known, and their hosts.
type manager struct {
	name  string
	job   string   // the variable that each of its jobs has, "" if none is known by that
	id    []string // the variables that tell its jobs and their tasks apart, if not that one
	hosts func(Environment) ([]job.Host, error)
	hint  string
}

// managers is the table of all, in the order in which they count. A new one is a line.
var managers = []manager{
	{name: "Slurm", job: "SLURM_JOB_ID", hosts: slurm},
	{name: "PBS", job: "PBS_JOBID", hosts: file("PBS_NODEFILE", linePerSlot)},
	{name: "LSF", job: "LSB_JOBID", id: []string{"LSB_JOBID", "LSB_JOBINDEX"}, hosts: lsf},
	{name: "Grid Engine", id: []string{"JOB_ID", "SGE_TASK_ID"}, hosts: peHosts},
	{name: "Cobalt", job: "COBALT_JOBID", hosts: file("COBALT_NODEFILE", listed)},
	{name: "OAR", job: "OAR_JOB_ID", hosts: file("OAR_NODEFILE", linePerSlot)},
	{name: "LoadLeveler", job: "LOADL_STEP_ID", hosts: loadLeveler},
	{name: "PJM", job: "PJM_JOBID", hosts: file("PJM_O_NODEINF", listed)},
	{name: "Flux", job: "FLUX_JOB_ID", hosts: untold, hint: `--hosts "$(flux hostlist local)"`},
	{name: "Flux", job: "FLUX_ENCLOSING_ID", hosts: untold, hint: `--hosts "$(flux hostlist local)"`},
}

// Allocated reads what a resource manager's environment tells of the job that this
// process is in: the hosts, with as many slots as the job has there. An error names
// the variable, and the place in its file.
func Allocated(env Environment) (Allocation, error) {
	within := Allocation{}
	for _, m := range managers {
		hosts, err := m.hosts(env)
		if err != nil || len(hosts) > 0 {
			return Allocation{Manager: m.name, ID: m.number(env), Hosts: hosts}, err
		}
		if within.Manager == "" && m.job != "" && env.Getenv(m.job) != "" {
			within = Allocation{Manager: m.name, Hint: cmp.Or(m.hint, "--hosts")}
		}
	}
	return within, nil
}

// number returns the number of the job, and of its task: managers say "undefined" or 0
// where it has none.
func (m *manager) number(env Environment) (id string) {
	variables := m.id
	if variables == nil {
		variables = []string{m.job}
	}
	for _, name := range variables {
		if v := env.Getenv(name); v != "" && v != "undefined" && v != "0" {
			id += "." + v
		}
	}
	return strings.TrimPrefix(id, ".")
}

// file reads the file that a variable names.
func file(variable string, read func(io.Reader, string) ([]job.Host, error)) func(Environment) ([]job.Host, error) {
	return func(env Environment) (hosts []job.Host, err error) {
		name := env.Getenv(variable)
		if name == "" {
			return nil, nil
		}
		err = env.Read(name, func(r io.Reader) (err error) {
			hosts, err = read(r, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		return hosts, nil
	}
}

// listed reads a file that names hosts and says nothing of slots.
func listed(r io.Reader, name string) ([]job.Host, error) {
	f, err := ParseFile(r, name)
	return f.Hosts, err
}

// untold is for a manager that keeps the hosts to itself.
func untold(Environment) ([]job.Host, error) { return nil, nil }

// lsf reads a job of LSF: its file, which other users than the job's cannot always
// read, or its variables. Where IBM's cluster system manager allocates, the first host
// is the one that starts jobs, and is not for ranks.
func lsf(env Environment) ([]job.Host, error) {
	readable := false
	hosts, err := file("LSB_DJOB_HOSTFILE", func(r io.Reader, name string) ([]job.Host, error) {
		readable = true
		return linePerSlot(r, name)
	})(env)
	if !readable {
		const counts, names = "LSB_MCPU_HOSTS", "LSB_HOSTS"
		switch {
		case env.Getenv(counts) != "":
			hosts, err = countsAfter(counts, env.Getenv(counts))
		case env.Getenv(names) != "":
			hosts, err = namePerSlot(names, env.Getenv(names))
		}
	}
	if len(hosts) > 1 && env.Getenv("CSM_ALLOCATION_ID") != "" {
		hosts = hosts[1:]
	}
	return hosts, err
}

// loadLeveler reads a job of LoadLeveler, which puts small lists into a variable.
func loadLeveler(env Environment) ([]job.Host, error) {
	hosts, err := file("LOADL_HOSTFILE", linePerSlot)(env)
	const names = "LOADL_PROCESSOR_LIST"
	if len(hosts) == 0 && err == nil && env.Getenv(names) != "" {
		return namePerSlot(names, env.Getenv(names))
	}
	return hosts, err
}
