package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/report"
)

// jobReport is the report of --report.
type jobReport struct{ report.Report }

// board is the bulletin board's counters over all agents.
func (r jobReport) board() (b report.Board) {
	for _, l := range r.Levels {
		s := l.Sum.Board
		b.Puts += s.Puts
		b.Gets += s.Gets
		b.Hits += s.Hits
		b.Misses += s.Misses
		b.NotFound += s.NotFound
		b.Evictions += s.Evictions
	}
	return b
}

// reported runs golaunch on this machine and reads its report.
func reported(t *testing.T, args ...string) (result, jobReport) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	r := local(t, "", append([]string{"--report", path}, args...)...)
	return r, readReport(t, path)
}

func readReport(t *testing.T, path string) (doc jobReport) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc.Report), "%s", text)
	require.Equal(t, report.SchemaVersion, doc.Schema)
	return doc
}

func TestReportOfATree(t *testing.T) {
	r, doc := reported(t, "--stats", "-n", "14", "--nodes", "7", "--degree", "2", bin("pmiclient"), "-q")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout)
	require.Regexp(t, `(?m)^golaunch: 14 ranks on 7 nodes, degree 2, cache hcmab$`, r.stderr)
	require.Regexp(t, `(?m)^golaunch: level 2 +4 +8 +16 +16 +0 +0 +0 `, r.stderr, "8 ranks put one key each and get two")
	require.Nil(t, doc.Cause)
	require.Zero(t, doc.Status)
	require.Equal(t, []int{1, 2, 4}, []int{doc.Levels[0].Agents, doc.Levels[1].Agents, doc.Levels[2].Agents})
	require.Len(t, doc.Nodes, 7)
	require.Equal(t, []string{"", doc.Nodes[0].Host, doc.Nodes[1].Host, doc.Nodes[1].Host, doc.Nodes[0].Host},
		[]string{doc.Nodes[0].Parent, doc.Nodes[1].Parent, doc.Nodes[2].Parent, doc.Nodes[3].Parent, doc.Nodes[4].Parent})
	for _, n := range doc.Nodes {
		require.Len(t, n.Phases, 6, n.Host)
		for i, p := range n.Phases[1:] {
			require.False(t, p.End.Before(n.Phases[i].End), "%s of %s is in order", p.Name, n.Host)
		}
	}
	// The launch; where the ranks can meet, to each child; two fences (pmiclient has one
	// before finalize) of one aggregate from each child of the root, and as many states
	// back.
	kvs := doc.Nodes[0].Streams["kvs"]
	require.EqualValues(t, 1+2*2, kvs.Received.Messages)
	require.EqualValues(t, 2+2+2*2, kvs.Sent.Messages)
	require.Len(t, doc.Ranks, 14)
	for i, k := range doc.Ranks {
		require.Equal(t, i, k.Rank)
		require.Equal(t, doc.Nodes[i/2].Host, k.Host)
		require.Equal(t, report.Succeeded, k.Outcome)
		require.Positive(t, k.PID)
		require.Positive(t, k.MaxRSS)
		require.True(t, k.End.After(*k.Start))
		require.True(t, k.Start.After(doc.Begin) && k.End.Before(doc.End), "one machine has one clock")
	}
}

// A report of a job that failed says how each rank ended.
func TestReportOfAFailure(t *testing.T) {
	r, doc := reported(t, "-n", "4", "--nodes", "2", "--keep-going", "sh", "-c",
		`case $PMI_RANK in 1) exit 3;; 2) kill -KILL $$;; esac`)
	require.NotZero(t, r.code)
	require.Equal(t, r.code, doc.Status)
	require.NotNil(t, doc.Cause)
	require.Len(t, doc.Failures, 2)
	require.ElementsMatch(t, []string{"exit", "signal"}, []string{doc.Failures[0].Class, doc.Failures[1].Class})
	require.Equal(t, []any{report.Failed, 3, 0}, []any{doc.Ranks[1].Outcome, doc.Ranks[1].ExitCode, doc.Ranks[1].Signal})
	require.Equal(t, []any{report.Failed, 0, int(syscall.SIGKILL)}, []any{doc.Ranks[2].Outcome, doc.Ranks[2].ExitCode, doc.Ranks[2].Signal})
	require.Equal(t, report.Succeeded, doc.Ranks[3].Outcome)

	_, doc = reported(t, "-n", "2", "sh", "-c", `[ $PMI_RANK = 1 ] && exit 3; exec sleep 100`)
	require.Equal(t, report.Ended, doc.Ranks[0].Outcome)
	require.Equal(t, int(syscall.SIGTERM), doc.Ranks[0].Signal)

	_, doc = reported(t, "-n", "1", "/nowhere/at/all")
	require.Equal(t, 127, doc.Status)
	require.Equal(t, report.NotStarted, doc.Ranks[0].Outcome)
	require.Nil(t, doc.Ranks[0].Start)

	r = local(t, "", "--report", "/nowhere/at/all", "-n", "1", "echo", "ran")
	require.Equal(t, 2, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "--report: open /nowhere/at/all: no such file or directory")

	r = local(t, "", "--report", "-", "-n", "1", "echo", "ran")
	require.Zero(t, r.code, r.stderr)
	text, found := strings.CutPrefix(r.stdout, "ran\n")
	require.True(t, found, r.stdout)
	doc = jobReport{}
	require.NoError(t, json.Unmarshal([]byte(text), &doc.Report), "standard output")
	require.Equal(t, report.Succeeded, doc.Ranks[0].Outcome)
}

// 200 agents fit a screen, and their counts add up.
func TestStatsOfTwoHundredNodes(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 200, "-n", "400", "-N", "2", "--degree", "8", "--stats", bin("pmiclient"), "-q")
	require.Zero(t, r.code, r.stderr)
	lines := 0
	for _, b := range []byte(r.stderr) {
		if b == '\n' {
			lines++
		}
	}
	require.Less(t, lines, 45, r.stderr)
	require.Regexp(t, `(?m)^golaunch: all +200 +400 +800 +800 +0 +0 +0 `, r.stderr)
}
