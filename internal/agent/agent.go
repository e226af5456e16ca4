package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/agent/output"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Agent is one node launch agent. Its fields belong to the goroutine of run,
// except those that are safe for many: inbox, output and the links.
type Agent struct {
	hello       overlay.Hello
	poller      *unix.Poller
	descriptors descriptors
	inbox       *overlay.Inbox
	parent      *overlay.Edge
	calls       *calls          // nil unless it called its parent
	above       *overlay.Origin // the parent's
	output      *output.Output

	// From the Range on.
	self       overlay.HostEntry
	root       bool   // the parent is the launcher
	parentName string // its host's; "" of the launcher
	common     overlay.Common
	ctx        context.Context // ends when no more hosts are to be started
	stop       context.CancelFunc
	subtree    *overlay.Subtree
	ready      bool // the parent was told of the subtree

	now        func() time.Time // the node's clock
	begun      time.Time        // of this process
	phases     []report.Phase   // those before the launch
	wardenStep report.Step      // the start of the warden
	harness    Harness

	life     life
	machine  machine
	requests requests
	progress progress
	transit  transit

	job *Job
}

// join has the parts of an agent know it.
func (a *Agent) join() {
	a.life.n, a.machine.n, a.requests.n, a.progress.n, a.transit.n = a, a, a, a, a
}

// rank is one local process.
type rank struct {
	serve.Rank
	world   *world
	asked   *pmi.Spawn // its last spawn
	refusal *refusal   // of its last spawn, where it may wait for ever since
	record  report.Rank
	cpus    []int    // to which it is bound, ascending; nil if it is not
	gpus    []string // that it has for itself (package gpu); nil if it has none
	gpuEnv  []string // by which it finds them
	// nearGPUs are the CPUs near the GPUs that it uses, with --bind-to gpu.
	nearGPUs []int
}

func (r *rank) id() job.RankID { return job.RankID{World: r.world.id, Rank: r.Number} }

// Events of the agent itself, beside those of package overlay.
type (
	wardenUp struct {
		warden Warden
		err    error
	}
	wardenEvents struct{ events []proc.Event }
	wardenLost   struct{ err error }
	wardenStuck  struct{ number int } // it has had its time
	beatDue      struct{}             // the warden is to hear of us
	outputIdle   struct{}             // every pipe of the local ranks is closed
	familyEnded  struct{}             // every child has ENDed or is lost
	familySwept  struct{}             // and nothing is left of those that were lost
)

// run is the event loop. It returns when the job is over for this node.
func (a *Agent) run() error {
	ready := make([]unix.Ready, 128)
	buf := make([]byte, 64<<10)
	var events []overlay.Event
	for !a.life.end.Over() {
		n, err := a.poller.Park(ready)
		if err != nil {
			return fmt.Errorf("wait for events: %w", err)
		}
		for _, r := range ready[:n] {
			a.descriptors.ready(r, buf)
		}
		events = a.inbox.Take(events)
		for _, e := range events {
			a.handle(e)
		}
		a.job.serveWorlds()
		a.life.orphanEnds()
	}
	return nil
}

func (a *Agent) handle(e overlay.Event) {
	switch e := e.(type) {
	case overlay.Message:
		if err := a.message(e); err != nil {
			a.broken(e.From, err)
		}
	case overlay.EdgeEnded:
		a.edgeEnded(e)
	case overlay.Joined:
		a.joined(e)
	case overlay.HostFailed:
		a.subtree.HostFailed(e.Dead)
	case overlay.HostAwaited:
		a.noteOf(e.Host, 0, "%s", e.Text)
	case overlay.HostTried:
		a.noteOf(e.Host, overlay.LevelTries, "%s", e.Text)
	case overlay.PartDone:
		a.readyIf(a.subtree.PartDone())
	case callRefused:
		a.note(overlay.NoteAlways, "%s", e.line)
	case wardenUp:
		a.life.wardenUp(e)
	case wardenEvents:
		a.life.wardenEvents(e.events)
	case wardenLost:
		a.life.wardenLost(e.err)
	case wardenStuck:
		a.life.do(a.life.end.WardenStuck(e.number, a.ends()...))
	case told:
		a.life.told(e.signal)
	case graceOver:
		a.life.end.ParentLost()
	case beatDue:
		a.life.beat()
	case progressDue:
		a.progress.tell()
	case inputArrived:
		a.job.stdin.take(e)
	case noiseHeard:
		a.noteOf(e.host, 1, "printed at login: %s", e.line)
	case keyAccepted:
		a.noteOf(e.host, 1, "its host key was accepted without being known; it is not recorded")
	case posted:
		e()
	case outputIdle:
		a.job.do(a.job.end.OutputIdle(&a.life.end))
	case childrenLate:
		a.life.childrenLate()
	case familyEnded:
		a.life.familyEnded()
	case familySwept:
		a.life.end.ChildrenEnded()
	default:
		panic(fmt.Sprintf("event %T has no handler", e)) // a bug of this package
	}
}

