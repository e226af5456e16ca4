package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

// Hosts of which nothing was heard have no agent, or one of them was lost, which is another
// thing, and ends the job for all.
func TestHostsOfWhichNothingWasHeard(t *testing.T) {
	hosts := []job.Host{{Name: "n1"}, {Name: "n2"}}
	for said, want := range map[string]string{
		"golaunch: 1 of 2 hosts could not be started:\ngolaunch:   host n2: no such host\n": "n[1-2]\n  problem    no agent could be started\n             host n2: no such host\n",
		"golaunch: host n2 (rank 1): warden lost (pid 32): exit status 2\ngolaunch: 1 other rank was ended\n": "n[1-2]\n" +
			"  problem    nothing was found out: the job ended before, with the loss of a host\n             host n2 (rank 1): warden lost (pid 32): exit status 2\n",
	} {
		text, problems, err := diagnoses("", said, hosts, time.Now(), time.Now())
		require.NoError(t, err)
		require.True(t, problems)
		require.Equal(t, want, text)
	}
}

// The rank that looks around takes no slots of an allocation, which other golaunch may use.
// It misses the directory of the call nowhere but where it would run in it: in no container,
// whatever names these.
func TestDoctorJob(t *testing.T) {
	pods := filepath.Join(t.TempDir(), "hostfile")
	require.NoError(t, os.WriteFile(pods, []byte("w-0 slots=1\nw-1 slots=1\n"), 0o600))
	for name, x := range map[string]struct {
		variables []string
		flags     []string
		hosts     int
		contained bool
	}{
		"this machine":            {nil, nil, 0, false},
		"an allocation":           {[]string{"SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=4(x2)"}, nil, 2, false},
		"an operator's pods":      {[]string{"OMPI_MCA_orte_default_hostfile=" + pods, "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh"}, nil, 2, true},
		"Hydra's variable":        {[]string{"HYDRA_LAUNCHER=docker"}, []string{"--hosts=a,b"}, 2, true},
		"a flag":                  {nil, []string{"--hosts=a,b", "--bootstrap=docker"}, 2, true},
		"a flag and the variable": {[]string{"HYDRA_LAUNCHER=docker"}, []string{"--hosts=a,b", "--bootstrap=ssh"}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kv := range x.variables {
				variable, value, _ := strings.Cut(kv, "=")
				t.Setenv(variable, value)
			}
			o, err := doctorJob(env{stdio: launcher.IO{Stderr: io.Discard}}, x.flags)
			require.NoError(t, err)
			require.Len(t, o.Hosts.List, x.hosts)
			require.Nil(t, o.Hosts.Allocation)
			want, err := os.Getwd()
			require.NoError(t, err)
			if x.contained {
				want = ""
			}
			require.Equal(t, want, o.Programs.Apps[0].Argv[2])
		})
	}
}
