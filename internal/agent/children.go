package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
)

// takeRange learns who this agent is and starts the agents below it.
func (a *Agent) takeRange(r overlay.Range) error {
	if a.subtree != nil {
		return errors.New("a second range")
	}
	a.self, a.root, a.common, a.parentName = r.Self, r.Root, r.Common, r.Parent
	a.above.Launcher(r.Root)
	for _, j := range a.jobs.list() {
		j.Ranged()
	}
	a.stamp(phaseRange)
	a.ctx, a.stop = context.WithCancel(context.Background())
	if len(r.Hosts) > 0 {
		a.machine.moreProcessors()
	}
	starter, err := a.starter(r)
	if err != nil {
		return err
	}
	a.subtree = overlay.NewSubtree(starter, r.Common, a.inbox, a.outputOf)
	a.subtree.Now, a.subtree.Name, a.subtree.Level = a.now, r.Self.Name, r.Level
	a.subtree.Worlds.Call(r.Self)
	for _, j := range a.jobs.list() {
		a.subtree.Worlds.KnowJob(j.Number())
	}
	a.life.tearDown.Deadline = overlay.NewDeadline(r.Common, r.Level, func() { a.inbox.Put(childrenLate{}) })
	a.life.end.Ranged()
	a.progress.watch()
	var own overlay.Ready
	if !r.Self.Relay() { // a relay has no ranks
		var shared *overlay.Shared
		if !a.harness.shared() {
			shared = a.cold.OpenShare()
		}
		a.life.startWarden()
		n := overlay.NodeInfo{Index: r.Self.Index, HostName: a.hello.HostName, Addr: a.hello.Addr, Cores: a.hello.Cores, Shared: shared}
		a.machine.room(&n)
		own.Live = []overlay.NodeInfo{n}
	}
	a.readyIf(a.subtree.Begin(own, r.Hosts, r.Degree))
	return nil
}

// outputOf makes the sink for the output of a child's ranks.
func (a *Agent) outputOf(child tree.Slot) overlay.Sink {
	return func(h tree.Header, body []byte) {
		if j := a.jobs.find(h.Job); j != nil {
			j.TakeOutput(child, h, body)
		}
	}
}

// starter makes what starts the agents of r.
func (a *Agent) starter(r overlay.Range) (*overlay.Starter, error) {
	source, err := stage.Self()
	if err != nil {
		return nil, err
	}
	piper, err := a.piper(r)
	if err != nil {
		return nil, err
	}
	noise := func(host job.HostIndex, line string) { a.inbox.Put(noiseHeard{host, line}) }
	return overlay.NewStarter(a.ctx, piper, source, r.Common, a.inbox, noise), nil
}

// grow starts agents on further hosts, as new ranges below the root: in place of
// dead ones before the launch, or since a spawn needs them.
func (a *Agent) grow(r overlay.Range) error {
	if !a.ready || len(r.Hosts) == 0 {
		return errors.New("hosts to start too soon, or none")
	}
	a.machine.moreProcessors()
	r.Levels = max(r.Levels, a.common.Levels)
	a.common.Levels = r.Levels
	a.life.tearDown.grown(r.Levels)
	starter, err := a.starter(r)
	if err == nil {
		a.subtree.Grow(starter, r.Common, r.Hosts, r.Degree)
	}
	return err
}

// noiseHeard is the event of a line that a host printed before its agent ran.
type noiseHeard struct {
	host job.HostIndex
	line string
}

// keyAccepted is the event of a host key that was accepted without being known.
type keyAccepted struct{ host job.HostIndex }

