package proc

import (
	"bufio"
	"context"
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

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// helps starts a helper that runs a script, and waits until it has said a line.
func (f *fixture) helps(n int, script string) (pid int, line string) {
	f.t.Helper()
	require.NoError(f.t, f.Help(Helper{Number: n, Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}))
	f.until("the helper", func() bool { return f.helpers[n].PID > 0 || f.helped[n].Text != "" })
	h := f.helpers[n]
	require.NotZero(f.t, h.PID, f.helped[n].Text)
	out := collect(h.Output)
	f.t.Cleanup(out.close)
	require.Eventually(f.t, func() bool { return lines(1)(out.String()) }, patience, time.Millisecond)
	return h.PID, strings.TrimSpace(out.String())
}

const sleeper = "trap '' TERM USR1; echo ready; sleep 1000 & wait; wait"

// A helper and the agent talk over a socket; its output comes over one pipe.
func TestHelperTalks(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		before := openFiles(t)
		f := begin(t, o)
		require.NoError(t, f.Help(Helper{Number: 7, Env: []string{"PATH=/usr/bin:/bin", "MINE=yes", jobVariable + "=other"}, Argv: []string{"/bin/sh", "-c",
			`read word <&3; echo "$word $MINE $GOLAUNCH_JOB $(pwd) $(umask)" >&3; cat; echo last words >&2; exit 9`}}))
		f.until("the start", func() bool { return f.helpers[7].PID > 0 })
		h := f.helpers[7]
		out, socket := collect(h.Output), os.NewFile(uintptr(h.Socket), "helper")
		_, err := socket.WriteString("hello\n")
		require.NoError(t, err)
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(patience)))
		line, err := bufio.NewReader(socket).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "hello yes "+f.opts.JobID+".1 / 0077\n", line)
		f.until("the end", func() bool { return f.helped[7].PID == h.PID })
		require.Equal(t, HelperEnded{Job: job.Cold, Number: 7, PID: h.PID, Status: exitStatus(9)}, f.helped[7])
		<-out.done
		require.Equal(t, "last words\n", out.String())
		socket.Close()
		delete(f.helpers, 7)
		out.close()
		f.finishes()
		f.Close()
		// The collector may have closed descriptors of an earlier test by now.
		require.LessOrEqual(t, openFiles(t), before)
	})
}

func TestHelperFails(t *testing.T) {
	f := begin(t, Options{})
	require.Error(t, f.Help(Helper{}))
	require.Error(t, f.Help(Helper{Argv: []string{"a\x00b"}}))
	require.Error(t, f.Help(Helper{Argv: []string{"a"}, Env: []string{"a\x00b"}}))
	require.NoError(t, f.Help(Helper{Number: 1, Argv: []string{"/no/such"}}))
	f.until("word", func() bool { return f.helped[1].Text != "" })
	require.Contains(t, f.helped[1].Text, "program not found: /no/such")
	require.False(t, f.helped[1].Provoked)
	require.Zero(t, f.helped[1].PID)
	f.finishes()
}

// A helper does not hear the signals of ranks; it is there as long as one of them, and
// ends with their leftovers.
func TestHelperIsNoRank(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		f := begin(t, o)
		pid, _ := f.helps(1, "echo ready; exec sleep 1000")
		f.shell("trap 'exit 3' TERM; trap : USR1; echo ready; while :; do sleep 1000 & wait; done")
		f.says(0, lines(1))
		for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGSTOP, syscall.SIGCONT} {
			require.NoError(t, f.Signal(s))
		}
		if f.cgroup != "" {
			require.Equal(t, f.cgroup+"/1", cgroupOf(t, pid))
		}
		require.NoError(t, f.Kill(time.Hour)) // but for the rank it would last so long
		f.until("the rank", func() bool { return len(f.exited) == 1 })
		require.Equal(t, exitStatus(3), f.exited[0].Status)
		f.until("gone", func() bool { return len(f.gone) == 1 })
		require.Equal(t, syscall.SIGKILL, f.helped[1].Status.Signal())
		require.True(t, f.helped[1].Provoked)
		require.False(t, alive(pid))

		next, _ := f.helps(2, "echo ready; exec sleep 1000") // for a later world
		f.finishes()
		require.False(t, alive(next))
		require.True(t, f.helped[2].Provoked)
	})
}

