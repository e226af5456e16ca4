package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// The head says so where no node has come up.
func TestComposeWithoutNodes(t *testing.T) {
	if _, err := os.Stat("/cluster"); err == nil {
		t.Skip("skipped: there is a /cluster here")
	}
	out, err := exec.Command("../../deploy/node.sh", "golaunch", "hostname").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "node.sh: no node is up: ")
}

// deploy/compose.yaml makes a cluster whose nodes are found by names that its own
// network alone resolves, and reached by ssh.
func TestCompose(t *testing.T) {
	needEngine(t)
	compose, err := cluster.ComposeCommand()
	require.NoError(t, err)
	name := containerName()
	// Parts of the image: golaunch as it was built for the tests.
	dir := t.TempDir()
	for from, to := range map[string]string{
		bin("golaunch"): "bin/golaunch", "../../deploy/node.sh": "deploy/node.sh", "../../deploy/Dockerfile": "deploy/Dockerfile",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o755))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin/lib/golaunch"), 0o755))
	engine(t, "build", "--quiet", "--build-arg", "BASE="+cluster.NodeImage, "--file", filepath.Join(dir, "deploy/Dockerfile"), "--tag", name, dir)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "--force", name).Run() })

	run := func(args ...string) (string, error) {
		cmd := exec.Command(compose[0], append(compose[1:], append([]string{"--file", "../../deploy/compose.yaml", "--project-name", name}, args...)...)...)
		cmd.Env = append(os.Environ(), "GOLAUNCH_IMAGE="+name)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Cleanup(func() {
		out, err := run("down", "--volumes", "--timeout", "1")
		require.NoError(t, err, out)
	})
	out, err := run("up", "--no-build", "--detach", "--scale", "node=3")
	require.NoError(t, err, out)
	// All three are waited for; one that was killed is no node any more.
	for _, nodes := range []int{3, 2} {
		out, err = run("exec", "-T", "-e", fmt.Sprint("NODES=", nodes), "head", "node.sh", "golaunch", "--ppn", "2", "hostname")
		require.NoError(t, err, out)
		names := strings.Fields(out)
		slices.Sort(names)
		require.Len(t, names, 2*nodes, out)
		require.Len(t, slices.Compact(slices.Clone(names)), nodes, "two ranks on each: %s", out)
		if nodes == 3 {
			engine(t, "kill", names[0])
			engine(t, "wait", names[0]) // its name goes with its end
		}
	}
}
