package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/cgroups"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// stubborn is a script that leaves processes behind which are hard to get rid
// of, and prints their pids: they ignore SIGTERM, have sessions of their own,
// are orphans, and the last has an empty environment. Shells print theirs when
// they are ready.
const stubborn = `
trap "" TERM HUP
setsid sh -c 'echo $$; exec sleep 1000' &
(setsid sh -c '(echo $(exec sh -c "echo \$PPID"); exec sleep 1000) & exit 0' &) 
env -i /usr/bin/setsid /bin/sh -c '/bin/sh -c "echo \$\$; exec /bin/sleep 1000" & exit 0' &
echo $$
`

// stubbornCount is the number of pids that it prints.
const stubbornCount = 4

func lines(n int) func(string) bool {
	return func(text string) bool { return strings.Count(text, "\n") >= n }
}

func TestKillEndsEverything(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		f := begin(t, o)
		f.shell(stubborn + "wait")
		list := pids(t, f.says(0, lines(stubbornCount)))
		require.NoError(t, f.Kill(10*time.Millisecond))
		f.until("gone", func() bool { return len(f.gone) == 1 })
		for _, pid := range list {
			assert.False(t, alive(pid), "pid %d", pid)
		}
		assert.Equal(t, syscall.SIGKILL, f.exited[0].Status.Signal())
		assert.True(t, f.exited[0].Cut)
		f.output(0) // ends, since nobody has it open any more
		f.finishes()
	})
}

func TestKillGivesGrace(t *testing.T) {
	f := begin(t, Options{})
	f.shell(`trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 1000 & wait; done`)
	f.says(0, lines(1))
	require.NoError(t, f.Signal(syscall.SIGSTOP)) // must not keep the rank from obeying
	require.NoError(t, f.Kill(time.Hour))
	f.until("gone", func() bool { return len(f.gone) == 1 })
	assert.Equal(t, exitStatus(5), f.exited[0].Status)
	assert.True(t, f.exited[0].Provoked)
	assert.False(t, f.exited[0].Cut)
	assert.Equal(t, "ready\nbye\n", f.output(0))
	f.finishes()
}

// An end that began before the kill is not the kill's doing, however late it is
// seen.
func TestAnEndBeforeTheKillIsItsOwn(t *testing.T) {
	f := begin(t, Options{})
	before := unix.Monotonic()
	f.launch(40, "sh", "-c", "exit 3")
	f.until("all run", func() bool { return len(f.started) == 40 })
	// The warden hears of the kill while it has yet to reap some of them, or not.
	for _, s := range f.started {
		for alive(s.PID) {
			require.NoError(t, f.step())
		}
	}
	require.NoError(t, f.Kill(time.Hour))
	f.ends(40)
	for _, e := range f.exited {
		assert.Equal(t, exitStatus(3), e.Status)
		assert.False(t, e.Provoked, "rank %d", e.Rank)
		assert.Greater(t, e.Clock, before)
		assert.LessOrEqual(t, e.Clock, unix.Monotonic())
	}
	f.finishes()
}

func TestSecondKillIsSooner(t *testing.T) {
	f := begin(t, Options{})
	f.shell(`trap '' TERM; echo ready; sleep 1000`)
	f.says(0, lines(1))
	require.NoError(t, f.Kill(time.Hour))
	require.NoError(t, f.Kill(2*time.Hour))
	require.NoError(t, f.Kill(0))
	f.until("gone", func() bool { return len(f.gone) == 1 })
	assert.Equal(t, syscall.SIGKILL, f.exited[0].Status.Signal())
	f.finishes()
}

// Finish ends what ranks that have long exited left behind.
func TestFinishEndsLeftovers(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		f := begin(t, o)
		f.shell(stubborn + "exit 0")
		list := pids(t, f.says(0, lines(stubbornCount)))
		f.ends(1)
		f.finishes()
		for _, pid := range list {
			assert.False(t, alive(pid), "pid %d", pid)
		}
	})
}

// Each generation starts the next and exits, so that no list of processes is
// up to date when it is read.
func TestKillCatchesRunaway(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		script := dir + "/run"
		require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntrap '' TERM\necho >>"+dir+"/log\n/usr/bin/setsid "+script+" &\n"), 0o755))
		f := begin(t, o)
		f.launch(1, script)
		f.ends(1)
		size := func() int64 {
			st, err := os.Stat(dir + "/log")
			require.NoError(t, err)
			return st.Size()
		}
		require.Eventually(t, func() bool { return size() > 10 }, patience, time.Millisecond)
		f.finishes()
		last := size()
		all, err := processes()
		require.NoError(t, err)
		for _, p := range all {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
			assert.NotContains(t, string(b), script)
		}
		assert.Equal(t, last, size())
	})
}

