package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	stateLine = regexp.MustCompile(`^golaunch: at that time: ((?:, )?(?:ranks? [0-9,-]+ on [^\s,:]+(?:, )?)+): (.*)$`)
	stateRank = regexp.MustCompile(`ranks? ([0-9,-]+) on `)
)

// statesAtTheEnd returns golaunch's word for each rank when a job's time is up.
func statesAtTheEnd(t *testing.T, stderr string) map[int]string {
	t.Helper()
	states := map[int]string{}
	for line := range strings.Lines(stderr) {
		m := stateLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		for _, ranks := range stateRank.FindAllStringSubmatch(m[1], -1) {
			for _, run := range strings.Split(ranks[1], ",") {
				from, to, several := strings.Cut(run, "-")
				if !several {
					to = from
				}
				first, err := strconv.Atoi(from)
				require.NoError(t, err, line)
				last, err := strconv.Atoi(to)
				require.NoError(t, err, line)
				for rank := first; rank <= last; rank++ {
					require.NotContains(t, states, rank, stderr)
					states[rank] = m[2]
				}
			}
		}
	}
	return states
}

// At the time limit golaunch says of each rank of MPI where it is, for how long,
// and what its process does. The programs here never end, in three ways.
//
//report:ends open-mpi/ompi#1724, open-mpi/ompi#10698, pmodels/mpich#7084 what ranks do when the time is up
func TestATimeLimitTellsWhatRanksDo(t *testing.T) {
	const (
		used    = `; used \d+(-\d+)? % of a processor, `
		since   = `, for \d+(-\d+)? s`
		between = `between MPI_Init and MPI_Finalize, in no call of `
		atWork  = `(running|runnable|asleep \(.*\))$`
		busy    = `(running|runnable)$`
		asleep  = `asleep( \(\w+\))?$`
		polls   = `(runnable|asleep( \(\w+\))?)$` // now and then
	)
	run := func(t *testing.T, argv []string, want [4]string) {
		t.Parallel()
		r := local(t, "", append([]string{"-n", "4", "--nodes", "2", "--timeout", "15s", "--stall-after", "0"}, argv...)...)
		require.Equal(t, 124, r.code, r.stderr)
		require.Contains(t, r.stderr, "golaunch: the job has not ended within 15s: it is killed\n")
		states := statesAtTheEnd(t, r.stderr)
		for rank, text := range want {
			require.Regexp(t, "^"+text, states[rank], "rank %d\n%s", rank, r.stderr)
		}
		require.Len(t, states, 4, r.stderr)
	}
	ways := func(t *testing.T, flags []string, program, service, ends, idle, first string) {
		between := between + service
		spins, sleeps := between+since+used+atWork, between+since+used+asleep
		line := append(flags, program)
		line = line[:len(line):len(line)] // each appends to a copy
		t.Run("barrier", func(t *testing.T) {
			run(t, append(line, "barrier"), [4]string{spins, sleeps, spins, spins})
		})
		t.Run("cycle", func(t *testing.T) {
			run(t, append(line, "cycle"), [4]string{spins, spins, spins, spins})
		})
		t.Run("compute", func(t *testing.T) {
			computes, waits := between+since+used+busy, ends+since+used+idle
			if first == "" {
				first = waits
			}
			run(t, append(line, "compute"), [4]string{first, computes, waits, waits})
		})
	}
	const finalize = `in MPI_Finalize, or at the end of MPI_Init: in `
	t.Run("mpihang", func(t *testing.T) {
		needBuilt(t, "mpihang", "libmpich-dev mpich")
		ways(t, nil, bin("mpihang"), "PMI", finalize+`PMI's barrier number \d of the world`, asleep, "")
	})
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		needBuilt(t, "mpihang"+m.suffix, "what its library needs")
		const service = "PMIx that all ranks of its node have made"
		// That rank 0 waits for rank 1 of its node, no agent knows.
		ways(t, m.flags, m.bin("mpihang"), service, finalize+`PMIx's fence number \d of the world`, polls, between+service+since+used+polls)
	})
	// Of a rank that is a script, the program that it runs is looked at.
	t.Run("in a script", func(t *testing.T) {
		needBuilt(t, "mpihang", "libmpich-dev mpich")
		run(t, []string{"sh", "-c", bin("mpihang") + " compute; true"}, [4]string{
			1: between + "PMI" + since + `; its process mpihang used \d+(-\d+)? % of a processor, ` + busy,
			2: finalize + `.*; its process mpihang used \d+(-\d+)? % of a processor, ` + asleep,
		})
	})
}

// TestASilentNodeIsNamedAtTheTimeLimit has an agent that is stopped: it is named, and
// what the others know is told without it.
func TestASilentNodeIsNamedAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := startLocal(t, 3, "--nodes", "3", "--degree", "1", "--timeout", "15s", "--grace", "1s", "--lost-after", "20s",
		"sh", "-c", "echo $PPID >"+dir+"/$RANK; echo here; exec sleep 1000")
	warden, err := os.ReadFile(filepath.Join(dir, "2"))
	require.NoError(t, err)
	parent, err := exec.Command("ps", "-o", "ppid=", "-p", strings.TrimSpace(string(warden))).Output()
	require.NoError(t, err)
	agent, err := strconv.Atoi(strings.TrimSpace(string(parent)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(agent, syscall.SIGCONT) })
	require.NoError(t, syscall.Kill(agent, syscall.SIGSTOP))
	j.over(t, 124)
	require.Regexp(t, `(?m)^golaunch: at that time: host \S+\.2 does not answer: what ranks do there, and below in the tree, is not known$`, j.errorText(t))
	states := statesAtTheEnd(t, j.errorText(t))
	require.Len(t, states, 2, j.errorText(t))
	require.Regexp(t, `^before MPI_Init; used \d+ % of a processor, asleep`, states[0], j.errorText(t))
	require.Equal(t, states[0], states[1])
}
