package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTutorial runs the commands of docs/tutorial.md, one after the other, where they
// find golaunch and its sources.
func TestTutorial(t *testing.T) {
	needMPI(t)
	needBuilt(t, "lib/golaunch/libprofile-mpich.so", "libmpich-dev")
	page, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	native, err := filepath.Abs("../../native")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(native, filepath.Join(dir, "native")))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	commands := 0
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		commands++
		cmd := exec.CommandContext(ctx, "sh", "-c", strings.TrimSpace(command))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+built+":"+os.Getenv("PATH"))
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s%s", command, output)
	}
	require.Equal(t, 10, commands)
	require.FileExists(t, filepath.Join(dir, "stencil.html"))
}