// up queues a message to the parent.
func (a *Agent) up(s link.Stream, kind tree.Kind, body []byte) {
	a.parent.Send(s, tree.Header{Kind: kind, To: tree.Launcher, From: a.self.Index}, body)
}

// message handles one from the parent or a child. An error means that the
// sender broke the protocol.
func (a *Agent) message(m overlay.Message) error {
	if m.From == tree.Up {
		return a.fromParent(m)
	}
	if !a.subtree.Live(m.From) {
		return nil
	}
	return a.fromChild(m)
}

func (a *Agent) fromParent(m overlay.Message) error {
	switch { // of what may overtake the range, on its own stream
	case m.Header.Kind == overlay.KindPing:
		return overlay.Take(m, func(p overlay.Ping) error { a.pong(p, m.Residence()); return nil })
	case m.Header.Kind == overlay.KindSignal && a.subtree == nil:
		return overlay.Take(m, a.job.signal)
	case m.Header.Kind != overlay.KindRange && a.subtree == nil:
		return fmt.Errorf("message of kind %d before the range", m.Header.Kind)
	}
	switch m.Header.Kind {
	case overlay.KindRange:
		return overlay.Take(m, a.takeRange)
	case overlay.KindLaunch:
		a.job.accounts.add(phaseLaunch) // before anybody below can have it
		a.noMoreCalls()
		defer a.subtree.Worlds.Learn()()
		a.subtree.Broadcast(link.KVS, overlay.KindLaunch, m.Body)
		return overlay.Take(m, a.job.takeLaunch)
	case overlay.KindSigned:
		return overlay.Take(m, func(s overlay.SignAnswer) error { a.requests.signed(s); return nil })
	case overlay.KindSignal:
		a.subtree.Broadcast(link.Control, m.Header.Kind, m.Body)
		return overlay.Take(m, a.job.signal)
	case overlay.KindResize:
		a.subtree.Broadcast(link.Control, m.Header.Kind, m.Body)
		return overlay.Take(m, func(w unix.Window) error { a.job.stdin.resize(w); return nil })
	case overlay.KindKill:
		a.subtree.Broadcast(link.Control, m.Header.Kind, m.Body)
		return overlay.Take(m, func(k overlay.Kill) error { a.job.kill(k.Grace); return nil })
	case overlay.KindClaim:
		a.subtree.Broadcast(link.Service, m.Header.Kind, m.Body)
		return overlay.Take(m, a.job.share.claimAgain)
	case overlay.KindAskWaits:
		a.subtree.Broadcast(link.Control, m.Header.Kind, m.Body)
		return overlay.Take(m, func(q overlay.WaitQuestion) error { a.job.stalls.ask(q); return nil })
	case overlay.KindCollect:
		a.subtree.Broadcast(link.Service, m.Header.Kind, m.Body)
		return a.job.accounts.collect()
	case overlay.KindNamed:
		return overlay.Take(m, a.job.services.answered)
	case overlay.KindGrow:
		return overlay.Take(m, a.grow)
	case overlay.KindLateLaunch:
		a.subtree.BroadcastNew(link.KVS, overlay.KindLaunch, m.Body)
		return nil
	case overlay.KindWorld:
		return a.job.takeWorld(m)
	case overlay.KindSpawned:
		return overlay.Take(m, a.job.spawns.spawned)
	case overlay.KindPMIxAnswer:
		return overlay.Take(m, a.job.pmix.passAnswer)
	case overlay.KindScheduled:
		return overlay.Take(m, a.job.scheduled)
	case overlay.KindEndWorld:
		return a.job.aboutWorld(m, a.job.endWorld)
	case overlay.KindForget:
		a.subtree.Worlds.Forget(int(m.Header.World))
		return a.job.aboutWorld(m, a.job.forget)
	}
	if overlay.BetweenServers(m.Header.Kind) {
		return a.fromServer(m)
	}
	return fmt.Errorf("unexpected message of kind %d from the parent", m.Header.Kind)
}

