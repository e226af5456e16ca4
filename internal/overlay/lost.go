package overlay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// All that is said of hosts that were lost is said here.

// Lost returns the failure of a job that has lost a host in a phase: the link to its
// agent broke, for the cause that Explain makes, and with it those to so many nodes
// below.
func Lost(host job.HostIndex, phase string, cause error, below int) job.Failure {
	text := lostText(cause)
	if below > 0 {
		text += fmt.Sprintf(" (with %d nodes below it)", below)
	}
	return job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: host, Phase: phase, Text: text}
}

// lostText says that the link to a host's agent broke, and why. Where neither its agent
// nor its bootstrap has said anything, it has advice.
func lostText(cause error) string {
	why := strings.TrimPrefix(cause.Error(), link.ErrLost.Error()+": ")
	text := lostMark + why
	if !Known(cause) && !strings.Contains(why, saidMark) && !strings.HasPrefix(why, protocolMark) {
		text += " (is the host up, and reached from the others? was the agent there killed? dmesg there may tell)"
	}
	return text
}

// inspectTimeout bounds the wait of a loss for the bootstrap's word on the host.
const inspectTimeout = 2 * time.Second

// withState adds the state of the host to the cause of a lost link, where its bootstrap
// knows it.
func withState(err error, p *leftOpen) error {
	if p == nil {
		return err
	}
	i, ok := p.Pipe.(bootstrap.Inspector)
	if !ok {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), inspectTimeout)
	defer cancel()
	if state := i.Inspect(ctx); state != "" {
		return stated{err, state}
	}
	return err
}

// Known tells whether the bootstrap knows the state of the host of a link that was lost
// for a cause: it went by itself, not since golaunch ended ranks there.
func Known(cause error) bool { return errors.As(cause, new(stated)) }

// stated is the cause of a lost link, with the state of the host.
type stated struct {
	error
	state string
}

func (s stated) Error() string { return s.error.Error() + "; " + s.state }
func (s stated) Unwrap() error { return s.error }

// lostMark begins the text of a host that was lost, saidMark an agent's output,
// protocolMark a breach of the protocol.
const (
	lostMark     = "lost: the link to its agent broke: "
	saidMark     = "; it said: "
	protocolMark = "protocol error: "
)

// BrokeProtocol is the end of a link whose other end broke the protocol.
func BrokeProtocol(err error) error { return fmt.Errorf("%w: "+protocolMark+"%w", link.ErrLost, err) }

// IsBreach tells whether a node is lost since it broke the protocol.
func IsBreach(f job.Failure) bool {
	return f.Class == job.CauseNodeLost && strings.HasPrefix(f.Text, lostMark+protocolMark)
}

// errEnded is the cause where a link ended in order, though nobody asked for that.
var errEnded = errors.New("its agent ended")

// Explain adds the standard error of a child's agent to the error that its link ended
// with, nil after an END.
func (f *Subtree) Explain(slot tree.Slot, cause error) error {
	if cause == nil {
		cause = errEnded
	}
	return withDiagnostics(cause, f.children[slot].pipe)
}

// withDiagnostics adds the far side's standard error.
func withDiagnostics(err error, pipe bootstrap.Pipe) error {
	if said := strings.TrimSpace(pipe.Diagnostics()); said != "" {
		return fmt.Errorf("%w"+saidMark+"%s", err, said)
	}
	return err
}

// dead returns the host of a child that was lost before the launch.
func (f *Subtree) dead(slot tree.Slot, cause error) DeadHost {
	return DeadHost{Index: f.Host(slot).Index, Phase: string(bootstrap.Handshake), Cause: cut(f.Explain(slot, cause).Error(), maxCause)}
}

// orphans adds to the host of a child, which is dead, those below it.
func (f *Subtree) orphans(slot tree.Slot, dead DeadHost) []DeadHost {
	died := []DeadHost{dead}
	for _, h := range f.Below(slot) {
		if h != dead.Index {
			died = append(died, DeadHost{Index: h, Phase: dead.Phase, Cause: "its parent in the tree, " + f.Host(slot).Name + ", died before the launch"})
		}
	}
	return died
}
