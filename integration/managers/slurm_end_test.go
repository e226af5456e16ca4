package managers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// heeds is a rank that takes half a second for its end, and tells of its signals both on
// its output and in files of a directory: golaunch may be gone by then.
const heeds = `#!/bin/sh
trap 'echo "[$RANK] got USR1"; echo USR1 >> %[1]s/$RANK' USR1
trap 'echo "[$RANK] got INT"' INT
trap 'echo "[$RANK] got HUP"' HUP
trap 'echo "[$RANK] got TERM"; sleep 0.5; echo TERM >> %[1]s/$RANK; exit 0' TERM
echo "[$RANK] up"
while :; do sleep 0.1; done
`

// heeding writes that program and returns golaunch's arguments that run it: its ranks have
// time, less than the 20 s that Slurm waits.
func (s *site) heeding() string {
	s.t.Helper()
	path := filepath.Join(s.dir, "heeds")
	require.NoError(s.t, os.WriteFile(path, fmt.Appendf(nil, heeds, s.dir), 0o755))
	return "--grace 15s " + path
}

// heard asserts what each rank has written of its signals.
func (s *site) heard(ranks int, want string) {
	s.t.Helper()
	for rank := range ranks {
		b, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprint(rank)))
		require.NoError(s.t, err, "rank %d", rank)
		require.Equal(s.t, want, string(b), "rank %d", rank)
	}
}

// A cancelled job's ranks are told, and have their time: under a script that has become
// golaunch, and under one that dies first and takes golaunch along.
func TestScancel(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	for name, command := range map[string]string{"script": "golaunch", "exec": "exec golaunch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := at(t, s.Cluster)
			j := s.submit(command+" "+s.heeding()+"; echo not reached", "-N4", "--ntasks-per-node=2")
			j.says("] up\n", 8)
			out, err := s.head("scancel", "--signal=USR1", j.id)
			require.NoError(t, err, out)
			j.says("] got USR1\n", 8)
			for _, name := range []string{"INT", "HUP"} {
				out, err = s.head("scancel", "--signal="+name, j.id)
				require.NoError(t, err, out)
				j.says("] got "+name+"\n", 8)
			}
			out, err = s.head("scancel", j.id)
			require.NoError(t, err, out)
			output := j.wait()
			s.heard(8, "USR1\nTERM\n")
			require.NotContains(t, output, "not reached")
			if name == "exec" {
				require.Equal(t, 8, strings.Count(output, "] got TERM\n"), output)
				require.Regexp(t, `golaunch: (host n00\d: its agent was told to terminate, as by a resource manager|told to terminate)`, output)
			}
		})
	}
}

// A launcher that is killed before the manager's signals come to its agents: the ranks have
// their time all the same.
func TestAKilledLauncher(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	j := s.submit("golaunch "+s.heeding()+`; echo status $?; while [ ! -e go ]; do sleep 0.1; done`, "-N2", "--ntasks-per-node=1")
	j.says("] up\n", 2)
	j.onFirst("golaunch --grace", syscall.SIGKILL)
	j.says("status 137\n", 1)
	for rank := range 2 {
		j.eventually("its ranks have their time", func() bool {
			b, _ := os.ReadFile(filepath.Join(s.dir, fmt.Sprint(rank)))
			return string(b) == "TERM\n"
		})
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o644))
	j.wait()
}

// A job that is requeued: the ranks of the first start are told and have their time, all of
// it is gone before the second start, and that one runs as the first did.
func TestRequeue(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	script := `[ "$SLURM_RESTART_COUNT" = 1 ] || exec golaunch ` + s.heeding() + `
golaunch -l hostname; echo status $?`
	j := s.submit(script, "-N4", "--ntasks-per-node=4", "--requeue", "--open-mode=append")
	j.says("] up\n", 16)
	out, err := s.head("scontrol", "requeue", j.id)
	require.NoError(t, err, out)
	j.eventually("the job is queued again", func() bool { return j.state() == "PENDING" })
	j.nothingLeft()
	s.heard(16, "TERM\n")
	first := j.output()
	j.startsAgain()
	rest, found := strings.CutPrefix(j.wait(), first)
	require.True(t, found)
	require.Contains(t, rest, "status 0\n")
	j.onSlots(rest, "", []int{4, 4, 4, 4})
}

