package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
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
	told   bool   // a signal
}

// errorText returns golaunch's standard error so far.
func (j *localJob) errorText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(j.stderr)
	require.NoError(t, err)
	return string(b)
}

func startLocal(t *testing.T, ranks int, args ...string) *localJob {
	t.Helper()
	return startCommand(t, ranks, exec.Command(bin("golaunch"), append([]string{"-n", strconv.Itoa(ranks)}, args...)...))
}

// startCommand starts a job by a command that becomes golaunch.
func startCommand(t *testing.T, ranks int, cmd *exec.Cmd) *localJob {
	t.Helper()
	j := &localJob{Cmd: cmd}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	j.Stderr, j.stderr = stderr, stderr.Name()
	out, err := j.StdoutPipe()
	require.NoError(t, err)
	begin(t, j, j.Cmd)
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

// over waits for the job and checks its exit code.
func (j *localJob) over(t *testing.T, code int) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- j.Wait() }() // ends with the job
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("golaunch does not end")
	}
	require.Equal(t, code, j.ProcessState.ExitCode(), j.errorText(t))
}

// ends waits for the job and checks its exit code, and that nothing is left.
func (j *localJob) ends(t *testing.T, code int) {
	t.Helper()
	j.over(t, code)
	_, err := os.Stat(fmt.Sprintf("/proc/%d", j.agent))
	require.ErrorIs(t, err, os.ErrNotExist, "the agent is gone when golaunch is")
	nothingRuns(t)
}

// tell sends golaunch a signal and waits until it answers: signals of one kind
// that come faster than they are taken count as one, and so do those that end the job
// and come within a second, so that it is told again. If it has not answered then it is
// busy, and one more would be one too many.
func (j *localJob) tell(t *testing.T, sig syscall.Signal, answer string) {
	t.Helper()
	require.NoError(t, j.Process.Signal(sig))
	told, patience := time.Now(), 1100*time.Millisecond
	if !j.told {
		patience = busy
	}
	j.told = true
	if !assert.Eventually(t, func() bool {
		answered := strings.Contains(j.errorText(t), answer)
		if !answered && time.Since(told) > patience {
			told, patience = time.Now(), busy
			_ = j.Process.Signal(sig)
		}
		return answered
	}, limit, time.Millisecond) {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", j.Process.Pid))
		require.FailNow(t, "no answer", "%q to %v; it said:\n%s\nits state:\n%s", answer, sig, j.errorText(t), state)
	}
}

// busy bounds the time for an answer of golaunch's to a signal.
const busy = 20 * time.Second

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
		{[]syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, 130},
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

// An interrupt prints one line, however many ranks end by it.
func TestAnInterruptIsOneLine(t *testing.T) {
	j := startLocal(t, 6, "--nodes", "3", "sh", "-c", `[ $RANK != 2 ] || trap 'exit 3' INT; echo up; while :; do sleep 0.01; done`)
	require.NoError(t, j.Process.Signal(syscall.SIGINT))
	j.ends(t, 130)
	require.Regexp(t, `^golaunch: interrupting the ranks; .*\n$`, j.errorText(t))
}

// The second of two Ctrl-C at a terminal counts without a pause of a second in between.
func TestCtrlCTwice(t *testing.T) {
	terminal := exec.Command("script", "-q", "-e", "-c", bin("golaunch")+" -n 2 --grace 1h "+bin("rankprobe")+" stubborn", "/dev/null")
	keys, err := terminal.StdinPipe()
	require.NoError(t, err)
	out, err := terminal.StdoutPipe()
	require.NoError(t, err)
	begin(t, terminal, terminal)
	lines := bufio.NewReader(out)
	press := func(until string) {
		_, err := keys.Write([]byte{3})
		require.NoError(t, err)
		for {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			if strings.Contains(line, until) {
				return
			}
		}
	}
	for range 2 { // the ranks run
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}
	press("to kill them, interrupt again within 5s")
	again := time.NewTicker(50 * time.Millisecond) // one that comes too soon is the same demand
	defer again.Stop()
	stop := make(chan struct{})
	go func() { // ends with the answer
		for {
			select {
			case <-again.C:
				_, _ = keys.Write([]byte{3})
			case <-stop:
				return
			}
		}
	}()
	press("told again: the ranks are killed")
	close(stop)
	_, _ = io.Copy(io.Discard, lines)
	require.Error(t, terminal.Wait())
	require.Equal(t, 130, terminal.ProcessState.ExitCode())
	nothingRuns(t)
}