// Kill while ranks are being started: each is accounted for once.
func TestKillDuringLaunch(t *testing.T) {
	f := begin(t, Options{})
	const n = 5000 // more than there is time for
	f.launch(n, "/bin/sleep", "1000")
	f.until("some starts", func() bool { return len(f.started) > 20 })
	require.NoError(t, f.Kill(0))
	f.ends(n)
	f.until("gone", func() bool { return len(f.gone) == 1 })
	assert.NotEmpty(t, f.failed)
	for _, e := range f.failed {
		assert.True(t, e.Provoked)
	}
	// The warden can still be used.
	f.started, f.failed, f.exited = nil, nil, nil
	f.finishes()
}

func TestLaunchAfterKill(t *testing.T) {
	f := begin(t, Options{})
	require.NoError(t, f.Kill(time.Second))
	f.until("gone", func() bool { return len(f.gone) == 1 })
	f.shell("exit 4")
	f.ends(1)
	assert.Equal(t, exitStatus(4), f.exited[0].Status)

	// Without waiting for the end of killed ranks: later ones are spared.
	s := Spec{Apps: []App{{Argv: []string{"/bin/sleep", "1000"}}, {Argv: []string{"/bin/sh", "-c", "exit 5"}}}}
	require.NoError(t, f.Launch(s, []Child{{Rank: 1}}))
	f.until("start", func() bool { return len(f.started) == 2 })
	require.NoError(t, f.Kill(0))
	require.NoError(t, f.Launch(s, []Child{{Rank: 2, App: 1}}))
	f.ends(3)
	assert.Equal(t, syscall.SIGKILL, f.exited[1].Status.Signal())
	assert.Equal(t, exitStatus(5), f.exited[2].Status)
	assert.Len(t, f.gone, 2)
	f.finishes()
}

func TestSignalReachesGroup(t *testing.T) {
	f := begin(t, Options{})
	f.shell(`(trap 'echo child; exit' USR1; echo ready; while :; do sleep 1000 & wait; done) &
		trap 'wait; echo parent; exit 6' USR1; echo ready; while :; do wait; done`)
	f.says(0, lines(2))
	require.NoError(t, f.Signal(syscall.SIGUSR1))
	f.says(0, func(s string) bool { return strings.Contains(s, "child") && strings.Contains(s, "parent") })
	f.ends(1)
	assert.Equal(t, exitStatus(6), f.exited[0].Status)
	f.finishes()
}

func TestSignalOfOneWorld(t *testing.T) {
	f := begin(t, Options{})
	spec := Spec{Umask: 0o22, Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"sh", "-c", "echo ready; exec sleep 1000"}}}}
	require.NoError(t, f.Launch(spec, []Child{{World: 1, Rank: 0}, {World: 2, Rank: 1}, {World: 1, Rank: 2}}))
	for r := range job.Rank(3) {
		f.says(r, lines(1))
	}
	require.NoError(t, f.SignalWorld(1, syscall.SIGKILL))
	f.ends(2)
	assert.NotContains(t, f.exited, job.Rank(1))
	assert.Equal(t, 1, f.exited[2].World)
	require.NoError(t, f.Kill(0))
	f.until("gone", func() bool { return len(f.gone) == 1 })
	f.finishes()
}

func TestNoZombies(t *testing.T) {
	f := begin(t, Options{})
	f.shell(`for i in 1 2 3 4 5; do (sh -c 'exit 3' &) ; done; echo done`)
	f.ends(1)
	require.Eventually(t, func() bool {
		all, err := processes()
		require.NoError(t, err)
		for _, p := range all {
			if p.parent == f.PID() {
				return false
			}
		}
		return true
	}, patience, time.Millisecond)
	f.finishes()
}

