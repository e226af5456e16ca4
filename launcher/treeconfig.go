package launcher

import (
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher/trees"
)

// treeConfig returns the configuration of the tree of the job's plan.
func (r *run) treeConfig() *trees.Config { return r.options.treeConfig(r.plan, r.watched()) }

// watched reports whether the user, or a message at the end, gets the state of the
// start.
func (r *run) watched() bool { return r.report.status != nil || r.options.Ending.Timeout > 0 }

// treeConfig returns the configuration of the tree of a plan. watched says that
// somebody shows the state of the start.
func (o *Options) treeConfig(plan *Plan, watched bool) *trees.Config {
	c := &trees.Config{
		Common: overlay.Common{
			StartOptions: o.patience(plan),
			Bootstrap:    plan.Bootstrap, Degree: plan.Degree, Relayed: plan.relayed, Allocation: plan.allocation.key(),
			Grace: o.Ending.Grace, Trace: o.Report.TraceFile != "", Entries: o.Report.File != "", Progress: watched,
		},
		Kind: plan.kind, Values: o.Boot.Values, Environ: o.Boot.Environ,
		Hosts: plan.Hosts, Relays: plan.Relays, Entries: plan.entries(), InOrder: plan.toStart,
		Installed: !o.Boot.CopyAgent && o.Start.AgentPath == "",
		Ask:       o.attempt.passphrases,
	}
	c.Common.Levels = overlay.Levels(plan.toStart(c.Entries), plan.Degree, plan.relayed)
	return c
}

// patience sets the time that hosts are tried for: one that others replace is given up
// soon, unless the user would wait.
func (o *Options) patience(plan *Plan) overlay.StartOptions {
	s := o.Start
	replaced := o.Hosts.AllowDeadNodes && plan.redundant()
	if o.Hosts.Wait || !replaced {
		s.MissAfter = 0
	}
	if o.Hosts.Wait || !replaced && o.Hosts.Spares == 0 {
		s.LateAfter = 0
	}
	if o.Hosts.Wait {
		s.UnknownAfter = 0
	}
	return s
}
