package pmi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/golaunch/golaunch/job"
)

// TestScenarios runs testdata/*.txt: conversations to be read from top to
// bottom. Commands:
//
//	world nodes=N ppn=N    begin anew
//	send rank=N            the rank sends the lines below; "\" at the end of
//	                       one keeps its line feed back
//	eof rank=N             the rank closes its connection
//	phase                  show every rank's phase
//
// The output is everything that came of it, at every rank.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var rank, nodes, ppn int
			switch d.Cmd {
			case "world":
				d.ScanArgs(t, "nodes", &nodes)
				d.ScanArgs(t, "ppn", &ppn)
				w = newWorld(t, nodes, ppn, nil)
			case "send":
				d.ScanArgs(t, "rank", &rank)
				text := strings.ReplaceAll(d.Input+"\n", "\\\n", "")
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
			for _, line := range strings.Split(got, "\n") {
				fmt.Fprintf(&b, "%d <- %s\n", r, line)
			}
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
	w.aborts, w.violations, w.hangups, w.notes = nil, nil, nil, nil
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
