package pmi_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// TestScenarios runs testdata/scenarios/*.txt: conversations to be read from top to
// bottom. Commands:
//
//	world nodes=N ppn=N    begin anew; version=1.2 grants that version
//	unmappable             from now on the bulletin board cannot be mapped
//	send rank=N            the rank sends the lines below; "\" at the end of
//	                       one keeps its line feed back
//	send2 rank=N           the rank sends each line below as a PMI-2 message
//	eof rank=N             the rank closes its connection
//	phase                  show every rank's phase
//
// The output is everything that came of it, at every rank.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "scenarios"), func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var rank, nodes, ppn int
			switch d.Cmd {
			case "world":
				d.ScanArgs(t, "nodes", &nodes)
				d.ScanArgs(t, "ppn", &ppn)
				w = newWorld(t, nodes, ppn, func(w *pmi.World) {
					if d.HasArg("version") {
						d.ScanArgs(t, "version", &w.Version)
					}
				})
				w.spawned.JobID = "kvs_spawned"
			case "unmappable":
				w.unmapped = errors.New("no such luck")
			case "send":
				d.ScanArgs(t, "rank", &rank)
				text := strings.ReplaceAll(d.Input+"\n", "\\\n", "")
				w.send(job.Rank(rank), text)
			case "send2":
				d.ScanArgs(t, "rank", &rank)
				var text string
				for line := range strings.Lines(d.Input) {
					text += frame(strings.TrimSuffix(line, "\n"))
				}
				w.send(job.Rank(rank), text)
			case "eof":
				d.ScanArgs(t, "rank", &rank)
				w.eof(job.Rank(rank))
			case "phase":
				return w.phases()
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return w.news()
		})
	})
}

func (w *world) phases() string {
	var b strings.Builder
	for r := range len(w.nodes) * w.ppn {
		fmt.Fprintf(&b, "rank %d: %v\n", r, w.node(job.Rank(r)).server.Phase(job.Rank(r)))
	}
	return b.String()
}

// news renders what came out since it was last called.
func (w *world) news() string {
	var b strings.Builder
	for r := range len(w.nodes) * w.ppn {
		if got := w.take(job.Rank(r)); got != "" {
			for _, line := range split(w.t, got) {
				fmt.Fprintf(&b, "%d <- %s\n", r, line)
			}
		}
	}
	for _, q := range w.spawns {
		fmt.Fprintf(&b, "spawn: preput %q\n", q.Preput)
		for _, c := range q.Commands {
			fmt.Fprintf(&b, "  %d × %q %q info %q hints %+v\n", c.Procs, c.Exec, c.Args, c.Info, c.Hints)
		}
	}
	for _, a := range w.aborts {
		fmt.Fprintf(&b, "abort: rank %d code %d text %q\n", a.Rank, a.Code, a.Text)
	}
	for _, v := range w.violations {
		fmt.Fprintf(&b, "violation: %v\n", v)
	}
	for _, h := range w.hangups {
		fmt.Fprintf(&b, "hangup: rank %d\n", h.Rank)
	}
	for _, n := range w.notes {
		fmt.Fprintf(&b, "note: rank %d %s\n", n.Rank, n.Text)
	}
	w.spawns, w.aborts, w.violations, w.hangups, w.notes = nil, nil, nil, nil, nil
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
