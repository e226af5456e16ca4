package hostlist

// Operator names the variables by which an MPI library's launcher is told its hosts and
// the command that reaches them: the mpi-operator of Kubeflow starts the launcher's pod
// so.
type Operator struct {
	Hosts string // a host file
	Agent string // the command that reaches a host; called as ssh is
	Args  string // arguments before the host, as -o ConnectionAttempts=10
}

// Operators are the ways of the MPI libraries, in the order in which they count.
var Operators = []Operator{
	{"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_rsh_args"},
	{"PRTE_MCA_prte_default_hostfile", "PRTE_MCA_plm_ssh_agent", "PRTE_MCA_plm_ssh_args"},
	{"HYDRA_HOST_FILE", "HYDRA_LAUNCHER_EXEC", "HYDRA_LAUNCHER_EXTRA_ARGS"},
	{"I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"},
}
