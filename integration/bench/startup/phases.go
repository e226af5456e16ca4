package startup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/golaunch/golaunch/internal/report"
)

// phaseRow is one job of pmistart, by its report: the ends of phases, in milliseconds
// since golaunch began, and the agents' messages.
type phaseRow struct {
	nodes, ppn int
	degree     int
	over       map[string]float64 // by the names of phaseNames
	sent       [report.NumStreams]report.Count
	agentCPU   float64 // seconds, of all agents
}

// phaseNames are the columns: the launcher's phases by their names in the report, and
// those that the ranks' times add to them.
var phaseNames = []string{"resolve", "connect", "agents up", "launch sent", firstRank, lastRank, "ranks started", exchanged, "ranks ended", "output drained", "tree down"}

const (
	firstRank = "first rank"
	lastRank  = "last rank"
	exchanged = "PMI exchange"
)

// phaseJobs runs jobs once that write a report: that takes a message more, so
// they are not among those that are timed.
func (b *bench) phaseJobs(ctx context.Context, f *field) error {
	var shapes []task
	for _, n := range b.nodes {
		shapes = append(shapes, task{nodes: n, ppn: 1})
	}
	for _, ppn := range b.ranks {
		shapes = append(shapes, task{nodes: b.most(full), ppn: ppn})
	}
	for _, t := range shapes {
		t.program = []string{filepath.Join(b.bin, "native", "pmistart")}
		file := filepath.Join(f.dir, "report.json")
		_, out, _, err := f.once(ctx, f.limit, runner{argv: f.golaunch(t, "--report", file)})
		if err != nil {
			return fmt.Errorf("golaunch with --report: %w", err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		row, err := readReport(text, out)
		if err != nil {
			return fmt.Errorf("%d × %d: %w", t.nodes, t.ppn, err)
		}
		row.nodes, row.ppn = t.nodes, t.ppn
		b.book.phases = append(b.book.phases, row)
	}
	return b.save()
}

// readReport makes a row of a report and of pmistart's output. All clocks are this
// machine's.
func readReport(text []byte, out string) (phaseRow, error) {
	var doc report.Report
	if err := json.Unmarshal(text, &doc); err != nil {
		return phaseRow{}, err
	}
	row := phaseRow{degree: doc.Job.Degree, over: map[string]float64{}}
	since := func(t time.Time) float64 { return t.Sub(doc.Begin).Seconds() * 1000 }
	for _, p := range doc.Phases {
		row.over[p.Name] = since(p.End)
	}
	for _, r := range doc.Ranks {
		if r.Start == nil {
			return row, fmt.Errorf("rank %d was not started", r.Rank)
		}
		at := since(*r.Start)
		if first, ok := row.over[firstRank]; !ok || at < first {
			row.over[firstRank] = at
		}
		row.over[lastRank] = max(row.over[lastRank], at)
	}
	var last, end float64
	if _, err := fmt.Sscan(out, &last, &end); err != nil {
		return row, fmt.Errorf("pmistart printed %.60q: %w", out, err)
	}
	row.over[exchanged] = (end - float64(doc.Begin.UnixNano())/1e9) * 1000
	for _, l := range doc.Levels {
		row.agentCPU += l.Sum.Agent.CPU
		for i, name := range report.StreamNames {
			row.sent[i].Add(l.Sum.Streams[name].Sent)
		}
	}
	return row, nil
}
