package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// Piper is the bootstrap.Piper of agents that are there already, and call. It may
// be used from several goroutines.
type Piper struct {
	// Here takes their calls; nil where none is to be started.
	Here *Rendezvous
	// Summon has the agent of a host call addr. It is nil at the launcher, which
	// all of them call.
	Summon func(ctx context.Context, host bootstrap.Host, addr string) error
	// Within is the time that an agent that is there may take to call.
	Within time.Duration
}

var _ bootstrap.Piper = (*Piper)(nil)

// Reach is Anywhere: any agent can be called.
func (*Piper) Reach() bootstrap.Reach { return bootstrap.Anywhere }

// NeedsStaging is false: the agent runs.
func (*Piper) NeedsStaging() bool { return false }

// Start waits for the call of the agent on host, which becomes the pipe. Its program
// was settled when all agents were started: argv is not looked at.
func (p *Piper) Start(ctx context.Context, host bootstrap.Host, _ []string) (bootstrap.Pipe, error) {
	fail := func(err error, hint string) (bootstrap.Pipe, error) {
		if be := (*bootstrap.Error)(nil); errors.As(err, &be) {
			return nil, be
		}
		return nil, &bootstrap.Error{Host: host.Name, Phase: bootstrap.Connect, Err: err, Hint: hint, Permanent: true}
	}
	if p.Summon != nil {
		if err := p.Summon(ctx, host, p.Here.Addr()); err != nil {
			return fail(err, "")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	conn, err := p.Here.Link(ctx, host.Name)
	hint := ""
	switch {
	case err == nil:
		return &pipe{conn, func() string { return p.lastWords(host.Name) }}, nil
	case !errors.Is(err, context.DeadlineExceeded):
		return fail(err, "")
	case p.Summon == nil:
		err = fmt.Errorf("its agent has not called within %v", p.Within)
	default:
		err = fmt.Errorf("its agent was told to call %s, and has not within %v", p.Here.Addr(), p.Within)
		hint = "let the hosts connect to each other's ports"
	}
	if flood := p.Here.Flood(); flood != "" {
		err = fmt.Errorf("%w, while %s", err, flood)
	}
	return fail(err, hint)
}

// lastWords returns the words heard of an agent that ended.
func (p *Piper) lastWords(host string) string {
	if err := p.Here.Failed(host); err != nil {
		return err.Err.Error()
	}
	return ""
}

// pipe is the connection of an agent that called.
type pipe struct {
	net.Conn
	said func() string
}

// Diagnostics returns the bootstrap's words about the agent's end, where they are
// known.
func (p *pipe) Diagnostics() string { return p.said() }

// PeerAddr returns the address from which the agent called.
func (p *pipe) PeerAddr() string {
	if tcp, ok := p.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return ""
}
