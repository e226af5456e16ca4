package overlay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/bootstrap"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/tree"
)

// All that is said of hosts that were lost is said here.

// Lost is the failure of a job that has lost a host in a phase: the link to its agent
// broke, for the cause that Explain makes, and with it those to so many nodes below.
func Lost(host job.HostIndex, phase string, cause error, below int) job.Failure {
	text := lostText(cause)
	if below > 0 {
		text += fmt.Sprintf(" (with %d nodes below it)", below)
	}
	return job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: host, Phase: phase, Text: text}
}

// lostText says that the link to a host's agent broke, and why. Where its agent has
// said nothing itself, it says what to look at.
func lostText(cause error) string {
	why := strings.TrimPrefix(cause.Error(), link.ErrLost.Error()+": ")
	text := "lost: the link to its agent broke: " + why
	if !strings.Contains(why, saidMark) && !strings.HasPrefix(why, protocolMark) {
		text += " (is the host up, and reached from the others? was the agent there killed? dmesg there may tell)"
	}
	return text
}

// saidMark begins what an agent has printed, protocolMark what it may not send.
const (
	saidMark     = "; it said: "
	protocolMark = "protocol error: "
)

// BrokeProtocol is the end of a link whose other end sent what it may not.
func BrokeProtocol(err error) error { return fmt.Errorf("%w: "+protocolMark+"%w", link.ErrLost, err) }

// errEnded is the cause where a link ended in order, though nobody asked for that.
var errEnded = errors.New("its agent ended")

// Explain adds to what a child's link ended with, nil after an END, what its agent
// printed on its standard error.
func (f *Subtree) Explain(slot tree.Slot, cause error) error {
	if cause == nil {
		cause = errEnded
	}
	return withDiagnostics(cause, f.children[slot].pipe)
}

// withDiagnostics adds what the far side printed on its standard error.
func withDiagnostics(err error, pipe bootstrap.Pipe) error {
	if said := strings.TrimSpace(pipe.Diagnostics()); said != "" {
		return fmt.Errorf("%w"+saidMark+"%s", err, said)
	}
	return err
}

// dead is the host of a child that was lost before the launch.
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