// Ranks have the time of --grace to end, and golaunch names the flag where that was too
// short, as a program that saves its state may be killed in the midst of it; not where
// ranks were to be killed at once.
//
//report:ends open-mpi/ompi#12149, open-mpi/ompi#2528 ranks that need time to end
func TestRanksThatOutliveTheGraceAreTold(t *testing.T) {
	const rank = `[ $RANK = 0 ] || trap '' TERM; echo up; while :; do sleep 0.01; done`
	j := startLocal(t, 3, "--grace", "3s", "sh", "-c", rank)
	require.NoError(t, j.Process.Signal(syscall.SIGTERM))
	j.ends(t, 143)
	require.Contains(t, j.errorText(t), "golaunch: 2 ranks had not ended 3s after SIGTERM, and were killed: --grace TIME gives more\n")
	j = startLocal(t, 2, "--grace", "1h", bin("rankprobe"), "stubborn")
	j.tell(t, syscall.SIGTERM, answers[0])
	j.tell(t, syscall.SIGTERM, answers[1])
	j.ends(t, 143)
	require.NotContains(t, j.errorText(t), "--grace")
}

// Signals that golaunch has no use for are for the ranks: the user's, quit, alarms, those
// of limits of CPU time, and real-time ones; golaunch died of some of these.
//
//report:ends open-mpi/ompi#13496, open-mpi/ompi#8672 signals to the launcher
func TestSignalsForRanks(t *testing.T) {
	const rank = `for s in USR1 USR2 ALRM VTALRM XCPU RTMIN+1 RTMIN+3 RTMAX; do trap "echo $s >>'$0'" $s; done
trap 'exit 0' QUIT; echo up; while :; do sleep 0.01; done`
	heard := filepath.Join(t.TempDir(), "heard")
	j := startLocal(t, 1, "bash", "-c", rank, heard)
	for _, x := range []struct {
		signal syscall.Signal
		name   string
	}{
		{syscall.SIGUSR1, "USR1"}, {syscall.SIGUSR2, "USR2"}, {syscall.SIGALRM, "ALRM"}, {syscall.SIGVTALRM, "VTALRM"},
		{syscall.SIGXCPU, "XCPU"}, {35, "RTMIN+1"}, {37, "RTMIN+3"}, {64, "RTMAX"},
	} {
		require.NoError(t, j.Process.Signal(syscall.SIGPROF)) // dropped
		require.NoError(t, j.Process.Signal(x.signal))
		require.Eventually(t, func() bool {
			b, _ := os.ReadFile(heard)
			return strings.HasSuffix("\n"+string(b), "\n"+x.name+"\n")
		}, limit, time.Millisecond, "%v; it said %s", x.signal, j.errorText(t))
	}
	require.NoError(t, j.Process.Signal(syscall.SIGQUIT))
	j.ends(t, 0)
}

// timeout(1) tells golaunch, and then its whole group: ranks have their grace.
func TestTimeoutLeavesRanksTheirGrace(t *testing.T) {
	const rank = `trap 'sleep 0.3; echo bye >>"$0"; exit 0' TERM; echo up; while :; do sleep 0.01; done`
	file := filepath.Join(t.TempDir(), "byes")
	cmd := exec.Command(bin("golaunch"), "-n", "2", "--grace", "1h", "sh", "-c", rank, file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j := startCommand(t, 2, cmd)
	for _, pid := range []int{j.Process.Pid, -j.Process.Pid} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	}
	j.ends(t, 143)
	byes, err := os.ReadFile(file)
	require.NoError(t, err, j.errorText(t))
	require.Equal(t, "bye\nbye\n", string(byes))
	require.NotContains(t, j.errorText(t), "again")
}

