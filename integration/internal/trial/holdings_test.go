package trial

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

func TestAdded(t *testing.T) {
	before := Holdings{"n001": {"file /tmp/a": true, "mount /tmp": true}, "n002": {}}
	now := Holdings{"n002": {"cgroup /c": true}, "n001": {"file /tmp/a": true, "file /tmp/c": true, "file /tmp/b": true}, "n003": {"file /tmp/x": true}}
	require.Equal(t, []string{"n001: file /tmp/b", "n001: file /tmp/c", "n002: cgroup /c"}, now.Added(before))
	require.Empty(t, now.Added(now))
}

// Mounts that all of this machine's users see are not the job's.
func TestMountsOfTheMachineAreNobodys(t *testing.T) {
	h := Holdings{"n001": {"mount /": true, "mount /a\\040b": true, "mount /job": true, "file /a": true}}
	h.without([]byte("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /a\\040b rw shared:2 - tmpfs none rw\nshort\n"))
	require.Equal(t, Holdings{"n001": {"mount /job": true, "file /a": true}}, h)
}

// Files that machines share with this one are passed over, also below /tmp.
func TestWhatIsSharedIsNobodys(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	shared, err := os.MkdirTemp("/tmp", "shared")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(shared) })
	c, err := cluster.Up(t.Context(), cluster.Config{Dir: filepath.Join(t.TempDir(), "c"), Nodes: 1, Share: []string{shared}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Down(context.WithoutCancel(t.Context()))) }()
	before, err := Inventory(c)
	require.NoError(t, err)
	out, err := c.Command("n001", "touch", filepath.Join(shared, "report"), "/tmp/own", "/dev/shm/own").CombinedOutput()
	require.NoError(t, err, string(out))
	now, err := Inventory(c)
	require.NoError(t, err)
	require.Equal(t, []string{"n001: file /dev/shm/own", "n001: file /tmp/own"}, now.Added(before))
}
