package execboot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// gridEngine returns a directory with programs of Grid Engine's, whose qconf says what is
// given, and the environment of a job on two hosts.
func gridEngine(t *testing.T, qconf string) func(string) string {
	t.Helper()
	root := t.TempDir()
	programs := filepath.Join(root, "bin", "lx-amd64")
	require.NoError(t, os.MkdirAll(programs, 0o755))
	for name, text := range map[string]string{"qrsh": "exit 0", "qconf": qconf} {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	hosts := filepath.Join(root, "pe_hostfile")
	require.NoError(t, os.WriteFile(hosts, []byte("n001 2 all.q@n001 UNDEFINED\nn002 2 all.q@n002 UNDEFINED\n"), 0o644))
	environ := map[string]string{"JOB_ID": "7", "SGE_ROOT": root, "ARC": "lx-amd64", "PE": "mpi", "PE_HOSTFILE": hosts}
	return func(name string) string { return environ[name] }
}

func TestSGEServes(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin") // in which there is no qrsh
	both := []job.Host{{Name: "n001"}, {Name: "n002"}}
	for _, x := range []struct {
		name, qconf string
		without     string // variable
		hosts       []job.Host
		want        bool
		why         string
	}{
		{name: "slaves are controlled", qconf: "echo pe_name $2; echo control_slaves TRUE", hosts: both, want: true},
		{name: "they are not", qconf: "echo control_slaves FALSE", hosts: both},
		{name: "this host may not ask", qconf: "echo denied >&2; exit 1", hosts: both, want: true},
		{name: "an unknown environment", without: "PE", hosts: both, want: true},
		{name: "no job", without: "JOB_ID", hosts: both},
		{name: "no parallel one", without: "PE_HOSTFILE", hosts: both},
		{name: "no qrsh", without: "ARC", hosts: both, why: "qrsh is neither in PATH nor in $SGE_ROOT/bin/$ARC; --bootstrap ssh does without"},
		{name: "other hosts", hosts: []job.Host{{Name: "n001"}, {Name: "n003"}}, why: ": host n003 is not of this job's allocation"},
		{name: "another user", hosts: []job.Host{{Name: "n002", User: "joe"}}, why: ": host n002 has a user or a port, of which qrsh knows nothing"},
	} {
		t.Run(x.name, func(t *testing.T) {
			getenv := gridEngine(t, x.qconf)
			without := func(name string) string {
				if name == x.without {
					return ""
				}
				return getenv(name)
			}
			serves, why := sgeServes(without, x.hosts)
			require.Equal(t, x.want, serves)
			require.Equal(t, x.why, why)
		})
	}
}

// The host where the launcher is needs no command, the others do.
func TestHereWithoutTheTemplate(t *testing.T) {
	t.Parallel()
	template, err := Parse("/opt/qrsh -inherit {host} '{command}'")
	require.NoError(t, err)
	p := New(Config{Template: template, Here: "n001"})
	words, err := p.expand(bootstrap.Host{Name: "n001"}, []string{"echo", "a b"})
	require.NoError(t, err)
	require.Equal(t, []string{"echo", "a b"}, words)
	words, err = p.expand(bootstrap.Host{Name: "n002"}, []string{"echo", "a b"})
	require.NoError(t, err)
	require.Equal(t, []string{"/opt/qrsh", "-inherit", "n002", "echo 'a b'"}, words)
}