// The warden dies: its job's processes are the agent's, which ends them and
// nothing else.
func TestWardenDies(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		own := exec.Command("/bin/sleep", "1000")
		require.NoError(t, own.Start())
		defer func() {
			require.NoError(t, own.Process.Kill())
			_ = own.Wait()
		}()
		f := begin(t, o)
		f.shell(stubborn + "wait")
		list := pids(t, f.says(0, lines(stubbornCount)))
		require.NoError(t, syscall.Kill(f.PID(), syscall.SIGKILL))
		err := f.step()
		require.ErrorIs(t, err, ErrLost)
		assert.ErrorContains(t, err, "killed")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, f.Sweep(ctx, func(pid int) bool { return pid == own.Process.Pid }))
		for _, pid := range list {
			assert.False(t, alive(pid), "pid %d", pid)
		}
		assert.True(t, alive(own.Process.Pid), "another child of the agent")
		if f.cgroup != "" {
			assert.NoDirExists(t, f.cgroup)
		}
		kids, err := unix.OwnChildren()
		require.NoError(t, err)
		assert.Equal(t, []int{own.Process.Pid}, kids, "nothing is left to be reaped")
		assert.ErrorIs(t, f.Launch(Spec{}, []Child{}), ErrLost)
	})
}

// Only the agent acts on signals of a resource manager to all of a job, wardens too:
// ranks go on until it says so.
func TestWardenLeavesSignalsToTheAgent(t *testing.T) {
	f := begin(t, Options{})
	f.shell(stubborn + "wait")
	list := pids(t, f.says(0, lines(stubbornCount)))
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2} {
		require.NoError(t, syscall.Kill(f.PID(), s))
	}
	require.NoError(t, f.Kill(0)) // it is there to obey
	f.until("gone", func() bool { return len(f.gone) == 1 })
	for _, pid := range list {
		assert.False(t, alive(pid), "pid %d", pid)
	}
}

// agentHelper is an agent that runs the stubborn script, prints the warden's
// pid and those of the script, and never ends.
func agentHelper(o Options) int {
	w, err := Start(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(w.PID())
	if err := w.OpenJob(job.Cold); err != nil {
		fmt.Println(err)
		return 1
	}
	err = w.Launch(job.Cold, Spec{Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/sh", "-c", stubborn + "wait"}}}}, []Child{{}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for {
		events, err := w.Next()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		for _, e := range events {
			if s, ok := e.(Started); ok {
				go func() { _, _ = io.Copy(os.Stdout, os.NewFile(uintptr(s.Stdout), "rank")) }()
			}
		}
	}
}

// startAgent runs agentHelper in a process of its own and returns the pids.
func startAgent(t *testing.T, args ...string) (agent *exec.Cmd, warden int, list []int) {
	t.Helper()
	agent = exec.Command("/proc/self/exe", append([]string{helperWord, "agent"}, args...)...)
	agent.Stderr = os.Stderr
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	text := bufio.NewReader(out)
	for range 1 + stubbornCount {
		line, err := text.ReadString('\n')
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err, line)
		list = append(list, pid)
	}
	return agent, list[0], list[1:]
}

func TestAgentDies(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		agent, warden, list := startAgent(t, strconv.FormatBool(o.NoCgroup))
		require.NoError(t, agent.Process.Kill())
		requireDead(t, append(list, warden)...)
	})
}

// An agent that is killed while the warden's word waits for it, as that of one
// that was stopped does, resets the socket; and nobody reads any more what the
// warden prints about it. The warden ends the job all the same.
func TestStoppedAgentDies(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		require.NoError(t, unix.Subreaper()) // stands in for init
		agent, warden, list := startAgent(t, strconv.FormatBool(o.NoCgroup))
		rank := list[slices.IndexFunc(list, func(pid int) bool {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return err == nil && strings.Contains(string(line), "trap")
		})]
		group := cgroupOf(t, rank)
		require.NoError(t, agent.Process.Signal(syscall.SIGSTOP))
		require.NoError(t, syscall.Kill(rank, syscall.SIGKILL)) // the warden reports it
		require.Eventually(t, func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", rank))
			stat, serr := os.ReadFile(fmt.Sprintf("/proc/%d/stat", warden))
			return os.IsNotExist(err) && (serr != nil || strings.Contains(string(stat), ") S "))
		}, patience, time.Millisecond, "the warden has reaped it and waits")
		require.NoError(t, agent.Process.Kill())
		_ = agent.Wait()
		var status syscall.WaitStatus
		require.Eventually(t, func() bool {
			pid, _ := syscall.Wait4(warden, &status, syscall.WNOHANG, nil)
			return pid == warden
		}, patience, time.Millisecond)
		require.True(t, status.Exited(), "it dies of %v", status.Signal())
		requireDead(t, list...)
		if !o.NoCgroup {
			assert.NoDirExists(t, group)
		}
		unix.KillChildren(1000, nil, unix.ReapEach)
	})
}

