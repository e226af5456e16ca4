package launcher

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/launcher/trees"
	"github.com/golaunch/golaunch/tree"
)

// from is a message of the root agent.
func from(kind tree.Kind, body any) overlay.Message {
	return overlay.Message{Stream: link.Service, Header: tree.Header{Kind: kind}, Value: body}
}

// Counters are the last that the launcher hears: it must not take some for the
// end of a job that runs.
func TestCountersThatNobodyAskedFor(t *testing.T) {
	r := &run{}
	r.join()
	require.ErrorContains(t, r.Message(from(overlay.KindCollected, report.Collected{})), "nobody asked for")
	require.False(t, r.over)
	r.account.asked = true
	require.NoError(t, r.Message(from(overlay.KindCollected, report.Collected{})))
	require.True(t, r.over)
}

func TestStartFailuresOfRanksThatDoNotExist(t *testing.T) {
	p, err := NewPlan(options(t, "a,b", 2), "here")
	require.NoError(t, err)
	w := &world{plan: p, by: &overlay.SpawnRequest{Spawn: *spawnOf(2)}}
	r := &run{plan: p}
	r.join()
	codes, err := r.worlds.startFailures(w, []overlay.StartFailure{{First: 1, Count: 1, Code: 127, Text: "not found"}})
	require.ErrorContains(t, err, "1 process was not started: on a: not found")
	require.Equal(t, []int{0, 127}, codes)
	for _, f := range []overlay.StartFailure{{First: -1, Count: 1}, {First: 1, Count: 2}, {Count: 1 << 62}, {First: 1, Count: -1}, {}} {
		_, err := r.worlds.startFailures(w, []overlay.StartFailure{f})
		require.ErrorContains(t, err, "which do not exist")
	}
}

// Of a rank that was lost with its node no end of output comes: its unfinished last
// line is printed at the end of all output.
func TestTheLastLineOfALostRank(t *testing.T) {
	o := options(t, "a,b", 2)
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	r := &run{plan: p}
	r.join()
	r.tree = trees.New(r, nil)
	var stdout strings.Builder
	r.output.printer, err = newPrinter(*o, p, "job", IO{Stdout: &stdout, Stderr: &strings.Builder{}}, &reporter{w: io.Discard})
	require.NoError(t, err)
	require.NoError(t, r.output.printer.prepare(0, p))
	r.output.take(tree.Header{Kind: overlay.KindOutput, Job: job.Cold}, overlay.AppendChunk(nil, job.RankID{Rank: 1}, stdio.Stdout, []byte("so far")))
	require.Empty(t, stdout.String())
	r.output.take(tree.Header{Kind: overlay.KindDrained, Job: job.Cold}, nil)
	require.Equal(t, "so far", strings.TrimSuffix(stdout.String(), "\n"))
}
