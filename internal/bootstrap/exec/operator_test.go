package execboot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// The environments in which the mpi-operator starts a launcher's pod.
func TestOperators(t *testing.T) {
	for _, x := range []struct {
		environ map[string]string
		want    string
	}{
		{map[string]string{"OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile", "OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh"}, "/etc/mpi/kubexec.sh {host} '{command}'"},
		{map[string]string{"HYDRA_HOST_FILE": "h", "HYDRA_LAUNCHER_EXEC": "/etc/mpi/kubexec.sh"}, "/etc/mpi/kubexec.sh {host} '{command}'"},
		{map[string]string{"I_MPI_HYDRA_HOST_FILE": "h", "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh"}, "/etc/mpi/kubexec.sh {host} '{command}'"},
		{map[string]string{"HYDRA_HOST_FILE": "h", "HYDRA_LAUNCHER_EXEC": "/k.sh", "HYDRA_LAUNCHER_EXTRA_ARGS": " -v  -x"}, "/k.sh -v -x {host} '{command}'"},
		{map[string]string{"HYDRA_HOST_FILE": "h", "HYDRA_LAUNCHER_EXEC": "/usr/bin/ssh -q"}, ""},
		{map[string]string{"HYDRA_HOST_FILE": "h"}, ""},
		{map[string]string{"OMPI_MCA_plm_rsh_agent": "rsh"}, ""}, // a user's habit, of no operator
		{nil, ""},
	} {
		got := fromOperator(func(name string) string { return x.environ[name] })
		if x.want == "" {
			require.Nil(t, got, "%v", x.environ)
			continue
		}
		require.Equal(t, bootstrap.Values{commandOption: x.want}, got)
		require.NoError(t, check(got))
	}
}
