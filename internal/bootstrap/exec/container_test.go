package execboot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	execboot "github.com/golaunch/golaunch/internal/bootstrap/exec"
)

// Commands that enter a container are known by the engine and its exec or run, whatever runs it.
func TestContainer(t *testing.T) {
	for command, want := range map[string]bool{
		"docker exec -i {host} {command}":                      true,
		"sudo docker -H tcp://e exec -u 1 -i {host} {command}": true,
		"ssh head 'docker exec -i {host} {command}'":           true,
		"/opt/bin/nerdctl exec -i {host} {command}":            true,
		"ctr tasks exec --exec-id g {host} {command}":          true,
		"/etc/mpi/kubexec.sh {host} '{command}'":               true,
		"ssh {host} {command}":                                 false,
		"nsenter --target {host} --mount {command}":            false,
		"env {command} docker exec":                            false,
		"docker run -i {host} {command}":                       true,
	} {
		require.Equal(t, want, execboot.Kind().Container(bootstrap.Values{"exec-command": command}), command)
	}
	for _, k := range []bootstrap.Kind{execboot.Docker(), execboot.Podman(), execboot.Kubectl()} {
		require.True(t, k.Container(nil), k.Name)
	}
	for _, k := range []bootstrap.Kind{execboot.Srun(), execboot.LSF(), execboot.PBS()} {
		require.False(t, k.Container(nil), k.Name)
	}
}
