package overlay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/stage"
)

// runSweep runs the script for a job as a host's shell would.
func runSweep(t *testing.T, job string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", sweepScript(), "golaunch", job)
	cmd.Env = append(os.Environ(), env...)
	require.NoError(t, cmd.Run())
}

// The script ends what carries the job's name, and nothing else, and removes the
// job's files.
func TestSweepScript(t *testing.T) {
	job := fmt.Sprintf("3.%d.%d", os.Getpid(), time.Now().UnixNano())
	sleep := func(name string) *exec.Cmd {
		cmd := exec.Command("sleep", "600")
		cmd.Env = append(os.Environ(), "GOLAUNCH_JOB="+name)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		// The kernel shows an environment a moment after a program was executed.
		require.Eventually(t, func() bool {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
			return err == nil && bytes.Contains(env, []byte("GOLAUNCH_JOB="+name+"\x00"))
		}, time.Minute, time.Millisecond)
		return cmd
	}
	ours, others := sleep(job), sleep("1"+job)
	place := t.TempDir()
	files := filepath.Join(place, stage.ScratchPrefix+job+"-RANDOM")
	require.NoError(t, os.Mkdir(files, 0o700))

	runSweep(t, job, "XDG_RUNTIME_DIR="+place)
	_ = ours.Wait() // the state tells
	require.Equal(t, syscall.SIGKILL, ours.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.NoError(t, others.Process.Signal(syscall.Signal(0)), "another job's")
	require.NoDirExists(t, files)
}

// The script ends, though something does not die: nobody may be left to end it.
func TestSweepScriptGivesUp(t *testing.T) {
	dead := exec.Command("true") // may be killed for ever, until it is waited for
	require.NoError(t, dead.Start())
	t.Cleanup(func() { _ = dead.Wait() })
	bin := t.TempDir()
	grep := fmt.Sprintf("#!/bin/sh\necho /proc/%d/environ\n", dead.Process.Pid)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "grep"), []byte(grep), 0o700))
	runSweep(t, "3.none", "PATH="+bin+":"+os.Getenv("PATH"))
}
