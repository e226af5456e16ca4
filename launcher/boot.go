package launcher

import (
	"context"
	"errors"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/overlay/rendezvous"
	"github.com/golaunch/golaunch/internal/stage"
)

// boot is the launcher's side of starting agents: the hosts as they travel,
// the starter for the root, and the keys, which never leave.
type boot struct {
	common    overlay.Common
	hosts     []overlay.HostEntry
	starter   *overlay.Starter
	authority bootstrap.Authority                                  // nil where nothing is to be signed
	lookUp    func(context.Context, job.HostIndex) (string, error) // bootstrap.Opened.LookUp
	gate      *overlay.Gate                                        // nil without relays
	bulk      *bulk                                                // nil unless agents call
}

func newBoot(ctx context.Context, o Options, plan *Plan, jobID string, inbox *overlay.Inbox, report *reporter) (*boot, error) {
	b := &boot{
		common: overlay.Common{
			StartOptions: o.Start,
			JobID:        jobID, Bootstrap: plan.Bootstrap, Degree: plan.Degree, Relayed: plan.relayed, Allocation: plan.allocation.key(),
			Grace: o.Ending.Grace, Trace: o.Report.TraceFile != "", Entries: o.Report.File != "", Progress: report.status != nil || o.Ending.Timeout > 0,
		},
		hosts: plan.entries(),
	}
	b.common.Levels = overlay.Levels(plan.toStart(b.hosts), plan.Degree, plan.relayed)
	b.common.StartOptions = o.patience(plan)
	if !o.Boot.CopyAgent && o.Start.AgentPath == "" {
		b.common.Agent = stage.SelfInstalled()
	}
	source, err := stage.Self()
	if err != nil {
		return nil, err
	}
	piper, err := b.open(ctx, o, plan, source, report)
	if err != nil {
		return nil, err
	}
	if len(plan.Relays) > 0 {
		if b.gate, err = overlay.NewGate(); err != nil {
			b.close()
			return nil, err
		}
		b.common.Gate = b.gate.Name()
	}
	noise := func(host job.HostIndex, line string) { inbox.Put(noiseHeard{host, line}) }
	b.starter = overlay.NewStarter(ctx, piper, source, b.common, inbox, noise)
	b.starter.Redial = true
	return b, nil
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

// open opens the bootstrap: what it takes to reach the hosts of a plan.
func (b *boot) open(ctx context.Context, o Options, plan *Plan, source stage.Source, report *reporter) (bootstrap.Piper, error) {
	asking, interrupt := context.WithCancelCause(ctx)
	opened, err := plan.kind.Open(asking, bootstrap.Job{
		Hosts: plan.Hosts, Values: o.Boot.Values, Limits: b.common.Limits(),
		Getenv: registry.Getenv(o.Boot.Environ), Note: report.note,
		Passphrase: func(file string, again bool) ([]byte, error) {
			word, err := o.attempt.passphrases.get(asking, file, again)
			if errors.Is(err, errInterrupted) {
				interrupt(err)
			}
			return word, err
		},
	})
	switch {
	case errors.Is(context.Cause(asking), errInterrupted):
		return nil, errInterrupted
	case err != nil:
		return nil, err
	}
	b.authority, b.lookUp, b.common.Setup = opened.Authority, opened.LookUp, opened.Setup
	for i := range b.hosts {
		if h := &b.hosts[i]; !h.Relay() && opened.Routes != nil {
			h.Reach(opened.Routes[h.Index])
		}
	}
	if !plan.kind.Bulk {
		return opened.Piper, nil
	}
	b.common.Bulk = true
	if b.bulk, err = startBulk(ctx, opened, plan.kind.Patience, plan.Hosts, source, b.common, report.note); err != nil {
		return nil, err
	}
	return &rendezvous.Piper{Here: b.bulk.calls, Within: b.bulk.within}, nil
}

// seal ends signing for good and lets go of the keys. No agent may call any more.
func (b *boot) seal() {
	if b.bulk != nil {
		b.bulk.calls.Close()
	}
	if b.authority != nil {
		b.authority.Seal()
	}
}

// close releases the keys, and the relays' gate, and waits for the end of agents
// that were started in bulk. b may be nil.
func (b *boot) close() {
	if b == nil {
		return
	}
	if b.bulk != nil {
		b.bulk.close()
	}
	if b.gate != nil {
		b.gate.Close()
	}
	if b.authority != nil {
		b.authority.Close()
	}
}