// A node dies, golaunch ends with 125, and the script has the job queued again, as
// docs/managers.md has it: the second start is on the nodes that live.
func TestRequeueAfterADeath(t *testing.T) {
	t.Parallel()
	needSlurm(t)
	s := own(t, cluster.Config{Nodes: 5, Slurm: true, SlurmSilence: 20 * time.Second})
	j := s.submit(`[ "$SLURM_RESTART_COUNT" = 1 ] && { golaunch -l hostname; echo status $?; exit; }
golaunch --lost-after 5s -l sh -c 'echo up; exec sleep 1000'
[ $? = 125 ] && scontrol requeue $SLURM_JOB_ID`, "-N4", "--ntasks-per-node=4", "--requeue", "--no-kill", "--open-mode=append")
	j.says("] up\n", 16)
	require.NoError(t, s.Kill("n003"))
	j.startsAgain() // once Slurm takes the node for down
	first, second, found := strings.Cut(j.wait(), "other ranks were ended\n")
	require.True(t, found)
	require.Contains(t, first, "golaunch: host n003 ")
	require.Contains(t, second, "status 0\n")
	require.NotContains(t, second, "n003")
	j.onSlots(second, "", []int{4, 4, 4, 4})
}

// startsAgain waits for the end of a requeued job's second start, which Slurm puts off for
// two minutes unless it is told otherwise while the job is pending.
func (j *job) startsAgain() {
	j.t.Helper()
	j.eventually("the second start ends", func() bool {
		if j.state() == "PENDING" {
			_, _ = j.head("scontrol", "update", "JobId="+j.id, "StartTime=now") // it may start just now
		}
		return strings.Contains(j.output(), "status ")
	})
}

// state returns the job's state in Slurm.
func (j *job) state() string {
	out, err := j.head("squeue", "--noheader", "--jobs", j.id, "--states=all", "--format=%T")
	require.NoError(j.t, err, out)
	return strings.TrimSpace(out)
}

// A job whose time is up, of which it was warned before.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	j := s.submit("exec golaunch "+s.heeding(), "-N2", "--ntasks-per-node=1", "--time=1", "--signal=USR1@55")
	j.says("] got TERM\n", 2)
	output := j.wait()
	require.Contains(t, output, "DUE TO TIME LIMIT")
	s.heard(2, "USR1\nTERM\n")
}

// golaunch on a machine outside of the allocation is told by its agents.
func TestScancelOfAnAllocation(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	program := s.heeding()
	script := "echo $SLURM_JOB_ID > " + s.dir + "/id; exec " + bin("golaunch") + " " + program
	cmd := s.CommandContext(t.Context(), "head", "salloc", "--quiet", "-N2", "--ntasks-per-node=1", "sh", "-c", script)
	cmd.Dir = s.dir
	file, err := os.Create(filepath.Join(s.dir, "output"))
	require.NoError(t, err)
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	require.NoError(t, cmd.Start())
	j := &job{site: s, file: file.Name()}
	j.says("] up\n", 2)
	id, err := os.ReadFile(filepath.Join(s.dir, "id"))
	require.NoError(t, err)
	j.id = strings.TrimSpace(string(id))
	out, err := s.head("scancel", j.id)
	require.NoError(t, err, out)
	_ = cmd.Wait() // salloc has a status of its own
	require.Contains(t, j.wait(), "its agent was told to terminate, as by a resource manager: the job is ended\n")
	s.heard(2, "TERM\n")
}

// A step that is cancelled is no node that was lost: golaunch repeats srun's words.
func TestACancelledStep(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	j := s.submit("golaunch -l sh -c 'echo up; exec sleep 1000'; echo status $?", "-N4", "--ntasks-per-node=2")
	j.says("] up\n", 8)
	out, err := s.head("scancel", j.id+".0")
	require.NoError(t, err, out)
	output := j.wait()
	require.Regexp(t, `golaunch: Slurm ended the step of golaunch's agents: (\*\*\* STEP `+j.id+`\.0 ON n00\d CANCELLED AT \S+ \*\*\*|srun: Job step aborted): the job is ended\n`, output)
	require.Contains(t, output, "status 143\n")
	require.NotContains(t, output, "golaunch: host ", "nothing is wrong with any")
}
