package launcher

import (
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher/trees"
)

// treeConfig is what the tree of the job's plan is started by.
func (r *run) treeConfig() *trees.Config { return r.options.treeConfig(r.plan, r.watched()) }

// watched reports whether the user, or a message at the end, shows how far the start is.
func (r *run) watched() bool { return r.report.status != nil || r.options.Ending.Timeout > 0 }

// treeConfig is what the tree of a plan is started by. watched says that
// somebody shows how far the start is.
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

// patience is for how long hosts are tried: one that others replace is given up soon,
// unless the user would wait.
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
