package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolsAreNamedWithTheirPackage(t *testing.T) {
	for tool, name := range map[string]string{"debootstrap": "debootstrap", "sshd": "openssh-server", "unshare": "util-linux"} {
		require.Equal(t, name, debianPackage(tool))
	}
}
