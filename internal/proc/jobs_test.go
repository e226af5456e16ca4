package proc

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// second is a job beside that of the fixture; its ranks have other numbers.
const second job.Number = 2

// beside launches a rank of the second job that runs a script.
func (f *fixture) beside(r job.Rank, script string) {
	f.t.Helper()
	s := Spec{Umask: 0o22, Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/sh", "-c", script}}}}
	require.NoError(f.t, f.Warden.Launch(second, s, []Child{{Rank: r}}))
}

// The end of a job ends everything of it, and nothing of another: not its orphans, either,
// nor those that have a session of their own.
func TestEndingAJobSparesOthers(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		for name, end := range map[string]func(f *fixture) error{
			"kill":  func(f *fixture) error { return f.Kill(10 * time.Millisecond) },
			"close": func(f *fixture) error { return f.CloseJob(job.Cold) },
		} {
			t.Run(name, func(t *testing.T) {
				f := begin(t, o)
				require.NoError(t, f.OpenJob(second))
				f.shell(stubborn + "wait")
				f.beside(9, stubborn+"wait")
				mine, theirs := pids(t, f.says(0, lines(stubbornCount))), pids(t, f.says(9, lines(stubbornCount)))
				require.NoError(t, end(f))
				f.until("gone", func() bool { return len(f.gone) == 1 })
				require.Equal(t, Gone{Job: job.Cold}, f.gone[0])
				for _, pid := range mine {
					told := o.NoCgroup && !carries(pid, jobVariable+"="+f.opts.JobID+".1")
					assert.Equal(t, told && alive(pid), alive(pid), "pid %d: only one that nothing tells may live on", pid)
				}
				for _, pid := range theirs {
					assert.True(t, alive(pid), "pid %d of the other job", pid)
				}
				assert.NotContains(t, f.exited, job.Rank(9))
				f.beside(10, "exit 4")
				f.until("the other job's next rank", func() bool { return len(f.exited) == 2 })
				assert.Equal(t, exitStatus(4), f.exited[10].Status)
				assert.Equal(t, second, f.exited[10].Job)
				assert.False(t, f.exited[10].Provoked)

				require.NoError(t, f.Warden.Kill(second, 0))
				f.until("gone", func() bool { return len(f.gone) == 2 })
				f.finishes()
				requireDead(t, append(mine, theirs...)...)
			})
		}
	})
}

// Ranks that wait for their start, stops and signals are a job's own.
func TestSignalsOfOneJob(t *testing.T) {
	f := begin(t, Options{})
	require.NoError(t, f.OpenJob(second))
	require.NoError(t, f.Signal(syscall.SIGSTOP))
	f.launch(2, "/bin/sh", "-c", "echo started; exec sleep 1000")
	f.beside(9, "echo started; exec sleep 1000")
	f.says(9, lines(1))
	require.NotContains(t, f.started, job.Rank(0), "all of its job are stopped")
	require.NoError(t, f.Kill(0))
	f.until("gone", func() bool { return len(f.gone) == 1 })
	require.Len(t, f.failed, 2)
	require.True(t, f.failed[0].Provoked)
	require.NoError(t, f.Warden.Signal(second, syscall.SIGTERM))
	f.until("the end of the other's", func() bool { return len(f.exited) == 1 })
	require.Equal(t, syscall.SIGTERM, f.exited[9].Status.Signal())
	require.False(t, f.exited[9].Provoked, "the warden did not end it")
	f.finishes()
	require.Len(t, f.gone, 4, "of each job, and of the tree")
	require.Equal(t, job.TreeItself, f.gone[3].Job)
}

// Processes of jobs carry names of their own, by which a sweep of the tree finds all.
func TestJobsHaveNames(t *testing.T) {
	f := begin(t, Options{})
	require.NoError(t, f.OpenJob(second))
	f.shell("echo $GOLAUNCH_JOB; exec sleep 1000")
	f.beside(9, "echo $GOLAUNCH_JOB; exec sleep 1000")
	require.Equal(t, f.opts.JobID+".1\n", f.says(0, lines(1)))
	require.Equal(t, f.opts.JobID+".2\n", f.says(9, lines(1)))
	for _, r := range []job.Rank{0, 9} {
		assert.True(t, carries(f.started[r].PID, jobVariable+"="+f.opts.JobID))
		assert.False(t, carries(f.started[r].PID, jobVariable+"="+strings.TrimSuffix(f.opts.JobID, f.opts.JobID[len(f.opts.JobID)-1:])))
	}
	if f.cgroup != "" {
		require.DirExists(t, filepath.Join(f.cgroup, "1"))
		require.DirExists(t, filepath.Join(f.cgroup, "2"))
	}
	require.NoError(t, f.CloseJob(second))
	f.until("closed", func() bool { return len(f.closed) == 1 })
	require.Equal(t, second, f.closed[0])
	if f.cgroup != "" {
		require.NoDirExists(t, filepath.Join(f.cgroup, "2"))
	}
	f.finishes()
}

// The files of a job go with it, those of others stay until they are closed or the
// warden ends.
func TestFilesOfAJob(t *testing.T) {
	f := begin(t, Options{})
	require.NoError(t, f.OpenJob(second))
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	for _, dir := range []string{one, two} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "below"), 0o700))
	}
	require.NoError(t, f.Scratch([]string{one, "/no/such"}))
	require.NoError(t, f.Warden.Scratch(second, []string{two}))
	require.NoError(t, f.CloseJob(job.Cold))
	f.until("closed", func() bool { return len(f.closed) == 1 })
	require.NoDirExists(t, one)
	require.DirExists(t, two)
	f.finishes()
	require.NoDirExists(t, two)
	require.Empty(t, f.notes)
}

// Requests about a job that is not open, or not any more, are passed over.
func TestJobsThatAreNotOpen(t *testing.T) {
	f := begin(t, Options{})
	require.ErrorContains(t, f.OpenJob(job.TreeItself), "the tree itself")
	require.NoError(t, f.Warden.Kill(7, 0))
	require.NoError(t, f.OpenJob(second))
	require.NoError(t, f.CloseJob(second))
	require.NoError(t, f.CloseJob(second))
	require.NoError(t, f.Warden.Signal(second, syscall.SIGTERM))
	f.shell("exit 4")
	f.ends(1)
	require.Equal(t, exitStatus(4), f.exited[0].Status)
	f.until("closed", func() bool { return len(f.closed) == 1 })
	f.finishes()
	require.Len(t, f.closed, 1)
}

// An agent that is gone when no job is open leaves nothing, either: not the tree's cgroup.
func TestAgentDiesBetweenJobs(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		f := begin(t, o)
		f.shell(stubborn + "exit 0")
		list := pids(t, f.says(0, lines(stubbornCount)))
		f.ends(1)
		require.NoError(t, f.CloseJob(job.Cold))
		f.until("closed", func() bool { return len(f.closed) == 1 })
		f.Close()
		requireDead(t, list...)
		require.Zero(t, f.state.ExitCode())
		if f.cgroup != "" {
			require.NoDirExists(t, f.cgroup)
		}
	})
}