// A job of nohup, or in the background of a script, goes on when the terminal closes or
// is interrupted.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	j := startCommand(t, 1, exec.Command("sh", "-c", `trap '' HUP INT; exec "$0" -n 1 --grace 1h "$1" sleep`, bin("golaunch"), bin("rankprobe")))
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		require.NoError(t, j.Process.Signal(sig)) // taken before what follows, if at all
	}
	j.tell(t, syscall.SIGTERM, "told to terminate")
	j.ends(t, 143)
	require.NotRegexp(t, "terminal|interrupt|again", j.errorText(t))
}

// SIGHUP is the end of the terminal only where there was one.
func TestHangUpIsToldForWhatItIs(t *testing.T) {
	t.Run("no terminal", func(t *testing.T) {
		cmd := exec.Command(bin("golaunch"), "-n", "1", bin("rankprobe"), "sleep")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		j := startCommand(t, 1, cmd)
		j.tell(t, syscall.SIGHUP, "golaunch: hung up: the job is ended\n")
		j.ends(t, 129)
	})
	t.Run("its terminal closes", func(t *testing.T) {
		heard := filepath.Join(t.TempDir(), "said")
		terminal := exec.Command("script", "-q", "-c", bin("golaunch")+" -n 1 "+bin("rankprobe")+" sleep 2>"+heard, "/dev/null")
		out, err := terminal.StdoutPipe()
		require.NoError(t, err)
		begin(t, terminal, terminal)
		_, err = bufio.NewReader(out).ReadString('\n') // the rank runs
		require.NoError(t, err)
		require.NoError(t, terminal.Process.Kill())
		require.Error(t, terminal.Wait())
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(heard)
			return err == nil && string(text) == "golaunch: the terminal is gone: the job is ended\n"
		}, limit, time.Millisecond)
		nothingRuns(t)
	})
}

// nohup opens standard input for writing only.
func TestStandardInputThatCannotBeRead(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	cmd := exec.Command(bin("golaunch"), "-n", "1", "cat")
	cmd.Stdin = null
	output, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(output))
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
	begin(t, cmd, cmd)
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
	}{{"5s", 1, 143}, {"1h", 3, 143}} {
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
		limit, ranks     int
		program, message string
	}{
		{20, 1, "sleep 10", "golaunch: golaunch needs 32 open files, the limit is 20; raise it (ulimit -n)\n"},
		{60, 100, "sleep 10", ": the agent of 100 ranks needs 435 open files, the limit is 60; raise it (ulimit -n), or use fewer ranks per host; warden lost"},
		{60, 100, "sh -c 'exec sleep 10'", ": the agent of 100 ranks needs 540 open files, the limit is 60; raise it (ulimit -n), or use fewer ranks per host; warden lost"},
	} {
		cmd := exec.Command(as, "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
			fmt.Sprintf("cd %s; ulimit -n %d; exec %s -n %d %s", dir, x.limit, bin("golaunch"), x.ranks, x.program))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.Error(t, cmd.Run())
		require.Equal(t, 125, cmd.ProcessState.ExitCode(), stderr.String())
		require.Contains(t, stderr.String(), x.message)
	}
}

// A signal that comes when the job has ended, while what has brought it to its nodes
// is closed, takes nothing of the job's status.
func TestASignalAfterTheEndComesToNothing(t *testing.T) {
	dir := t.TempDir()
	wrap, report := filepath.Join(dir, "wrap"), filepath.Join(dir, "report.json")
	require.NoError(t, os.WriteFile(wrap, []byte("#!/bin/sh\n\"$@\"\nexec sleep 1000\n"), 0o700)) // Close waits for it
	cmd := exec.Command(bin("golaunch"), "-H", "localhost", "--bootstrap", "exec", "--exec-command", wrap+" {command}",
		"--report", report, "-n", "1", "sh", "-c", "exit 7")
	begin(t, cmd, cmd)
	require.Eventually(t, func() bool {
		info, err := os.Stat(report) // it is the last that is done before
		return err == nil && info.Size() > 0
	}, limit, time.Millisecond)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		require.NoError(t, cmd.Process.Signal(sig))
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, 7, cmd.ProcessState.ExitCode(), cmd.ProcessState.String())
}
