package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/bootstrap"
	"github.com/golaunch/golaunch/bootstrap/fork"
	sshboot "github.com/golaunch/golaunch/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// takeRange learns who this agent is and starts the agents below it.
func (a *Agent) takeRange(r overlay.Range) error {
	if a.family != nil {
		return errors.New("a second range")
	}
	a.self, a.root, a.common = r.Self, r.Root, r.Common
	a.ctx, a.stop = context.WithCancel(context.Background())
	source, err := stage.Self()
	if err != nil {
		return err
	}
	noise := func(host, line string) {
		a.inbox.Put(noiseHeard{host, line})
	}
	piper, err := a.piper(r)
	if err != nil {
		return err
	}
	starter := overlay.NewStarter(a.ctx, piper, source, r.Common, a.inbox, noise)
	a.family = overlay.NewFamily(starter, r.Common, a.inbox, func(tree.Slot) overlay.Sink { return a.output.child })
	a.started.Merge = (*overlay.Started).Merge
	a.done.Merge = (*overlay.Done).Merge
	a.started.Expect(1)
	a.done.Expect(1)
	var own overlay.Ready
	if !r.Self.Relay() { // a relay has no ranks
		a.startWarden()
		own.Live = []overlay.NodeInfo{{Index: r.Self.Index, HostName: a.hello.HostName, Addr: a.hello.Addr, Cores: a.hello.Cores}}
	}
	a.readyIf(a.family.Begin(own, r.Hosts, r.Degree))
	return nil
}

// noiseHeard is the event of a line that a host printed before its agent ran.
type noiseHeard struct{ host, line string }

// keyAccepted is the event of a host key that was accepted without being known.
type keyAccepted struct{ host string }

// piper makes the bootstrap that reaches the hosts of r.
func (a *Agent) piper(r overlay.Range) (bootstrap.Piper, error) {
	switch r.Bootstrap {
	case overlay.BootstrapFork:
		return fork.New(), nil
	case overlay.BootstrapExec:
		return overlay.ExecPiper(r.Common)
	}
	// What a node saw of another is no proof for the user's known_hosts.
	accepted := func(t *sshboot.Target, _ string) { a.inbox.Put(keyAccepted{t.Name}) }
	return overlay.SSHPiper(r.Common, r.Hosts, false, a.sign, accepted)
}

func (a *Agent) startWarden() {
	// Agents of one machine must not end each other's ranks.
	ctx, id := a.ctx, overlay.NodeJob(a.self.Index, a.common.JobID)
	go func() { // ends when the warden is up, or its start failed
		w, err := proc.Start(ctx, proc.Options{JobID: id})
		a.inbox.Put(wardenUp{w, err})
	}()
}

// joined takes in a child that said hello.
func (a *Agent) joined(j overlay.Joined) {
	if a.leaving {
		j.Link.Close()
		j.Pipe.Close()
		return
	}
	slot := a.family.Join(j)
	a.started.Expect(1)
	a.done.Expect(1)
	a.owed[slot] = true
	a.output.expect()
	a.note(2, "agent on %s is up (%s, %d cores)", j.Host.Name, j.Hello.OSArch, j.Hello.Cores)
}

// readyIf reports the subtree to the parent once it is complete.
func (a *Agent) readyIf(complete bool) {
	if complete {
		a.up(link.Service, overlay.KindReady, overlay.Encode(a.family.ReadyValue()))
	}
}

func (a *Agent) startedIf(complete bool) {
	if complete {
		a.up(link.Control, overlay.KindStarted, overlay.Encode(a.started.Value()))
	}
}

func (a *Agent) doneIf(complete bool) {
	if complete {
		a.up(link.Control, overlay.KindDone, overlay.Encode(a.done.Value()))
	}
}

func (a *Agent) childDone(slot tree.Slot, d overlay.Done) {
	if a.owed[slot] {
		delete(a.owed, slot)
		a.doneIf(a.done.Add(d))
	}
}

// childLost handles a link that broke: before the launch its hosts are started
// again from here, unless it was a relay; afterwards the job has lost a node.
func (a *Agent) childLost(slot tree.Slot, cause error) {
	if !a.family.Live(slot) {
		return
	}
	if cause == nil {
		cause = errors.New("its agent ended")
	}
	host := a.family.Host(slot)
	below := len(a.family.Below(slot))
	if !host.Relay() {
		below-- // itself
	}
	a.readyIf(a.family.Lose(slot, cause))
	a.output.drain()
	a.startedIf(a.started.Skip())
	if a.owed[slot] {
		delete(a.owed, slot)
		a.doneIf(a.done.Skip())
	}
	a.dropInput(slot)
	phase := "running"
	switch {
	case a.leaving, a.launch == nil && !host.Relay():
		return
	case a.launch == nil: // nothing replaces a relay, so nothing is waited for
		phase, below = "starting", 0
	default:
		a.family.Sweep(slot)
	}
	text := fmt.Sprintf("link to its agent lost: %v", a.family.Explain(slot, cause))
	if below > 0 {
		text += fmt.Sprintf(" (with %d nodes below it)", below)
	}
	a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: host.Index, Phase: phase, Text: text})
}