func (a *Agent) fromChild(m overlay.Message) error {
	switch m.Header.Kind {
	case overlay.KindReady:
		return overlay.Take(m, func(r overlay.Ready) error {
			a.progress.ready(m.From, r)
			a.readyIf(a.subtree.ChildReady(m.From, r))
			return nil
		})
	case overlay.KindSign:
		return overlay.Take(m, func(r overlay.SignRequest) error { a.requests.childSignature(m.From, r); return nil })
	case overlay.KindAddress:
		return overlay.Take(m, func(q overlay.AddrRequest) error { a.requests.childAddress(m.From, q); return nil })
	case overlay.KindSummon:
		return overlay.Take(m, func(s overlay.Summon) error { a.requests.childSummon(m.From, s); return nil })
	case overlay.KindStarted:
		return a.job.aboutWorld(m, func(w *world) error {
			return overlay.Take(m, func(s overlay.Started) error {
				a.subtree.Watched(m.From)
				a.job.childStarted(w, m.From, s)
				return nil
			})
		})
	case overlay.KindDone:
		return a.job.aboutWorld(m, func(w *world) error {
			return overlay.Take(m, func(d overlay.Done) error { a.job.childDone(w, m.From, d); return nil })
		})
	case overlay.KindFailure:
		return overlay.Take(m, func(f job.Failure) error {
			f.Age, f.Said = a.subtree.Age(m, f)
			a.job.failures.pass(f)
			return nil
		})
	case overlay.KindInputAck:
		return overlay.Take(m, func(k overlay.InputAck) error { return a.job.stdin.acked(m.From, k) })
	case overlay.KindCollected:
		return overlay.Take(m, func(c report.Collected) error { return a.job.accounts.collected(m.From, c) })
	case overlay.KindPong:
		return overlay.Take(m, func(p overlay.Pong) error { return a.job.accounts.childClock(m, p) })
	case overlay.KindProgress:
		return overlay.Take(m, func(p overlay.Progress) error { a.progress.of(m.From, p); return nil })
	case overlay.KindStalled:
		a.job.stalls.tell()
		return nil
	case overlay.KindWaits:
		return overlay.Take(m, func(w overlay.Waits) error { return a.job.stalls.fromChild(m.From, w) })
	case overlay.KindName:
		return a.job.services.fromChild(m)
	case overlay.KindPMIxCall:
		return a.job.pmix.call(m)
	}
	switch {
	case overlay.BetweenServers(m.Header.Kind):
		return a.fromServer(m)
	case overlay.ForLauncher(m.Header.Kind):
		a.life.noticeSilence(m)
		a.parent.Pass(m)
		return nil
	}
	return fmt.Errorf("unexpected message of kind %d from a child", m.Header.Kind)
}

// broken cuts off a neighbor that broke the protocol.
func (a *Agent) broken(from tree.Slot, err error) {
	a.edgeEnded(overlay.EdgeEnded{From: from, Err: overlay.BrokeProtocol(err)})
}

// edgeEnded handles the END or the loss of a link.
func (a *Agent) edgeEnded(e overlay.EdgeEnded) {
	switch {
	case e.From == tree.Up && e.Err == nil:
		a.life.parentEnded()
	case e.From == tree.Up:
		a.life.parentLost()
	case e.Err == nil && a.life.end.Leaving(), a.life.alone:
		a.subtree.Leave(e.From)
	default:
		a.childLost(e.From, e.Err)
	}
}
