package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Agent is one node launch agent. Its fields belong to the goroutine of run,
// except those that are safe for many: inbox and the links.
type Agent struct {
	hello       overlay.Hello
	poller      *unix.Poller
	descriptors descriptors
	inbox       *overlay.Inbox
	parent      *overlay.Edge
	calls       *calls          // nil unless it called its parent
	above       *overlay.Origin // the parent's

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

	jobs      *table
	disposals sync.WaitGroup // of jobs that are forgotten
	door      servetree.Door
	cold      *jobs.Job // the first, which has the node's share of an allocation
}

// join has the parts of an agent know it.
func (a *Agent) join() {
	a.life.n, a.machine.n, a.requests.n, a.progress.n, a.transit.n = a, a, a, a, a
	a.jobs = newTable()
	a.door.Note, a.door.Find, a.door.Owner = a.note, a.treesOf, a.ownerOf
}

// Events of the agent itself, beside those of package overlay.
type (
	wardenUp struct {
		warden jobs.Warden
		err    error
	}
	wardenEvents struct{ events []proc.Event }
	wardenLost   struct{ err error }
	wardenStuck  struct{ number int } // it has had its time
	beatDue      struct{}             // the warden is to hear of us
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
		for _, j := range a.jobs.list() {
			j.Turn()
		}
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
		a.noteOf(job.TreeItself, e.Host, 0, "%s", e.Text)
	case overlay.HostTried:
		a.noteOf(job.TreeItself, e.Host, overlay.LevelTries, "%s", e.Text)
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
		if j := a.jobOf(e.header.Job); j != nil {
			j.TakeInput(e.header, e.body)
		}
	case noiseHeard:
		a.noteOf(job.TreeItself, e.host, 1, "printed at login: %s", e.line)
	case keyAccepted:
		a.noteOf(job.TreeItself, e.host, 1, "its host key was accepted without being known; it is not recorded")
	case posted:
		e()
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

// up queues a message to the parent about a job, or about the tree.
func (a *Agent) up(s link.Stream, kind tree.Kind, n job.Number, body []byte) {
	a.parent.Send(s, tree.Header{Kind: kind, Job: n, To: tree.Launcher, From: a.self.Index}, body)
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
	kind, n := m.Header.Kind, m.Header.Job
	switch { // of what may overtake the range, on its own stream
	case kind == overlay.KindPing:
		return overlay.Take(m, func(p overlay.Ping) error { a.pong(p, m.Residence()); return nil })
	case kind == overlay.KindSignal && a.subtree == nil:
		if j := a.jobOf(n); j != nil {
			return overlay.Take(m, j.Signal)
		}
		return nil
	case kind != overlay.KindRange && a.subtree == nil:
		return fmt.Errorf("message of kind %d before the range", kind)
	}
	switch kind {
	case overlay.KindRange:
		return overlay.Take(m, a.takeRange)
	case overlay.KindSigned:
		return overlay.Take(m, func(s overlay.SignAnswer) error { a.requests.signed(s); return nil })
	case overlay.KindGrow:
		return overlay.Take(m, a.grow)
	case overlay.KindLateLaunch:
		a.subtree.BroadcastNew(link.KVS, overlay.KindLaunch, n, m.Body)
		return nil
	case overlay.KindJobOver:
		a.jobOver(n)
		return nil
	case overlay.KindLaunch:
		a.noMoreCalls()
		defer a.subtree.Worlds.Learn()()
	}
	if overlay.OfTree(kind) {
		return fmt.Errorf("unexpected message of kind %d from the parent", kind)
	}
	switch j := a.jobOf(n); {
	case j == nil:
		return nil
	case overlay.BetweenServers(kind):
		return a.fromServer(j, m)
	default:
		return j.FromParent(m)
	}
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
	case overlay.KindPong:
		return overlay.Take(m, func(p overlay.Pong) error { return a.childClock(m, p) })
	case overlay.KindProgress:
		return overlay.Take(m, func(p overlay.Progress) error { a.progress.of(m.From, p); return nil })
	}
	if n := m.Header.Job; n != job.TreeItself {
		j := a.jobs.find(n)
		if j == nil {
			return nil
		}
		if mine, err := j.FromChild(m); mine {
			return err
		}
		if overlay.BetweenServers(m.Header.Kind) {
			return a.fromServer(j, m)
		}
	}
	if overlay.ForLauncher(m.Header.Kind) {
		a.life.noticeSilence(m)
		a.parent.Pass(m)
		return nil
	}
	return fmt.Errorf("unexpected message of kind %d from a child", m.Header.Kind)
}

// inputArrived is the event of standard input from the parent; an empty body
// is its end.
type inputArrived struct {
	header tree.Header
	body   []byte
}

// posted is the event of something to be done in the event loop.
type posted func()

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
