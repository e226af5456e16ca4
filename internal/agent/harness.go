package agent

import (
	"context"
	"time"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
	"github.com/golaunch/golaunch/internal/overlay/rendezvous"
	"github.com/golaunch/golaunch/internal/proc"
)

// Warden starts and ends the ranks of a node.
type Warden = jobs.Warden

var _ Warden = (*proc.Warden)(nil)

// Harness is what surrounds an agent that shares its process with others, so that
// thousands can be measured on one machine. The zero value is a node.
type Harness struct {
	// Piper makes the bootstrap of the agents below; nil for the job's.
	Piper func() bootstrap.Piper
	// Warden starts the warden; nil for a process.
	Warden func() Warden
}

// shared tells that the process is not this agent's alone, nor its children.
func (h *Harness) shared() bool { return h.Warden != nil }

func (h *Harness) startWarden(ctx context.Context, o proc.Options) (Warden, error) {
	if h.Warden != nil {
		return h.Warden(), nil
	}
	return proc.Start(ctx, o)
}

// Call runs one agent that calls the launcher, as c says, and whom the launcher names,
// until the job is over for it. Those below it call it. The parent counts as lost after a
// silence of lostAfter. The error is of the calls or of the link.
func Call(ctx context.Context, c *rendezvous.Caller, lostAfter time.Duration, h Harness) error {
	begun := time.Now()
	conn, err := c.Link(ctx)
	if err != nil {
		return err
	}
	l, err := yamuxlink.New(conn, yamuxlink.Config{LostAfter: lostAfter})
	if err != nil {
		return err
	}
	own := &calls{secret: c.Secret, addr: localIP(conn)}
	a, err := newAgentAt(l, own.addr)
	if err != nil {
		return err
	}
	a.harness, a.begun, a.calls = h, begun, own
	err = a.run()
	a.close()
	return err
}

// Serve runs one agent on a link to its parent, until the job is over for it.
func Serve(l link.Link, h Harness) error {
	a, err := newAgent(l)
	if err != nil {
		return err
	}
	a.harness, a.begun = h, a.now()
	err = a.run()
	a.close()
	return err
}
