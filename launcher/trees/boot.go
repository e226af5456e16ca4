package trees

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

func newBoot(ctx context.Context, c *Config, id string, inbox *overlay.Inbox, report Reporter) (*boot, error) {
	b := &boot{common: c.Common, hosts: c.Entries, orphans: c.Kind.Orphans}
	b.common.JobID = id
	if c.Installed {
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
	b.start = c.InOrder(b.hosts)
	if len(c.Relays) > 0 {
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

// open opens the bootstrap, the means to reach the hosts.
func (b *boot) open(ctx context.Context, c *Config, source stage.Source, report Reporter) (bootstrap.Piper, error) {
	asking, interrupt := context.WithCancelCause(ctx)
	opened, err := c.Kind.Open(asking, bootstrap.Job{
		Hosts: c.Hosts, Values: c.Values, Limits: b.common.Limits(),
		Getenv: registry.Getenv(c.Environ), Note: report.Note,
		Passphrase: func(file string, again bool) ([]byte, error) {
			word, err := c.Ask.get(asking, file, again)
			if errors.Is(err, ErrInterrupted) {
				interrupt(err)
			}
			return word, err
		},
	})
	switch {
	case errors.Is(context.Cause(asking), ErrInterrupted):
		return nil, ErrInterrupted
	case err != nil:
		return nil, err
	}
	b.authority, b.lookUp, b.common.Setup = opened.Authority, opened.LookUp, opened.Setup
	for i := range b.hosts {
		if h := &b.hosts[i]; !h.Relay() && opened.Routes != nil {
			h.Reach(opened.Routes[h.Index])
		}
	}
	if !c.Kind.Bulk {
		return opened.Piper, nil
	}
	b.common.Bulk = true
	if b.bulk, err = startBulk(ctx, opened, c.Kind.Patience, c.Hosts, source, b.common, report.Note); err != nil {
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
