package trial

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdded(t *testing.T) {
	before := Holdings{"n001": {"file /tmp/a": true, "mount /tmp": true}, "n002": {}}
	now := Holdings{"n002": {"cgroup /c": true}, "n001": {"file /tmp/a": true, "file /tmp/c": true, "file /tmp/b": true}, "n003": {"file /tmp/x": true}}
	require.Equal(t, []string{"n001: file /tmp/b", "n001: file /tmp/c", "n002: cgroup /c"}, now.Added(before))
	require.Empty(t, now.Added(now))
}

// What all of this machine's users see is not the job's.
func TestMountsOfTheMachineAreNobodys(t *testing.T) {
	h := Holdings{"n001": {"mount /": true, "mount /a\\040b": true, "mount /job": true, "file /a": true}}
	h.without([]byte("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /a\\040b rw shared:2 - tmpfs none rw\nshort\n"))
	require.Equal(t, Holdings{"n001": {"mount /job": true, "file /a": true}}, h)
}
