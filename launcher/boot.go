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
	start     []overlay.HostEntry // the same in the pre-order of the tree
	starter   *overlay.Starter
	authority bootstrap.Authority                                  // nil where nothing is to be signed
	lookUp    func(context.Context, job.HostIndex) (string, error) // bootstrap.Opened.LookUp
	gate      *overlay.Gate                                        // nil without relays
	orphans   bool                                                 // bootstrap.Kind.Orphans
	bulk      *bulk                                                // nil unless agents call
}

func newBoot(ctx context.Context, c *treeConfig, id string, inbox *overlay.Inbox, report *reporter) (*boot, error) {
	b := &boot{common: c.common, hosts: c.entries, orphans: c.kind.Orphans}
	b.common.JobID = id
	if c.installed {
		b.common.Agent = stage.SelfInstalled()
	}
	source, err := stage.Self()
	if err != nil {
		return nil, err
	}
	piper, err := b.open(ctx, c, source, report)
	if err != nil {
		return nil, err
	}
	b.start = c.inOrder(b.hosts)
	if len(c.relays) > 0 {
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

// open opens the bootstrap: what it takes to reach the hosts.
func (b *boot) open(ctx context.Context, c *treeConfig, source stage.Source, report *reporter) (bootstrap.Piper, error) {
	asking, interrupt := context.WithCancelCause(ctx)
	opened, err := c.kind.Open(asking, bootstrap.Job{
		Hosts: c.hosts, Values: c.values, Limits: b.common.Limits(),
		Getenv: registry.Getenv(c.environ), Note: report.note,
		Passphrase: func(file string, again bool) ([]byte, error) {
			word, err := c.ask.get(asking, file, again)
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
	if !c.kind.Bulk {
		return opened.Piper, nil
	}
	b.common.Bulk = true
	if b.bulk, err = startBulk(ctx, opened, c.kind.Patience, c.hosts, source, b.common, report.note); err != nil {
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
