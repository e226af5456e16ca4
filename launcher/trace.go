package launcher

import (
	"slices"

	"github.com/golaunch/golaunch/internal/report"
)

// writeTrace writes what is known of when each step took place.
func (r *run) writeTrace() error {
	t := report.Trace{Job: r.jobID, Begin: r.clock.begin, Phases: r.clock.phases(), Starts: r.subtree.Starts(), Name: r.hostName}
	if c := r.counted.of; c != nil {
		r.subtree.TellClocks(c.Nodes, 0)
		t.Nodes, t.Ranks = c.Nodes, c.Ranks
	}
	return r.writeFile("--trace", r.options.Report.TraceFile, privateMode, t.Encode)
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
