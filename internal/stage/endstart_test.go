package stage_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/stage"
)

// The magic of a start finds its process, and not who looks for it.
func TestEndStart(t *testing.T) {
	first, second := strings.Repeat("a", 16), strings.Repeat("b", 16)
	found := exec.Command("sleep", "1000")
	found.Args[0] = "agent --installed " + first + " " + second
	other := exec.Command("sleep", "1000")
	other.Args[0] = "agent --end-start " + second + " " + first
	for _, c := range []*exec.Cmd{found, other} {
		require.NoError(t, c.Start())
		defer func() {
			_ = c.Process.Kill() // it may have ended
			_ = c.Wait()
		}()
		// The kernel shows a command line a moment after a program was executed.
		require.Eventually(t, func() bool {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.Process.Pid))
			return err == nil && strings.HasPrefix(string(line), c.Args[0])
		}, patience, time.Millisecond)
	}
	require.NoError(t, stage.EndStart(second+" "+first))
	require.ErrorContains(t, found.Wait(), "killed")
	require.NoError(t, other.Process.Signal(syscall.Signal(0)), "it lives")
	for _, word := range []string{"", first, first + " ", "a b"} {
		require.ErrorContains(t, stage.EndStart(word), "two halves of the magic are needed")
	}
}

// Files that a job has left go, and nothing else.
func TestRemoveScratch(t *testing.T) {
	place := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", place)
	for name, mode := range map[string]os.FileMode{
		stage.ScratchPrefix + "0.job-A": 0o700, stage.ScratchPrefix + "0.job-B": 0o777, stage.ScratchPrefix + "1.job-A": 0o700,
	} {
		require.NoError(t, os.Mkdir(filepath.Join(place, name), 0o700))
		require.NoError(t, os.Chmod(filepath.Join(place, name), mode))
	}
	stage.RemoveScratch("0.job")
	require.NoDirExists(t, filepath.Join(place, stage.ScratchPrefix+"0.job-A"))
	require.DirExists(t, filepath.Join(place, stage.ScratchPrefix+"0.job-B"), "others may have made it")
	require.DirExists(t, filepath.Join(place, stage.ScratchPrefix+"1.job-A"), "another node's")
}
