package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// An outer job's variables would tell a rank that it is a rank of that job:
// the classic failure of nested launches. They are left out of what ranks
// inherit.
var (
	outerPrefixes = []string{
		"PMI_", "PMIX_", "HYDI_", "MPI_LOCAL", "GOLAUNCH_", // PMI, Hydra, golaunch
		"OMPI_", "PRTE_", // Open MPI
		"SLURM_PMI", "SLURM_STEP", "SLURM_SRUN_", // srun's step, not the allocation
		"MV2_COMM_WORLD_", "MPIRUN_", "MPISPAWN_", "PMGR_", // MVAPICH
		"FLUX_TASK_", "FLUX_PMI_", "PALS_", // Flux, Cray
	}
	outerNames = []string{
		"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", // Hydra: the address of one node
		"MV2_NUM_NODES_IN_JOB", "MV2_NODE_ID",
		"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_TASK_PID", "SLURM_GTIDS",
		"SLURMD_NODENAME", "SLURM_CPUS_ON_NODE", "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN", // of one node
		"FLUX_JOB_ID", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES",
		"I_MPI_PMI_LIBRARY", // would have ranks bypass golaunch's PMI
	}
	// Users set these for their programs, though an outer job sets others
	// with the same prefix. PMI_VERSION is what MPICH's users choose.
	userPrefixes = []string{"OMPI_MCA_", "OMPI_ALLOW_", "PMI_DEBUG", "PMI_VERSION", "PMI_SUBVERSION"}
	// An Open MPI launcher's own parameters.
	outerMCA = []string{
		"OMPI_MCA_ess", "OMPI_MCA_orte_", "OMPI_MCA_prte_", "OMPI_MCA_pmix",
		"OMPI_MCA_initial_wdir", "OMPI_MCA_plm", "OMPI_MCA_shmem_RUNTIME_",
	}
)

// reserved are the variables that golaunch sets for each rank.
var reserved = []string{
	"PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_ID", "PMI_SPAWNED", "PMI_JOBID",
	"MPI_LOCALRANKID", "MPI_LOCALNRANKS",
}

// reservedPMGR are those that it sets with --pmgr.
var reservedPMGR = []string{"MPIRUN_RANK", "MPIRUN_NPROCS", "MPIRUN_ID", "MPIRUN_HOST", "MPIRUN_PORT"}

// isOuter tells whether a variable belongs to the job that golaunch itself is
// run in.
func isOuter(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case slices.Contains(outerNames, name), slices.ContainsFunc(outerMCA, begins):
		return true
	case slices.ContainsFunc(userPrefixes, begins):
		return false
	}
	return slices.ContainsFunc(outerPrefixes, begins)
}

// inherited is the part of golaunch's environment that ranks get.
func inherited(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		return !ok || isOuter(name)
	})
}

// setVariable sets NAME=value in env.
func setVariable(env []string, kv string) []string {
	name, _, _ := strings.Cut(kv, "=")
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	return append(env, kv)
}

// variable is the value of a variable in environ, "" where it has none.
func variable(environ []string, name string) string {
	v, _ := lookup(environ, name)
	return v
}

func lookup(environ []string, name string) (value string, ok bool) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// resolveVariable turns the argument of --env, NAME or NAME=value, into
// NAME=value.
func (c *commandLine) resolveVariable(arg string) (string, error) {
	name, _, hasValue := strings.Cut(arg, "=")
	switch {
	case name == "" || strings.ContainsRune(arg, 0):
		return "", fmt.Errorf("%q is not NAME or NAME=VALUE", arg)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", fmt.Errorf("%q is no name of a variable: it has a blank in it", name)
	case slices.Contains(reserved, name), strings.HasPrefix(name, "GOLAUNCH_"), c.PMGR && slices.Contains(reservedPMGR, name):
		return "", fmt.Errorf("%s is golaunch's to set", name)
	case hasValue:
		return arg, nil
	}
	value, ok := lookup(c.environ, name)
	if !ok {
		return "", fmt.Errorf("%s is not set here; write %s=VALUE", name, name)
	}
	return name + "=" + value, nil
}