// cgroupOf is the directory of a process's cgroup v2; empty where none is mounted.
func cgroupOf(t *testing.T, pid int) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	member, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	require.NoError(t, err)
	_, dir, _ := cgroups.Dir(string(mounts), string(member), "")
	return dir
}

// Warden and agent both die, so that nobody is left but whoever sweeps. The
// process that cleared its environment is beyond it without a cgroup (docs/security.md).
func TestSweepAfterBothDied(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		require.NoError(t, unix.Subreaper()) // stands in for init, which reaps
		agent, warden, list := startAgent(t, strconv.FormatBool(o.NoCgroup))
		cleared := -1
		require.Eventually(t, func() bool { // the others may be about to execute
			bare := 0
			for i, pid := range list {
				if !carries(pid, jobVariable+"="+agentJob) {
					cleared = i
					bare++
				}
			}
			return bare == 1
		}, patience, time.Millisecond)
		require.NoError(t, agent.Process.Signal(syscall.SIGSTOP))
		require.NoError(t, syscall.Kill(warden, syscall.SIGKILL))
		require.NoError(t, agent.Process.Kill())
		_ = agent.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, Sweep(ctx, SweepOptions{JobID: agentJob}))
		for i, pid := range list {
			if i == cleared && o.NoCgroup {
				assert.True(t, alive(pid), "if it is found after all, docs/security.md promises too little")
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				continue
			}
			assert.False(t, alive(pid), "pid %d", pid)
		}
		unix.KillChildren(1000, nil, unix.ReapEach)
	})
}

func TestSweepArguments(t *testing.T) {
	ctx := t.Context()
	require.ErrorContains(t, Sweep(ctx, SweepOptions{}), "job id")
	require.ErrorContains(t, Sweep(ctx, SweepOptions{JobID: "a/b"}), "job id")
	require.NoError(t, Sweep(ctx, SweepOptions{JobID: "nobody-has-this", Cgroup: "/sys/fs/cgroup/none/such"}))
}

func TestStartFailures(t *testing.T) {
	ctx := t.Context()
	_, err := Start(ctx, Options{JobID: "not a word"})
	require.ErrorContains(t, err, "job id")
	_, err = Start(ctx, Options{JobID: "x", Exe: "/no/such"})
	require.ErrorContains(t, err, "start warden: ")
	_, err = Start(ctx, Options{JobID: "x", Exe: "/bin/true"}) // no warden
	require.ErrorIs(t, err, io.EOF)

	silent := t.TempDir() + "/silent"
	require.NoError(t, os.WriteFile(silent, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755))
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = Start(ctx, Options{JobID: "x", Exe: silent})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "start warden: no word from it")
}

func TestClosed(t *testing.T) {
	f := begin(t, Options{})
	f.shell("sleep 1000")
	f.until("start", func() bool { return len(f.started) == 1 })
	f.Close() // kills the job
	assert.False(t, alive(f.started[0].PID))
	_, err := f.Next()
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, f.Kill(0), os.ErrClosed)
	f.Close() // again does nothing
}

// By hand the warden only explains itself.
func TestWardenByHand(t *testing.T) {
	out, err := exec.Command("/proc/self/exe", WardenWord, "job").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "not by hand")
}

// An ordinary user has no cgroup and may not raise hard limits.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	cmd := exec.Command("/proc/self/exe", helperWord, "user")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "uid=65534 groups\nnote: 1 ranks get memlock N of unlimited, nice N of unlimited: this host's hard limits are lower than golaunch's\n"+
		"status 0\nstatus 0\nall dead\n", string(out))
}

// The next job removes the cgroups that two killed processes could not; another job's
// stays, even if nothing runs in it.
func TestStaleCgroups(t *testing.T) {
	used, err := newCgroup(cgroupPrefix("used") + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Skip("no cgroup can be made here: ", err)
	}
	stale, err := newCgroup(cgroupPrefix("stale") + strconv.Itoa(os.Getpid()))
	require.NoError(t, err)
	stale.close()
	f := begin(t, Options{})
	assert.NoDirExists(t, stale.dir)
	assert.DirExists(t, used.dir)
	f.finishes()
	used.close()
	require.NoError(t, removeCgroup(used.dir))
}
