package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
)

// A job on two nodes, the clock of one 1 s ahead, the other's 2 s behind that.
func aTrace() *report.Trace {
	begin := time.Unix(1_800_000_000, 0)
	at := func(ms, ahead int) time.Time { return begin.Add(time.Duration(ms+ahead) * time.Millisecond) }
	phases := func(ahead, begin int) (all []report.Phase) {
		for i, name := range []string{"agent up", "range received", "subtree up", "launch received", "ranks started", "ranks ended"} {
			all = append(all, report.Phase{Name: name, End: at(begin+10*(i+1), ahead)})
		}
		return all
	}
	steps := func(ahead, ms int) []report.Step {
		return []report.Step{
			{Name: "connect", Begin: at(ms, ahead), End: at(ms+2, ahead)},
			{Name: "agent hello", Begin: at(ms+2, ahead), End: at(ms+8, ahead)},
		}
	}
	node := func(h, parent job.HostIndex, ahead, ms int) report.Node {
		link := ahead
		if parent == 0 {
			link -= 1000 // of the parent's
		}
		return report.Node{Host: h, Parent: parent, Phases: phases(ahead, ms), Trace: &report.NodeTrace{
			Begin: at(ms, ahead),
			Steps: []report.Step{
				{Track: report.TrackWarden, Name: "start warden", Begin: at(ms+21, ahead), End: at(ms+23, ahead)},
				{Track: report.TrackSpawn, Name: "spawn ranks", Begin: at(ms+42, ahead), End: at(ms+44, ahead), Count: 2},
				{Track: report.TrackExit, Name: "exits", Begin: at(ms+58, ahead), End: at(ms+60, ahead), Count: 2},
				{Track: report.TrackFiles, Name: "receive files", Begin: at(ms+41, ahead)}, // killed before it was done
			},
			Fences: []report.Fence{{Number: 1, First: at(ms+50, ahead), Last: at(ms+51, ahead), Released: at(ms+55, ahead)}},
			Clock:  []report.Offset{{At: at(ms, ahead), Ahead: time.Duration(link) * time.Millisecond, Within: 40 * time.Microsecond}},
		}}
	}
	root := node(0, job.NoHost, 1000, 20)
	root.Trace.Starts = []report.Start{
		{Host: 1, Begin: at(45, 1000), End: at(46, 1000), Error: "host n1: connect: refused", Steps: steps(1000, 45)[:1]},
		{Host: 1, Begin: at(47, 1000), End: at(56, 1000), Steps: steps(1000, 47)},
	}
	root.Trace.FencesLeft = 5
	return &report.Trace{
		Job: "abc", Begin: begin,
		Phases: []report.Phase{{Name: "resolve", End: at(5, 0)}, {Name: "connect", End: at(30, 0)}, {Name: "tree down", End: at(200, 0)}},
		Starts: []report.Start{{Host: 0, Begin: at(6, 0), End: at(15, 0), Steps: steps(0, 6)}},
		Nodes:  []report.Node{node(1, 0, -1000, 50), root, {Host: 2, Parent: 1, Phases: phases(0, 60)}},
		Ranks: []report.Rank{
			{Rank: 0, Host: 0, PID: 7, Outcome: report.Succeeded, Start: at(62, 1000), End: at(78, 1000)},
			{Rank: 1, Host: 1, PID: 8, Outcome: report.Failed, Signal: 9, Start: at(92, -1000), End: at(108, -1000)},
			{Rank: 2, Host: 1, Outcome: report.NotStarted},
		},
		Name: func(h job.HostIndex) string { return fmt.Sprint("n", h) },
	}
}

// The golden file opens in Perfetto. GOLDEN=write writes it anew.
func TestTraceAsGolden(t *testing.T) {
	const golden = "testdata/trace.json"
	var got bytes.Buffer
	require.NoError(t, aTrace().Encode(&got))
	if os.Getenv("GOLDEN") == "write" {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// On one time axis, what happens on a node happens when it did, though its clock
// shows another time; and what is part of something lies in it.
func TestTraceHasOneClock(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, aTrace().Encode(&text))
	var doc report.TraceJSON
	require.NoError(t, json.Unmarshal(text.Bytes(), &doc))
	at := map[string]float64{}
	type row struct{ node, row int }
	open := map[row][]float64{} // ends of the spans that enclose the next
	for _, e := range doc.Events {
		if e.Kind == "M" {
			continue
		}
		at[fmt.Sprint(e.Node, " ", e.Name)] = e.At
		r := row{e.Node, e.Row}
		for n := len(open[r]); n > 0 && open[r][n-1] <= e.At; n-- {
			open[r] = open[r][:n-1]
		}
		if n := len(open[r]); n > 0 {
			require.LessOrEqual(t, e.At+e.For, open[r][n-1], "%v lies in what encloses it", e)
		}
		open[r] = append(open[r], e.At+e.For)
	}
	require.Equal(t, 6_000.0, at["0 start n0"])
	require.Equal(t, 20_000.0, at["1 agent"])
	require.Equal(t, 47_000.0, at["1 start n1"])
	require.Equal(t, 50_000.0, at["2 agent"])
	require.Equal(t, 100_000.0, at["2 fence 1"])
	require.Equal(t, 92_000.0, at["2 rank 1"])
	require.NotContains(t, at, "2 rank 2")
	require.NotContains(t, at, "1 receive files")
	require.Equal(t, []report.TraceClock{
		{Host: "n0", First: 1e6, Last: 1e6, Within: 40, Known: true},
		{Host: "n1", Parent: "n0", First: -1e6, Last: -1e6, Within: 80, Known: true},
		{Host: "n2", Parent: "n1", First: -1e6, Last: -1e6, Within: 80},
	}, doc.Other.Clocks)
}

// The schema in docs has every member of the JSON, and no other.
func TestTraceSchemaIsComplete(t *testing.T) {
	text, err := os.ReadFile(fmt.Sprintf("../../docs/trace-v%d.schema.json", report.TraceVersion))
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	covers(t, "trace", schema, schema, reflect.TypeFor[report.TraceJSON]())
}
