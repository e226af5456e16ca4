package execboot

import (
	"path"
	"strings"

	"github.com/golaunch/golaunch/bootstrap"
)

// operator is how an MPI library's launcher is told, by its environment, which
// hosts there are and what reaches them: the mpi-operator of Kubeflow starts the
// launcher's pod so. Both have to be set.
type operator struct{ hosts, agent string }

var operators = []operator{
	{"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent"},
	{"PRTE_MCA_prte_default_hostfile", "PRTE_MCA_plm_ssh_agent"},
	{"HYDRA_HOST_FILE", "HYDRA_LAUNCHER_EXEC"},
	{"I_MPI_HYDRA_HOST_FILE", "I_MPI_HYDRA_BOOTSTRAP_EXEC"},
}

// fromOperator is the command that an operator has for reaching hosts. It is called
// as ssh is: with a host, and a command in one word. Where it is ssh, nothing is
// selected.
func fromOperator(getenv func(string) string) bootstrap.Values {
	for _, o := range operators {
		agent := getenv(o.agent)
		if getenv(o.hosts) == "" || agent == "" {
			continue
		}
		words := strings.Fields(agent)
		if len(words) == 0 || path.Base(words[0]) == "ssh" {
			return nil
		}
		return bootstrap.Values{commandOption: agent + " {host} '{command}'"}
	}
	return nil
}