// piper makes the bootstrap that reaches the hosts of r.
func (a *Agent) piper(r overlay.Range) (bootstrap.Piper, error) {
	if a.harness.Piper != nil {
		return a.harness.Piper(), nil
	}
	if r.Bulk {
		return a.callers(r)
	}
	kind, ok := registry.Find(r.Bootstrap)
	if !ok {
		return nil, fmt.Errorf("bootstrap %q is not known", r.Bootstrap)
	}
	return kind.Join(bootstrap.Node{
		Setup: r.Setup, Data: overlay.Data(r.Hosts), Limits: r.Limits(), Sign: a.requests.sign, LookUp: a.requests.hostAddress,
		Accepted: func(name string) {
			if i := slices.IndexFunc(r.Hosts, func(h overlay.HostEntry) bool { return h.Name == name }); i >= 0 {
				a.inbox.Put(keyAccepted{r.Hosts[i].Index})
			}
		},
	})
}

func (l *life) startWarden() {
	// Agents of one machine must not end each other's ranks.
	ctx, id := l.n.ctx, overlay.NodeJob(l.n.self.Index, l.n.common.JobID)
	shared, err := l.n.door.Open(atDoor{l.n})
	held := l.n.cold.ShareFile()
	l.n.wardenStep.Begin = l.n.now()
	l.end.WardenBegun()
	l.wardenStart.Go(func() { // ends when the warden is up, or its start failed or is called off
		var w jobs.Warden
		if err == nil {
			defer shared.Close()
			w, err = l.n.harness.startWarden(ctx, proc.Options{JobID: id, LostAfter: l.n.common.LostAfter, Shared: shared, Held: held})
		}
		l.n.inbox.Put(wardenUp{w, err})
	})
}

// joined takes in a child that said hello.
func (a *Agent) joined(j overlay.Joined) {
	if a.life.end.Leaving() {
		j.Refuse()
		return
	}
	slot := a.subtree.Join(j)
	if a.common.Trace {
		a.subtree.Ping(slot)
	}
	a.note(2, "agent on %s is up (%s, %d cores)", j.Host.Name, j.Hello.OSArch, j.Hello.Cores)
}

// readyIf reports the subtree to the parent once it is complete.
func (a *Agent) readyIf(complete bool) {
	switch {
	case complete && a.ready:
		a.tellReady(overlay.KindGrown)
	case complete:
		a.ready = true
		a.stamp(phaseReady)
		a.tellReady(overlay.KindReady)
	}
}

// tellReady tells of each host once: some may have been started again.
func (a *Agent) tellReady(kind tree.Kind) {
	ready := a.subtree.ReadyValue()
	ready.Settle()
	a.up(link.Service, kind, job.TreeItself, overlay.Encode(ready))
}

// childLost handles a link that broke, or ended (nil): before the launch its hosts are started
// again from here, unless it was a relay; afterwards the job has lost a node.
func (a *Agent) childLost(slot tree.Slot, cause error) {
	if !a.subtree.Live(slot) {
		return
	}
	host := a.subtree.Host(slot)
	below := len(a.subtree.Below(slot))
	if !host.Relay() {
		below-- // itself
	}
	awaited := a.ready && a.subtree.Awaited(slot)
	complete, died := a.subtree.Lose(slot, cause)
	a.readyIf(complete)
	if awaited { // nothing was started there yet
		delete(a.progress.below, slot)
		return
	}
	launched := a.life.end.HadLaunch()
	if len(died) > 0 && !launched {
		a.up(link.Service, overlay.KindDied, job.TreeItself, overlay.Encode(overlay.Died{Dead: died}))
	}
	// After the failure: the launcher must not hear that all ranks have ended
	// before it hears why.
	defer a.doWithout(slot)
	phase := "running"
	switch {
	case a.life.end.Leaving(), !launched && !host.Relay():
		return
	case !launched: // nothing replaces a relay, so nothing is waited for
		phase, below = "starting", 0
	}
	f := overlay.Lost(host.Index, phase, a.subtree.Explain(slot, cause), below)
	f.Lost = tree.MakeHosts(append(a.subtree.Below(slot), host.Index))
	for _, j := range a.jobs.open() {
		j.LostChild(slot, host.Name, f, overlay.Known(cause))
	}
}

// doWithout stops waiting for a child that is lost.
func (a *Agent) doWithout(slot tree.Slot) {
	delete(a.progress.below, slot)
	for _, j := range a.jobs.list() {
		j.Without(slot)
	}
}
