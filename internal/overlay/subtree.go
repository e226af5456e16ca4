package overlay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// Subtree is one node's children from the first try to reach them to the end of
// the job. It belongs to one event loop, which hands it the events of its
// Starter and the Ready messages and losses of its children.
type Subtree struct {
	tree.Node
	Worlds Worlds

	starter *Starter
	common  Common
	inbox   *Inbox
	sink    func(slot tree.Slot) Sink

	// Now reads this node's clock.
	Now func() time.Time
	// Name is the user's name of this node's host; "" at the launcher. Level is the
	// number of links between this node and the launcher.
	Name  string
	Level int

	children []childState // by slot
	sweeps   sync.WaitGroup
	ready    tree.Gather[Ready]
	former   []*Starter // before Grow
}

type childState struct {
	edge  *Edge
	pipe  bootstrap.Pipe
	host  HostEntry
	rest  []HostEntry // hosts that the child was told to start
	ready bool
	old   bool // was there before Grow

	offset    offset // of the child's clock
	reckoning reckoning
}

// NewSubtree returns a subtree without children. sink makes the stdio sink of a
// new child's edge.
func NewSubtree(s *Starter, c Common, inbox *Inbox, sink func(tree.Slot) Sink) *Subtree {
	f := &Subtree{starter: s, common: c, inbox: inbox, sink: sink, Now: time.Now}
	f.ready.Merge = (*Ready).Merge
	f.ready.Expect(1) // this node's own part, given by Begin
	return f
}

// Begin contributes own (empty at the launcher) and starts agents on hosts, at
// most degree of them from here. It reports whether the subtree is complete at
// once.
func (f *Subtree) Begin(own Ready, hosts []HostEntry, degree int) (complete bool) {
	f.Worlds.Call(hosts...)
	for _, part := range Parts(hosts, degree, f.common.Relayed) {
		f.start(part)
	}
	return f.ready.Add(own)
}

// Grow starts agents on further hosts, by a Starter of their own, once the
// subtree was complete. It is complete again when all of them are decided;
// ReadyValue is then about them alone.
func (f *Subtree) Grow(s *Starter, c Common, hosts []HostEntry, degree int) {
	f.former = append(f.former, f.starter)
	f.starter, f.common = s, c
	for i := range f.children {
		f.children[i].old = true
	}
	f.ready = tree.Gather[Ready]{Merge: (*Ready).Merge}
	f.ready.Expect(1)
	f.Worlds.Call(hosts...)
	for _, part := range Parts(hosts, degree, f.common.Relayed) {
		f.start(part)
	}
	f.ready.Skip() // this node's own part
}

// Extend gives a child that is the root further hosts, to be started in place of
// dead ones or for a spawn: it is about to hear of them.
func (f *Subtree) Extend(slot tree.Slot, hosts []HostEntry) {
	below := f.Below(slot)
	for _, h := range hosts {
		below = append(below, h.Index)
	}
	f.Cover(slot, below)
	f.Worlds.Call(hosts...)
	f.children[slot].edge.origin.extend(hosts)
}

// Awaited tells whether a child belongs to hosts that are not all decided yet.
func (f *Subtree) Awaited(slot tree.Slot) bool { return !f.children[slot].old && !f.ready.Done() }

func (f *Subtree) start(part []HostEntry) {
	f.ready.Expect(1)
	f.starter.Start(part)
}

// Join takes in an agent that said hello and tells it its range.
func (f *Subtree) Join(j Joined) tree.Slot {
	f.ready.Expect(1)
	slot := f.Node.Join()
	hosts := []job.HostIndex{j.Host.Index}
	for _, h := range j.Rest {
		hosts = append(hosts, h.Index)
	}
	f.Cover(slot, hosts)
	origin := f.Worlds.Child(f.starter.Redial, append([]HostEntry{j.Host}, j.Rest...))
	edge := NewEdge(j.Link, slot, origin, f.inbox, f.sink(slot), nil)
	edge.hold(j.held)
	f.children = append(f.children, childState{edge: edge, pipe: j.Pipe, host: j.Host, rest: j.Rest})
	f.Send(slot, link.Service, KindRange, job.TreeItself, Encode(Range{
		Self: j.Host, Hosts: j.Rest, Root: f.starter.Redial, Parent: f.Name, Level: f.Level + 1, Common: f.starter.handOn(f.common),
	}))
	return slot
}

// HostFailed notes a host that is dead.
func (f *Subtree) HostFailed(d DeadHost) {
	f.ready.Expect(1) // never completes: PartDone is still to come
	f.ready.Add(Ready{Dead: []DeadHost{d}})
}

// PartDone counts a part of the host list that is decided. It reports whether
// that completed the subtree.
func (f *Subtree) PartDone() (complete bool) { return f.ready.Skip() }

// ChildReady takes a child's Ready and reports whether that completed the
// subtree.
func (f *Subtree) ChildReady(slot tree.Slot, r Ready) (complete bool) {
	k := &f.children[slot]
	if k.ready {
		return false
	}
	k.ready = true
	hosts := make([]job.HostIndex, len(r.Live))
	for i, n := range r.Live {
		hosts[i] = n.Index
	}
	f.Cover(slot, hosts)
	return f.ready.Add(r)
}

// Watched notes that the wardens of a child's subtree watch their agents: its ranks
// have started. That its agents are ready says nothing of wardens.
func (f *Subtree) Watched(slot tree.Slot) {
	f.children[slot].edge.held.Load().watch()
	f.reckon(slot)
}

// ReadyValue returns the state of the subtree; final once complete.
func (f *Subtree) ReadyValue() Ready { return f.ready.Value() }

