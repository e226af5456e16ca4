package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// stalled starts a local job whose output nobody reads yet.
func stalled(t *testing.T, args ...string) (cmd *exec.Cmd, output *os.File, stderr *bytes.Buffer) {
	t.Helper()
	output, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { output.Close() })
	cmd, stderr = exec.Command(bin("golaunch"), args...), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = w, stderr
	begin(t, cmd, cmd)
	w.Close()
	return cmd, output, stderr
}

// A reader that stalls stops nothing but output: fences and gets go on, and
// when it reads on, nothing is lost.
func TestAStalledReaderHoldsUpOutputOnly(t *testing.T) {
	const ranks, flood = 16, 2_000_000
	dir := t.TempDir()
	script := fmt.Sprintf("%s flood %d & %s -q -n 20; touch %s/$RANK; wait", bin("rankprobe"), flood, bin("pmiclient"), dir)
	cmd, output, stderr := stalled(t, "-n", fmt.Sprint(ranks), "--nodes", "4", "--degree", "2", "sh", "-c", script)
	require.Eventually(t, func() bool {
		done, err := filepath.Glob(dir + "/*")
		require.NoError(t, err)
		return len(done) == ranks
	}, limit, 10*time.Millisecond, "PMI went through")
	text, err := io.ReadAll(output)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), stderr.String())
	require.GreaterOrEqual(t, len(text), ranks*flood)
	for line := range strings.Lines(string(text)) {
		require.True(t, strings.HasPrefix(line, "rank ") && strings.HasSuffix(line, "\n"), "%.80q", line)
	}
}

func TestAStalledReaderDoesNotKeepAJobAlive(t *testing.T) {
	cmd, _, stderr := stalled(t, "-n", "16", "--nodes", "4", "--degree", "2", bin("rankprobe"), "flood", "0")
	require.Eventually(t, func() bool { return blocked(t, cmd.Process.Pid) }, limit, 10*time.Millisecond, "golaunch waits for its reader")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	err := cmd.Wait()
	require.Error(t, err)
	require.Equal(t, 143, cmd.ProcessState.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), "nobody reads the output")
	nothingRuns(t)
}

// blocked reports whether a thread of the process waits in write on a pipe.
func blocked(t *testing.T, pid int) bool {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		// write is system call 1 on amd64 and 64 on arm64.
		if b, err := os.ReadFile(task); err == nil && (strings.HasPrefix(string(b), "1 0x1 ") || strings.HasPrefix(string(b), "64 0x1 ")) {
			return true
		}
	}
	return false
}

// nothingRuns waits until no process of this machine runs golaunch or rankprobe,
// as a job here has left nothing.
func nothingRuns(t *testing.T) {
	t.Helper()
	var left []string
	cluster.Eventually(limit, func() bool {
		left = runs(t, bin("golaunch"), bin("rankprobe"))
		return len(left) == 0
	})
	require.Empty(t, left)
}

// runs describes the processes of this machine that run one of the programs.
func runs(t *testing.T, programs ...string) (found []string) {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range commands {
		b, err := os.ReadFile(file)
		if err != nil { // it has ended
			continue
		}
		for _, program := range programs {
			if bytes.HasPrefix(b, []byte(program+"\x00")) {
				status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
				found = append(found, fmt.Sprintf("%q\n%s", b, status))
			}
		}
	}
	return found
}

// A stopped warden does nothing, told to or not: its agent ends it, and its ranks.
func TestAStoppedWardenEndsWithTheJob(t *testing.T) {
	for _, x := range []struct {
		name    string
		args    []string
		signal  bool
		code    int
		message string
	}{
		{"told to end", []string{"--grace", "100ms"}, true, 143, ""},
		{"running", []string{"--lost-after", "5s"}, false, 125, "the warden was silent for "},
	} {
		t.Run(x.name, func(t *testing.T) {
			j := startLocal(t, 4, append(x.args, "--nodes", "2", bin("rankprobe"), "stubborn")...)
			require.NoError(t, syscall.Kill(wardenOf(t, bin("rankprobe")+" stubborn"), syscall.SIGSTOP))
			if x.signal {
				require.NoError(t, j.Process.Signal(syscall.SIGTERM))
			}
			j.ends(t, x.code)
			require.Contains(t, j.errorText(t), x.message)
		})
	}
}

// wardenOf finds a warden whose rank has this command line.
func wardenOf(t *testing.T, command string) (pid int) {
	t.Helper()
	ranks, err := exec.Command("pgrep", "-x", "-f", command).Output()
	require.NoError(t, err)
	for _, rank := range strings.Fields(string(ranks)) {
		b, err := os.ReadFile("/proc/" + rank + "/stat")
		require.NoError(t, err)
		_, err = fmt.Sscan(strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))[1], &pid)
		require.NoError(t, err)
		if words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(words, []byte("nla-warden")) {
			return pid
		}
	}
	t.Fatal("no warden")
	return 0
}

// A user at a terminal sees a prompt; a program that reads the output gets whole lines,
// however slowly they are written, with one label each.
//
//report:io ExaWorks/psij-python#510, open-mpi/ompi#6948 the beginning of a line, and its end later
func TestPrompts(t *testing.T) {
	command := fmt.Sprintf("%s -n 2 --nodes 2 %s -r 0 partial 'name? ' 1000000", bin("golaunch"), bin("rankprobe"))
	terminal := exec.Command("script", "-q", "-e", "-c", command, "/dev/null") // gives it a terminal
	out, err := terminal.StdoutPipe()
	require.NoError(t, err)
	begin(t, terminal, terminal)
	var seen []byte
	for one := make([]byte, 1); !bytes.HasSuffix(seen, []byte("name? ")); seen = append(seen, one...) { // behind the progress of a slow start
		_, err = io.ReadFull(out, one)
		require.NoError(t, err, "%q", seen)
	}
	require.NoError(t, terminal.Process.Signal(syscall.SIGTERM))
	_, err = io.Copy(io.Discard, out) // to its end
	require.NoError(t, err)
	require.NoError(t, terminal.Wait())

	for flag, want := range map[string][]string{"-q": {"rank 0 waited", "rank 1 waited"}, "-l": {"[0] rank 0 waited", "[1] rank 1 waited"}} {
		r := local(t, "", "-n", "2", "--nodes", "2", flag, "sh", "-c", "printf 'rank %s ' $RANK; sleep 0.3; echo waited")
		require.ElementsMatch(t, want, r.lines(), r.stderr)
	}
}
