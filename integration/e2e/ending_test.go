package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// localJob is a job on this machine whose ranks have said that they run.
type localJob struct {
	*exec.Cmd
	stderr string // the file it goes to
	agent  int    // process id
}

// said is what golaunch has written to its standard error.
func (j *localJob) said(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(j.stderr)
	require.NoError(t, err)
	return string(b)
}

func startLocal(t *testing.T, ranks int, args ...string) *localJob {
	t.Helper()
	j := &localJob{Cmd: exec.Command(bin("golaunch"), append([]string{"-n", strconv.Itoa(ranks)}, args...)...)}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	j.Stderr, j.stderr = stderr, stderr.Name()
	out, err := j.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, j.Start())
	t.Cleanup(func() { j.Process.Kill() })
	lines := bufio.NewReader(out)
	for range ranks {
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}
	children, err := exec.Command("pgrep", "-P", strconv.Itoa(j.Process.Pid)).Output()
	require.NoError(t, err)
	j.agent, err = strconv.Atoi(strings.TrimSpace(string(children)))
	require.NoError(t, err)
	t.Cleanup(func() {
		if j.ProcessState == nil { // a test that failed
			syscall.Kill(j.agent, syscall.SIGKILL)
		}
	})
	return j
}

// ends waits for the job and checks its exit code, and that nothing is left.
func (j *localJob) ends(t *testing.T, code int) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- j.Wait() }() // ends with the job
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("golaunch does not end")
	}
	require.Equal(t, code, j.ProcessState.ExitCode(), j.said(t))
	_, err := os.Stat(fmt.Sprintf("/proc/%d", j.agent))
	require.ErrorIs(t, err, os.ErrNotExist, "the agent is gone when golaunch is")
	nothingRuns(t)
}

// tell sends golaunch a signal and waits until it answers: signals of one kind
// that come faster than they are taken are one.
func (j *localJob) tell(t *testing.T, sig syscall.Signal, answer string) {
	t.Helper()
	require.NoError(t, j.Process.Signal(sig))
	if !assert.Eventually(t, func() bool { return strings.Contains(j.said(t), answer) }, limit, time.Millisecond) {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", j.Process.Pid))
		require.FailNow(t, "no answer", "%q to %v; it said:\n%s\nits state:\n%s", answer, sig, j.said(t), state)
	}
}

// answers are those to the first, second and third demand to end the job.
var answers = []string{"golaunch: ", "told again: the ranks are killed", "told a third time: leaving"}

// A second demand to end the job does not wait for the ranks' grace.
func TestASecondSignalKills(t *testing.T) {
	for _, x := range []struct {
		signals []syscall.Signal
		code    int
	}{
		{[]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 143},
		{[]syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
		{[]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 143},
		{[]syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}, 129},
	} {
		j := startLocal(t, 2, "--grace", "1h", bin("rankprobe"), "stubborn")
		for i, sig := range x.signals {
			j.tell(t, sig, answers[i])
		}
		j.ends(t, x.code)
	}
}

// Ctrl-Z while ranks are being started stops those that come later, too.
func TestSuspensionWhileRanksStart(t *testing.T) {
	const n = 2000
	program := filepath.Join(t.TempDir(), "sleeper") // seen in the list of processes
	require.NoError(t, os.Symlink("/bin/sleep", program))
	count := func(state string) (n int) {
		for _, status := range runs(t, program) {
			if state == "" || strings.Contains(status, "State:\t"+state) {
				n++
			}
		}
		return n
	}
	cmd := exec.Command(bin("golaunch"), "-n", strconv.Itoa(n), "--nodes", "4", "--lost-after", "1h", program, "1h")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	require.Eventually(t, func() bool { return count("") > 0 }, limit, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTSTP))
	require.Eventually(t, func() bool { return state(t, cmd.Process.Pid) == "T" }, limit, time.Millisecond)
	require.Eventually(t, func() bool { return count("T") == count("") }, limit, 10*time.Millisecond, "all that run are stopped")
	t.Logf("%d of %d ranks were started", count(""), n)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return count("S") == n }, limit, 10*time.Millisecond, "all run")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, 143, cmd.ProcessState.ExitCode())
}

// An agent of this machine that is stopped ends with golaunch all the same:
// when its link counts as lost, or at once when the user wants no more.
func TestAStoppedAgentEndsWithTheJob(t *testing.T) {
	for _, x := range []struct {
		lostAfter string
		signals   int
		code      int
	}{{"2s", 1, 143}, {"1h", 3, 143}} {
		j := startLocal(t, 2, "--lost-after", x.lostAfter, "--grace", "100ms", bin("rankprobe"), "stubborn")
		require.NoError(t, syscall.Kill(j.agent, syscall.SIGSTOP))
		for _, answer := range answers[:x.signals] {
			j.tell(t, syscall.SIGTERM, answer)
		}
		j.ends(t, x.code)
	}
}

// Where too few files may be open, the message says how many are needed.
func TestTooFewDescriptors(t *testing.T) {
	as, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("skipped: root raises its limits; needs root and setpriv to be somebody else")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	for _, x := range []struct {
		limit, ranks int
		says         string
	}{
		{20, 1, "golaunch: golaunch needs 32 open files, the limit is 20; raise it (ulimit -n)\n"},
		{60, 100, ": running: the agent of 100 ranks needs 333 open files, the limit is 60; raise it (ulimit -n), or use fewer ranks per host; warden lost"},
	} {
		cmd := exec.Command(as, "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
			fmt.Sprintf("cd %s; ulimit -n %d; exec %s -n %d sleep 10", dir, x.limit, bin("golaunch"), x.ranks))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.Error(t, cmd.Run())
		require.Equal(t, 125, cmd.ProcessState.ExitCode(), stderr.String())
		require.Contains(t, stderr.String(), x.says)
	}
}
