package launcher

import (
	"github.com/golaunch/golaunch/internal/report"
)

// writeTrace writes the known times of steps.
func (acc *account) writeTrace() error {
	t := report.Trace{Job: acc.job.tree.ID(), Begin: acc.began, Phases: acc.phases(), Starts: acc.job.tree.Starts(), Name: acc.job.hostName}
	if c := acc.of; c != nil {
		acc.job.tree.OnOurClock(c.Nodes)
		t.Nodes, t.Ranks = c.Nodes, c.Ranks
	}
	return acc.writeFile("--trace", acc.job.options.Report.TraceFile, privateMode, t.Encode)
}

// phases returns the marks of the job and of its tree in order of time.
func (acc *account) phases() []report.Phase {
	var phases []report.Phase
	for _, m := range acc.marks() {
		phases = append(phases, report.Phase{Name: m.Phase, End: m.At})
	}
	return phases
}