// A helper that was asked for while the job is killed starts afterwards, and not at
// all if that is the end.
func TestHelperAndTheKill(t *testing.T) {
	f := begin(t, Options{})
	f.shell("trap '' TERM; echo ready; sleep 1000")
	f.says(0, lines(1))
	require.NoError(t, f.Kill(time.Hour))
	require.NoError(t, f.Help(Helper{Number: 1, Argv: []string{"/bin/sleep", "1000"}}))
	require.NoError(t, f.Kill(0))
	f.until("word", func() bool { return f.helped[1].Text != "" })
	require.True(t, f.helped[1].Provoked)
	require.NoError(t, f.Help(Helper{Number: 2, Argv: []string{"/bin/sleep", "1000"}}))
	f.until("the start", func() bool { return f.helpers[2].PID > 0 })
	require.Len(t, f.gone, 1)
	f.finishes()
}

// A helper is started while the ranks are stopped, and with limits that are not theirs.
func TestHelperGetsNotTheRanksLimits(t *testing.T) {
	const nofile = 7
	f := begin(t, Options{})
	require.NoError(t, f.Launch(Spec{Umask: 0o777, Rlimits: []Rlimit{{Resource: nofile, Cur: 20, Max: unix.Unlimited}},
		Apps: []App{{Argv: []string{"/bin/sh", "-c", "echo ready; exec sleep 1000"}}}}, []Child{{}}))
	f.says(0, lines(1))
	require.NoError(t, f.Signal(syscall.SIGSTOP))
	require.NoError(t, f.Help(Helper{Number: 1, Files: 300, Argv: []string{"/bin/sh", "-c", "ulimit -n; umask"}}))
	f.until("the end", func() bool { return f.helped[1].PID > 0 })
	out := collect(f.helpers[1].Output)
	<-out.done
	require.Equal(t, "300\n0077\n", out.String())
	out.close()
	require.NoError(t, f.Signal(syscall.SIGCONT))
	require.NoError(t, f.Kill(0))
	f.finishes()
}

// A helper whose executable is in the agent's memory, run by the warden itself and by a
// dynamic loader.
func TestHelperFromMemory(t *testing.T) {
	contents, err := os.ReadFile("/bin/echo")
	require.NoError(t, err)
	file, err := unix.MemFile("golaunch-pmix", contents)
	require.NoError(t, err)
	defer file.Close()
	path := unix.DescriptorPath(file)
	loader := interpreter(t, "/bin/echo")
	f := begin(t, Options{})
	for n, argv := range [][]string{{path, "--fd", "3"}, {loader, "--library-path", filepath.Dir(loader), path, "--fd", "3"}} {
		require.NoError(t, f.Help(Helper{Number: n, Argv: argv}))
		f.until("the end", func() bool { _, ended := f.helped[n]; return ended })
		require.Equal(t, exitStatus(0), f.helped[n].Status, f.helped[n].Text)
		out := collect(f.helpers[n].Output)
		<-out.done
		require.Equal(t, "--fd 3\n", out.String())
		out.close()
	}
	f.finishes()
}

// interpreter is the dynamic loader of a program.
func interpreter(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `ldd "$1" | grep -o '/[^ ]*ld[^ ]*'`, "sh", program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.Fields(string(out))[0]
}

// The warden dies, or its agent does, or both: no helper is left.
func TestHelperOutlivesNobody(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		f := begin(t, o)
		pid, _ := f.helps(1, sleeper)
		require.NoError(t, syscall.Kill(f.PID(), syscall.SIGKILL))
		require.ErrorIs(t, f.step(), ErrLost)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, f.Sweep(ctx, nil))
		assert.False(t, alive(pid))
	})
	for name, both := range map[string]bool{"the agent": false, "both": true} {
		t.Run(name, func(t *testing.T) {
			agent, list := startHelped(t)
			require.NoError(t, agent.Process.Kill())
			if both {
				require.NoError(t, syscall.Kill(list[0], syscall.SIGKILL))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				require.NoError(t, Sweep(ctx, SweepOptions{JobID: helpedJob}))
			}
			requireDead(t, list...)
		})
	}
}

// helpedJob is the job of helpedAgent.
const helpedJob = "helped-job"

// startHelped runs helpedAgent in a process of its own, and returns the pids of warden
// and helper.
func startHelped(t *testing.T) (agent *exec.Cmd, list []int) {
	t.Helper()
	agent = exec.Command("/proc/self/exe", helperWord, "helped")
	agent.Stderr = os.Stderr
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	text := bufio.NewReader(out)
	for range 2 {
		line, err := text.ReadString('\n')
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err, line)
		list = append(list, pid)
	}
	return agent, list
}
