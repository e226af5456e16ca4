package slurmboot

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// play makes a Bulk whose srun is a script: it notes its words in calls, and runs.
func play(t *testing.T, script string) (b *Bulk, calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "srun")
	text := "#!/bin/sh\necho \"$@\" >> " + dir + "/calls\ncat > " + dir + "/secret\n" + script
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	b = &Bulk{Program: path, Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH")}, Note: t.Logf}
	return b, func() []string {
		text, err := os.ReadFile(dir + "/calls")
		require.NoError(t, err)
		secret, err := os.ReadFile(dir + "/secret")
		require.NoError(t, err)
		require.Equal(t, "the secret", string(secret))
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// started runs a Bulk to its end and returns what it said of each host.
func started(t *testing.T, b *Bulk, hosts ...string) map[string]string {
	t.Helper()
	var all []bootstrap.Host
	for i, name := range hosts {
		all = append(all, bootstrap.Host{Index: i, Name: name})
	}
	failures, err := b.Start(t.Context(), all, []string{"/x/golaunch", "nla-agent"}, strings.NewReader("the secret"))
	require.NoError(t, err)
	said := map[string]string{}
	for e := range failures {
		require.NotContains(t, said, e.Host)
		said[e.Host] = e.Err.Error()
	}
	return said
}

func TestOneSrunForAll(t *testing.T) {
	b, calls := play(t, "exit 0")
	require.Empty(t, started(t, b, "n3", "n1", "n2"))
	require.Equal(t, []string{
		"--nodes=3 --ntasks=3 --ntasks-per-node=1 --nodelist=n[3,1-2] --overlap --mpi=none --cpu-bind=none --input=all --export=ALL " +
			"--kill-on-bad-exit=0 --wait=0 --chdir=/ --unbuffered --label -- /x/golaunch nla-agent",
	}, calls())
}

// A heterogeneous job has one srun for each component.
func TestComponents(t *testing.T) {
	b, calls := play(t, "exit 0")
	b.Group = groupOf([][]job.Host{{{Name: "a"}}, {{Name: "b"}, {Name: "c"}, {Name: "a"}}})
	require.Empty(t, started(t, b, "a", "b", "c"))
	all := calls()
	slices.Sort(all)
	require.Len(t, all, 2)
	require.Regexp(t, `^--nodes=1 .* --nodelist=a .* --het-group=0 -- `, all[0])
	require.Regexp(t, `^--nodes=2 .* --nodelist=b,c .* --het-group=1 -- `, all[1])
}

// A node that does not answer is given up, and the others are started again.
func TestANodeThatDoesNotAnswer(t *testing.T) {
	b, calls := play(t, `case "$*" in *"n[1-3]"*) 
echo "srun: error: Task launch for StepId=2.0 failed on node n2: Communication connection failure" >&2
echo "srun: error: n1: task 0: Killed" >&2; exit 1;; esac`)
	require.Equal(t, map[string]string{"n2": "srun starts nothing there: Communication connection failure"}, started(t, b, "n1", "n2", "n3"))
	all := calls()
	require.Len(t, all, 2)
	require.Contains(t, all[1], "--nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist=n[1,3] ")
}

// A host without the executable is brought it.
func TestTheExecutableIsBrought(t *testing.T) {
	b, calls := play(t, `case "$*" in *--bcast=*) ;; *)
echo "srun: error: n2: task 1: Exited with exit code 2" >&2
echo "1: slurmstepd: error: execve(): /x/golaunch: No such file or directory" >&2; exit 2;; esac`)
	require.Empty(t, started(t, b, "n1", "n2"))
	all := calls()
	require.Len(t, all, 2)
	require.Regexp(t, `--nodelist=n2 .* --bcast=(/tmp/golaunch-[0-9a-f]{16}) -- /x/golaunch nla-agent --unlink /tmp/golaunch-[0-9a-f]{16}$`, all[1])

	b, _ = play(t, `echo "srun: error: n1: task 0: Exited with exit code 2" >&2
echo "0: slurmstepd: error: execve(): /x/golaunch: No such file or directory" >&2; exit 2`)
	require.Regexp(t, "srun brought golaunch to /tmp/golaunch-[0-9a-f]+, and does not find it there", started(t, b, "n1")["n1"])
}

// Of hosts that srun refuses without a name, slurmctld tells which they are.
func TestNodesThatAreDown(t *testing.T) {
	b, calls := play(t, `case "$*" in *"n[1-2]"*) echo "srun: error: Unable to create step for job 5: Required node not available (down, drained or reserved)" >&2; exit 1;; esac`)
	sinfo := filepath.Join(filepath.Dir(b.Program), "sinfo")
	require.NoError(t, os.WriteFile(sinfo, []byte("#!/bin/sh\necho n1 down*; echo n2 mixed\n"), 0o755))
	t.Setenv("PATH", filepath.Dir(sinfo)+":"+os.Getenv("PATH"))
	require.Equal(t, map[string]string{"n1": "srun starts nothing there: its state is down*"}, started(t, b, "n1", "n2"))
	require.Len(t, calls(), 2)
}

// The errors of all hosts name the reason for which srun ended as a whole.
func TestSrunEnds(t *testing.T) {
	b, _ := play(t, `echo "srun: error: Unable to confirm allocation for job 9: Invalid job id specified" >&2; exit 1`)
	const why = "srun ended (exit status 1): srun: error: Unable to confirm allocation for job 9: Invalid job id specified"
	require.Equal(t, map[string]string{"a": why, "b": why}, started(t, b, "a", "b"))
	b, _ = play(t, "kill -9 $$")
	require.Equal(t, map[string]string{"a": "srun ended (signal: killed)"}, started(t, b, "a"))
	b.Program = "/no/such/srun"
	require.Contains(t, started(t, b, "a")["a"], "no such file")
}

// Srun gets of golaunch's environment what it needs, and none of what would be flags.
func TestEnvironment(t *testing.T) {
	given := map[string]string{
		"PATH": "/bin", "SLURM_JOB_ID": "7", "SLURM_CONF": "/c", "SLURM_EXPORT_ENV": "NONE", "SLURM_NTASKS": "64",
		"SLURM_STDOUTMODE": "x", "SLURM_STEP_ID": "3", "SRUN_CPUS_PER_TASK": "2", "SECRET": "x",
	}
	require.Equal(t, []string{"PATH=/bin", "SLURM_CONF=/c", "SLURM_JOB_ID=7"}, environ(func(name string) string { return given[name] }))
}

// An srun may be a script that runs Slurm's: all that it has started ends with the job,
// even what takes no notice of SIGTERM.
func TestAWrapperOfSrun(t *testing.T) {
	held := filepath.Join(t.TempDir(), "held")
	require.NoError(t, syscall.Mkfifo(held, 0o600))
	b, _ := play(t, "exec 9>"+held+`
sh -c 'trap "" TERM; echo up >&9; sleep 1000; sleep 1000'
exit $?`)
	ctx, cancel := context.WithCancel(t.Context())
	failures, err := b.Start(ctx, []bootstrap.Host{{Name: "n1"}}, []string{"/x/golaunch"}, strings.NewReader("the secret"))
	require.NoError(t, err)
	f, err := os.Open(held)
	require.NoError(t, err)
	defer f.Close()
	up := make([]byte, len("up\n"))
	_, err = io.ReadFull(f, up)
	require.NoError(t, err)
	cancel()
	_, err = io.Copy(io.Discard, f) // until nobody holds it
	require.NoError(t, err)
	require.Empty(t, <-failures)
}

// Whether it is the way into an allocation is asked of srun, which may never answer.
func TestSrunThatDoesNotAnswer(t *testing.T) {
	ask := func(script string, within time.Duration) bool {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/srun", []byte("#!/bin/sh\n"+script), 0o755))
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		return overlaps(func(name string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "SLURM_CONF": "/c"}[name]
		}, within)
	}
	require.True(t, ask(`[ "$SLURM_CONF" = /c ] && echo "   --overlap   Force steps to overlap"`, time.Minute))
	require.False(t, ask("echo --overlap; exit 1", time.Minute))
	require.False(t, ask("echo no such flag", time.Minute))
	require.False(t, ask("echo --overlap; exec sleep 1000", time.Millisecond))
}

func TestWhichHostsItServes(t *testing.T) {
	groups := [][]job.Host{{{Name: "a"}, {Name: "b"}}}
	require.NoError(t, foreign(groups, []job.Host{{Name: "b"}}))
	require.ErrorContains(t, foreign(groups, []job.Host{{Name: "a"}, {Name: "c", Pos: "-H"}}), "-H: host c is not of this job's allocation")
	require.ErrorContains(t, foreign(groups, []job.Host{{Name: "a", User: "x"}}), "has a user or a port")
	require.ErrorContains(t, foreign(nil, []job.Host{{Name: "a"}}), "no job of Slurm's")
}

// A step that is cancelled is told at once, of all hosts, as such; an srun that is killed, too.
func TestTheWholeStepEnds(t *testing.T) {
	for script, want := range map[string]struct {
		whole bootstrap.Whole
		why   string
	}{
		`echo "0: slurmstepd: error: *** STEP 5.0 ON a CANCELLED AT 2026-11-28T01:00:00 ***" >&2; exec sleep 1000`: {bootstrap.WholeCancelled,
			"Slurm ended the step of golaunch's agents: *** STEP 5.0 ON a CANCELLED AT 2026-11-28T01:00:00 ***"},
		`echo "srun: Job step aborted: Waiting up to 32 seconds for job step to finish." >&2; exec sleep 1000`: {bootstrap.WholeCancelled,
			"Slurm ended the step of golaunch's agents: srun: Job step aborted"},
		"kill -9 $$": {bootstrap.WholeEnded, "srun ended (signal: killed)"},
		"exit 1":     {bootstrap.WholeRuns, "srun ended (exit status 1)"},
	} {
		b, _ := play(t, script)
		ctx, cancel := context.WithCancel(t.Context())
		failures, err := b.Start(ctx, []bootstrap.Host{{Name: "a"}, {Index: 1, Name: "b"}}, []string{"/x/golaunch"}, strings.NewReader("the secret"))
		require.NoError(t, err)
		for _, host := range []string{"a", "b"} {
			e := <-failures
			require.Equal(t, host, e.Host)
			require.Equal(t, want.whole, e.Whole, script)
			require.EqualError(t, e.Err, want.why)
		}
		cancel()
		require.Empty(t, <-failures)
	}
}
