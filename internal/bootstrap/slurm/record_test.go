package slurmboot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words of Slurm 22.05, and the conclusions from them.
func TestRecord(t *testing.T) {
	const none = "slurmstepd: error: execve(): /x/golaunch: No such file or directory"
	for name, x := range map[string]struct {
		said    string
		lacking []string
		failed  []failure
		dead    map[string]string
		text    string
	}{
		"nothing":                  {},
		"one agent fails":          {said: "srun: error: n002: task 1: Exited with exit code 3\n1: golaunch agent: no memory", failed: []failure{{"n002", "Exited with exit code 3: golaunch agent: no memory"}}},
		"its words come first":     {said: "1: a\n 1: b\n2: c\nsrun: error: n002: task 1: Killed", failed: []failure{{"n002", "Killed: a\nb"}}},
		"several nodes in a line":  {said: "srun: error: n[001,003]: tasks 0,2: Exited with exit code 2\n2: last", failed: []failure{{"n001", "Exited with exit code 2"}, {"n003", "Exited with exit code 2: last"}}},
		"some lack the executable": {said: "srun: error: n[001-002]: tasks 0-1: Exited with exit code 2\n0: " + none + "\n1: other", lacking: []string{"n001"}, failed: []failure{{"n002", "Exited with exit code 2: other"}}},
		"a node does not answer": {
			said: "srun: error: Task launch for StepId=2.0 failed on node n003: Communication connection failure\n" +
				"srun: error: Application launch failed: Communication connection failure\n" +
				"srun: Job step aborted: Waiting up to 22 seconds for job step to finish.\n" +
				"srun: error: n002: task 1: Killed\n0: slurmstepd-n001: error: *** STEP 2.0 ON n001 CANCELLED AT 2026-11-23T17:13:43 ***",
			dead: map[string]string{"n003": "Communication connection failure"}, text: "srun: error: Application launch failed: Communication connection failure; " +
				"srun: Job step aborted: Waiting up to 22 seconds for job step to finish.; 0: slurmstepd-n001: error: *** STEP 2.0 ON n001 CANCELLED AT 2026-11-23T17:13:43 ***",
		},
		"no step":               {said: "srun: error: Unable to create step for job 5: Job/step already completing or completed", text: "srun: error: Unable to create step for job 5: Job/step already completing or completed"},
		"a host of nobody's":    {said: "srun: error: n009: task 1: Killed\nsrun: error: Task launch for StepId=2.0 failed on node n009: x", text: "srun: error: n009: task 1: Killed; srun: error: Task launch for StepId=2.0 failed on node n009: x"},
		"a task of nobody's":    {said: "7: x\n99999999999999999999: y", text: "7: x; 99999999999999999999: y"},
		"tasks that do not fit": {said: "srun: error: n[001-002]: tasks 0-999999999: Killed", failed: []failure{{"n001", "Killed"}, {"n002", "Killed"}}},
	} {
		r := newRecord([]string{"n001", "n002", "n003"})
		for line := range strings.Lines(x.said) {
			r.note(line)
		}
		lacking, failed := r.take()
		require.Equal(t, x.lacking, lacking, name)
		require.Equal(t, x.failed, failed, name)
		require.Equal(t, len(x.dead), len(r.dead), name)
		for host, why := range x.dead {
			require.Equal(t, why, r.dead[host], name)
		}
		require.Equal(t, x.text, r.text(), name)
		lacking, failed = r.take()
		require.Empty(t, lacking, name)
		require.Empty(t, failed, name)
	}
	r := newRecord([]string{"a"})
	r.note("srun: error: Unable to create step for job 5: Required node not available (down, drained or reserved)")
	require.True(t, r.refused())
}

// A step that somebody, or a limit, has cancelled is told from one that a node has ended.
func TestCancelledStep(t *testing.T) {
	const (
		step    = "*** STEP 5.0 ON n001 CANCELLED AT 2026-11-28T01:00:00"
		aborted = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."
	)
	for said, cancelled := range map[string]string{
		"0: slurmstepd-n001: error: " + step + " ***":                                                               step + " ***",
		"slurmstepd: error: " + step + " DUE TO TIME LIMIT ***":                                                     step + " DUE TO TIME LIMIT ***",
		"slurmstepd: error: " + step + " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***":                    "",
		"srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n0: slurmstepd: " + step + " ***": step + " ***",
		"srun: error: Task launch for StepId=5.0 failed on node n003: x\n0: slurmstepd: " + step + " ***":           "",
		"srun: error: n001: task 0: Killed":                                                                         "",
		"srun: error: n002: task 1: Killed\n" + aborted:                                                             abortedWord,
		aborted + "\nsrun: error: n002: task 1: Killed":                                                             abortedWord,
		"srun: error: Application launch failed: x\n" + aborted:                                                     "",
		"srun: error: Task launch for StepId=5.0 failed on node n003: x\n" + aborted:                                "",
		aborted + "\nsrun: error: Node failure on n003":                                                             "",
		aborted + "\nslurmstepd: error: " + step + " DUE TO NODE FAILURE ***":                                       "",
	} {
		r := newRecord([]string{"n001", "n002", "n003"})
		for line := range strings.Lines(said) {
			r.note(line)
		}
		r.settle()
		require.Equal(t, cancelled, r.cancelled, said)
	}
}

// Whatever srun says is bounded, and no panic.
func FuzzRecord(f *testing.F) {
	f.Add("srun: error: n[001-002]: tasks 0-1: Killed\n1: x\nsrun: error: Task launch for StepId=1 failed on node n001: y")
	f.Fuzz(func(t *testing.T, said string) {
		names := []string{"n001", "n002"}
		r := newRecord(names)
		for line := range strings.Lines(said) {
			r.note(line)
		}
		require.LessOrEqual(t, len(r.general), maxLines)
		lacking, failed := r.take()
		for _, host := range lacking {
			require.Contains(t, names, host)
		}
		for _, f := range failed {
			require.Contains(t, names, f.host)
		}
	})
}

func TestDown(t *testing.T) {
	for state, is := range map[string]bool{
		"mixed": false, "allocated": false, "idle": false, "draining": false, "drained": false, "completing": false, "": false,
		"down": true, "down*": true, "allocated*": true, "failing": true, "powering_down": true, "rebooting": true, "reboot": true, "unknown": true,
	} {
		require.Equal(t, is, down(state), state)
	}
}
