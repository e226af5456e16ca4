package environ

import (
	"slices"
	"strings"
)

// An outer job's variables would tell a rank that it is a rank of that job: the classic
// failure of nested launches. Ranks do not inherit them.
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
	// Users set these for their programs, though an outer job sets others with the same
	// prefix. MPICH's users choose PMI_VERSION.
	userPrefixes = []string{"OMPI_MCA_", "OMPI_ALLOW_", "PMIX_MCA_", "PMIX_PREFIX", "PMI_DEBUG", "PMI_VERSION", "PMI_SUBVERSION"}
	// An Open MPI launcher's own parameters.
	outerMCA = []string{
		"OMPI_MCA_ess", "OMPI_MCA_orte_", "OMPI_MCA_prte_", "OMPI_MCA_pmix",
		"OMPI_MCA_initial_wdir", "OMPI_MCA_plm", "OMPI_MCA_shmem_RUNTIME_",
	}
)

// Outer tells whether a variable belongs to the job that golaunch itself is
// run in.
func Outer(name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case slices.Contains(outerNames, name), slices.ContainsFunc(outerMCA, begins):
		return true
	case slices.ContainsFunc(userPrefixes, begins):
		return false
	}
	return slices.ContainsFunc(outerPrefixes, begins)
}

// Inherited returns the part of golaunch's environment that ranks get.
func Inherited(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		return !ok || Outer(name)
	})
}
