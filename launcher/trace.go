package launcher

import (
	"os"
	"slices"

	"github.com/golaunch/golaunch/report"
)

// traceMode keeps a trace to its owner: it names hosts, and how they are reached.
const traceMode = 0o600

// prepareTrace makes sure that the trace can be written, by nobody else read.
func prepareTrace(path string) error {
	err := prepareFile("--trace", path, traceMode)
	if err != nil || path == "" || path == standardOutput {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return os.Chmod(path, traceMode) // one that was there before
	}
	return nil
}

// writeTrace writes what is known of when each step took place.
func (r *run) writeTrace() error {
	t := report.Trace{Job: r.jobID, Begin: r.clock.begin, Phases: r.clock.phases(), Starts: r.subtree.Starts(), Name: r.hostName}
	if c := r.counted.of; c != nil {
		r.subtree.TellClocks(c.Nodes, 0)
		t.Nodes, t.Ranks = c.Nodes, c.Ranks
	}
	return r.writeFile("--trace", r.TraceFile, traceMode, t.Encode)
}

// phases are the marks in order of time.
func (c *clock) phases() []report.Phase {
	var phases []report.Phase
	for _, m := range c.marks {
		phases = append(phases, report.Phase{Name: m.phase, End: m.at})
	}
	slices.SortStableFunc(phases, func(x, y report.Phase) int { return x.End.Compare(y.End) })
	return phases
}