// Lose takes a child out whose edge broke, with a cause as Explain takes it, and sweeps
// its node. Before the launch its host counts as dead, and the hosts that it should
// have started are started again from here, unless it was a relay: that is the end of
// the job. If this node has already told its parent the live hosts, it is too late for
// that, and all hosts that went with the child are returned for KindDied.
func (f *Subtree) Lose(slot tree.Slot, cause error) (complete bool, died []DeadHost) {
	if !f.Leave(slot) {
		return false, nil
	}
	k := &f.children[slot]
	k.edge.held.Load().watch() // an agent that broke the protocol runs; a silent one is ended all the same
	k.edge.drop()
	dead := f.dead(slot, cause)
	f.Sweep(slot)
	if f.ready.Done() || k.old {
		return false, f.orphans(slot, dead)
	}
	f.HostFailed(dead) // wins over the child's own Ready, see Ready.Settle
	if len(k.rest) > 0 && !k.host.Relay() {
		f.start(k.rest)
	}
	if k.ready {
		return false, nil
	}
	k.ready = true
	return f.ready.Skip(), nil
}

// Sweep ends, in the background, the processes that a lost child may have left on its
// node: where agent and warden have both died nobody else does, nor where one is
// stopped. Then nothing needs its connection any more.
func (f *Subtree) Sweep(slot tree.Slot) {
	edge, pipe, name := f.children[slot].edge, f.children[slot].pipe, NodeJob(f.children[slot].host.Index, f.common.JobID)
	agentPath := f.common.AgentPath
	if f.children[slot].host.Relay() {
		agentPath = ""
	}
	f.sweeps.Go(func() { // ends with sweepTimeout, and the bootstrap's bound of Close, at the latest
		edge.Close()
		if !edge.held.Load().clean() {
			sweep(pipe, name, agentPath)
		}
		pipe.Close()
	})
}

// Swept waits until all that was begun to be swept is, or until a time. No sweep may
// begin meanwhile.
func (f *Subtree) Swept(by time.Time) { Until(by, f.sweeps.Wait) }

// Until waits until a task is done, or until a time: it goes on in the background then.
func Until(by time.Time, task func()) {
	done := make(chan struct{})
	go func() { // ends with the task
		task()
		close(done)
	}()
	late := time.NewTimer(time.Until(by))
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// Host returns the host of the child at slot.
func (f *Subtree) Host(slot tree.Slot) HostEntry { return f.children[slot].host }

// Send queues a message about a job, or the tree itself, to one child.
func (f *Subtree) Send(slot tree.Slot, s link.Stream, kind tree.Kind, n job.Number, payload []byte) {
	f.children[slot].edge.Send(s, tree.Header{Kind: kind, Job: n, To: tree.Neighbor, From: tree.Launcher}, payload)
}

// Forward queues a message with its header to one child.
func (f *Subtree) Forward(slot tree.Slot, s link.Stream, h tree.Header, payload []byte) {
	f.children[slot].edge.Send(s, h, payload)
}

// Pass queues a message that has come from another neighbor to one child, as Edge.Pass
// does.
func (f *Subtree) Pass(slot tree.Slot, m Message) { f.children[slot].edge.Pass(m) }

// Broadcast queues a message about a job to every live child; the payload is shared.
func (f *Subtree) Broadcast(s link.Stream, kind tree.Kind, n job.Number, payload []byte) {
	for slot := range f.Children {
		f.children[slot].edge.Send(s, tree.Header{Kind: kind, Job: n, To: tree.Everyone, From: tree.Launcher}, payload)
	}
}

// Edges returns those of the live children, for a goroutine that is to send on them.
func (f *Subtree) Edges() []*Edge {
	var edges []*Edge
	for slot := range f.Children {
		edges = append(edges, f.children[slot].edge)
	}
	return edges
}

// BroadcastNew queues a message about a job to every live child that came with the last
// Grow.
func (f *Subtree) BroadcastNew(s link.Stream, kind tree.Kind, n job.Number, payload []byte) {
	for slot := range f.Children {
		if !f.children[slot].old {
			f.children[slot].edge.Send(s, tree.Header{Kind: kind, Job: n, To: tree.Everyone, From: tree.Launcher}, payload)
		}
	}
}

// Suspend tells every child that this process is about to be stopped, or runs
// again.
func (f *Subtree) Suspend(on bool) error {
	var errs []error
	for slot := range f.Children {
		errs = append(errs, f.children[slot].edge.Suspend(on))
	}
	return errors.Join(errs...)
}

// End ends every live edge in good order, see EndEdges.
func (f *Subtree) End(ctx context.Context) { EndEdges(ctx, f.Edges()) }

// EndEdges ends edges in good order, in parallel, and returns when all peers have
// ended their side, or are lost, or ctx is done. A peer ends its side when nothing is
// left of the job on its node, nor below it. Each EdgeEnded is in the inbox by then.
// Any goroutine may call it: a Subtree belongs to its event loop.
func EndEdges(ctx context.Context, edges []*Edge) {
	var ending sync.WaitGroup
	for _, e := range edges {
		ending.Go(func() { // ends with ctx at the latest
			_ = e.End(ctx) // a loss shows as EdgeEnded
			select {
			case <-e.gone:
			case <-ctx.Done():
			}
		})
	}
	ending.Wait()
}

// Close tears every edge down and waits for starts and sweeps. The Starter's context
// must have been cancelled.
func (f *Subtree) Close() {
	var closing sync.WaitGroup
	f.sweeps.Wait()
	for i := range f.children {
		closing.Go(func() { // ends when the bootstrap has let go
			f.children[i].edge.Close()
			f.children[i].pipe.Close()
		})
	}
	closing.Wait()
	for _, s := range append(f.former, f.starter) {
		s.Wait()
	}
}
