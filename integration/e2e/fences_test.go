package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
)

// lateFence matches golaunch's line about a fence that waits for the last of four ranks.
var lateFence = regexp.MustCompile(`(?m)^golaunch: after 2s: .* for rank 3(,| on )`)

// fenceJob starts four ranks, one on each of as many nodes, of which the last does not
// enter a fence with the others, and returns the output. A rank that has stopped is
// continued when golaunch has said that others wait for it.
func fenceJob(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	args = append([]string{"-n", "4", "--nodes", "4", "--degree", "2", "--timeout", pmixLimit, "--stall-after", "2s"}, args...)
	cmd := exec.Command(bin("golaunch"), args...)
	stopped, told := 0, false
	lines, _ := hear(t, cmd, cmd, func(line string) {
		_, _ = fmt.Sscanf(line, "stops %d", &stopped)
		told = told || lateFence.MatchString(line)
		if told && stopped > 0 { // it is said before the stop
			require.Eventually(t, func() bool { return state(t, stopped) == "T" }, limit, time.Millisecond)
			require.NoError(t, syscall.Kill(stopped, syscall.SIGCONT))
			stopped = 0
		}
	})
	return strings.Join(lines, "\n") + "\n", cmd.ProcessState.ExitCode()
}

// TestNoFenceHangsInSilence has the last rank of a world leave, or be late, where the others
// wait for it in a fence, by every protocol: they get an error, or the job has ended, and
// in each case a line names the rank.
func TestNoFenceHangsInSilence(t *testing.T) {
	const (
		died   = `(?m)^golaunch: rank 3 on \S+ \(pid \d+\) was killed by signal 9 \(killed\)`
		exited = `(?m)^golaunch: rank 3 on \S+ \(pid \d+\) exited with code 1`
		silent = `(?m)^golaunch: rank 3 on \S+ \(pid \d+\) exited with code 0 but without MPI_Finalize`
		left   = `(?m)^golaunch: hosts \S+: rank 3 on \S+ has finalized and ended: .* for the others|` +
			`(?m)^golaunch: hosts \S+: rank 3 on \S+ has finalized and ended: .* and fails for them$`
		itself = `(?m)^rank 0: fence failed: rank 3 on \S+ has left$` // the library names it
	)
	late := lateFence.String()
	protocols := []struct{ name, program, packages string }{
		{"PMI-1", "fences.pmi1", ""},
		{"PMI-2", "fences.pmi2", "libpmi2-0-dev"},
		{"PMIx 4", "fences.pmix", "libpmix-dev"},
		{"PMIx 5", "fences.pmix.openmpi5", "see scripts/openmpi5.sh"},
		{"the tree", "fences.tree", ""},
	}
	for _, x := range []struct {
		operation string
		code      int    // of the job
		message   string // golaunch, or the library of those that wait
		tree      string // instead, over the tree, where an exit with 0 is none without a word
		ends      bool   // the job is ended before anybody sees more, unless it keeps going
	}{
		{"killed", 137, died, died, true},
		{"exit0", 1, silent, itself, true},
		{"exit1", 1, exited, exited, true},
		{"finalized", 0, left, itself, false},
		{"late", 0, late, late, false},
	} {
		for _, p := range protocols {
			for _, before := range []string{"0", "1"} {
				for _, keep := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %s, after %s fences, keep going %v", x.operation, p.name, before, keep), func(t *testing.T) {
						t.Parallel()
						needBuilt(t, p.program, p.packages)
						code, message, ends := x.code, x.message, x.ends
						if p.name == "the tree" {
							message = x.tree
							if x.operation == "exit0" {
								code, ends = 0, false
							}
						}
						args := []string{bin(p.program), x.operation, before}
						if keep {
							args = append([]string{"--keep-going"}, args...)
						}
						if strings.HasPrefix(p.name, "PMIx") {
							args = append([]string{"--pmix"}, args...)
						}
						output, got := fenceJob(t, args...)
						require.Equal(t, code, got, output)
						require.Regexp(t, message, output)
						failed := len(regexp.MustCompile(`(?m)^rank [0-2]: fence failed`).FindAllString(output, -1))
						switch {
						case x.operation == "late":
							require.Equal(t, 4, strings.Count(output, ": fence ok\n"), output)
						case keep || !ends:
							require.Equal(t, 3, failed, output)
						default: // some may hear of it before they are told to end
							require.NotContains(t, output, "fence ok")
						}
					})
				}
			}
		}
	}
}

// TestFencesFailUnderEveryCachePolicy has nodes without the rank that left hear of it,
// whatever a fence takes there; gets and puts go on.
func TestFencesFailUnderEveryCachePolicy(t *testing.T) {
	for _, policy := range cache.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			output, code := fenceJob(t, "--cache", string(policy), bin("fences.pmi1"), "finalized", "2")
			require.Zero(t, code, output)
			require.Equal(t, 3, strings.Count(output, ": fence failed: cmd=barrier_out rc=-1 msg=rank_3_on_"), output)
		})
	}
}
