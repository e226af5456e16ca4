package launcher

import (
	"github.com/golaunch/golaunch/internal/report"
)

// writeTrace writes what is known of when each step took place.
func (r *run) writeTrace() error {
	t := report.Trace{Job: r.tree.id, Begin: r.began, Phases: r.phases(), Starts: r.tree.starts(), Name: r.hostName}
	if c := r.counted.of; c != nil {
		r.tree.onOurClock(c.Nodes)
		t.Nodes, t.Ranks = c.Nodes, c.Ranks
	}
	return r.writeFile("--trace", r.options.Report.TraceFile, privateMode, t.Encode)
}

// phases are the marks of the job and of its tree in order of time.
func (r *run) phases() []report.Phase {
	var phases []report.Phase
	for _, m := range r.marks() {
		phases = append(phases, report.Phase{Name: m.phase, End: m.at})
	}
	return phases
}
