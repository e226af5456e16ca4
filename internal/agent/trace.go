package agent

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// pong tells the parent this node's time; the question has arrived so long ago.
func (a *Agent) pong(p overlay.Ping, ago time.Duration) {
	answer := overlay.Pong{Sent: p.Sent, Clock: p.Clock, Heard: unix.Monotonic() - ago, Received: a.now().UnixNano()}
	answer.Answered, answer.Said = a.now().UnixNano(), unix.Monotonic()
	a.up(link.Control, overlay.KindPong, job.TreeItself, overlay.Encode(answer))
}

// childClock takes a child's answer to a ping.
func (a *Agent) childClock(m overlay.Message, p overlay.Pong) error {
	done, err := a.subtree.Pong(m.From, p, m.Residence())
	if done {
		for _, j := range a.jobs.list() {
			j.Timed(m.From)
		}
	}
	return err
}
