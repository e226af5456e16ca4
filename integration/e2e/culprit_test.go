package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// culpritRuns returns the number of runs of each job of TestTheCulpritIsNamed, from
// CULPRIT_RUNS.
func culpritRuns(t *testing.T) int {
	text := os.Getenv("CULPRIT_RUNS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "CULPRIT_RUNS")
	return n
}

// A rank ends without a word; its peers see their connections close and abort.
// They may be heard of first: the rank is to blame all the same. The nodes' clocks are
// seconds apart, the root's in between.
func TestTheCulpritIsNamed(t *testing.T) {
	needMPI(t)
	c := ownCluster(t, 4)
	for node, ahead := range map[string]time.Duration{"n001": 5 * time.Second, "n002": 1000 * time.Second, "n003": 0, "n004": 9 * time.Second} {
		require.NoError(t, c.Ahead(node, ahead))
	}
	for _, node := range []string{"n001", "n002", "n003", "n004"} {
		r := onNode(t, c, cluster.Head, "-H", node, "--ssh-config", c.SSHConfig(), "-n", "1", "cat", "/proc/uptime")
		require.Zero(t, r.code, r.stderr)
		t.Logf("%s has been up for %s", node, r.stdout)
	}
	for _, program := range []string{"mpidie", "mpidie.openmpi"} {
		for blow, x := range map[string]struct {
			code    int
			message string
		}{
			"exit": {3, "exited with code 3"},
			"kill": {128 + 9, `was killed by signal 9 \(killed\)`},
			"segv": {128 + 11, `was killed by signal 11 \(segmentation fault\)`},
		} {
			t.Run(program+" "+blow, func(t *testing.T) {
				if program == "mpidie.openmpi" {
					needOpenMPI(t)
				}
				for i := range culpritRuns(t) {
					rank := strconv.Itoa(i % 4) // at the tree's root and at its leaves
					r := over(t, c, 4, "-n", "4", "-N", "1", "--degree", "2", bin(program), rank, blow)
					require.Equal(t, x.code, r.code, r.stderr)
					require.Regexp(t, `(?m)^golaunch: rank `+rank+` on n00\d \(pid \d+\) `+x.message, r.stderr)
					require.NotRegexp(t, `(?m)^golaunch: rank [^`+rank+`] `, r.stderr)
				}
			})
		}
	}
}

// Ranks that end at once, with a code of their own, when they see a peer's connection
// end: golaunch may hear of them first. Ends by a code, of which nothing but their
// times tells the first, are measured by integration/bench/culprit.
func TestTheCulpritOverSockets(t *testing.T) {
	c := theCluster(t)
	star, err := filepath.Abs("testdata/star.py")
	require.NoError(t, err)
	for _, x := range []struct {
		ranks int
		argv  []string
	}{{2, []string{bin("peerend")}}, {8, []string{"python3", star}}} {
		for name, sig := range map[string]int{"kill": 9, "segv": 11} {
			for i := range culpritRuns(t) {
				rank := strconv.Itoa((i + 1) % x.ranks)
				r := over(t, c, x.ranks, slices.Concat([]string{"-n", strconv.Itoa(x.ranks), "-N", "1"}, x.argv, []string{rank, name})...)
				require.Equal(t, 128+sig, r.code, r.stderr)
				require.Regexp(t, `(?m)^golaunch: rank `+rank+` on n00\d \(pid \d+\) was killed by signal `+strconv.Itoa(sig), r.stderr)
			}
		}
	}
}

// An exit after MPI_Finalize is no concern of the other ranks; its code counts.
func TestExitAfterFinalize(t *testing.T) {
	needMPI(t)
	r := local(t, "", "-n", "3", "--nodes", "3", bin("mpidie"), "1", "late")
	require.Equal(t, 3, r.code, r.stderr)
	require.ElementsMatch(t, []string{"rank 0 is through", "rank 2 is through"}, r.lines())
	require.Regexp(t, `(?m)^golaunch: rank 1 on \S+ \(pid \d+\) exited with code 3, after finalize$`, r.stderr)
}
