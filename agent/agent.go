package agent

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmgr"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/report"
	"github.com/golaunch/golaunch/tree"
)

// Agent is one node launch agent. Its fields belong to the goroutine of run,
// except those that are safe for many: inbox, output and the links.
type Agent struct {
	hello  overlay.Hello
	poller *unix.Poller
	inbox  *overlay.Inbox
	parent *overlay.Edge
	output *output

	// From the Range on.
	self   overlay.HostEntry
	root   bool // the parent is the launcher
	common overlay.Common
	ctx    context.Context // ends when no more hosts are to be started
	stop   context.CancelFunc
	family *overlay.Family
	warden Warden
	house  House
	spread bool // over more than one processor

	signs    map[uint64]signOrigin
	lastSign uint64

	// From the Launch on.
	launch  *overlay.Launch
	node    job.NodeID
	first   *world         // the job's, from the launch on
	worlds  map[int]*world // that take part here and are not over
	newest  int            // highest number of a world so far
	living  int            // ranks of this node, of all worlds, not yet ended
	watched map[int]watched
	names   pmi.Names // used at the root
	input   *input    // of the first world; nil if no rank of it is here or below

	now        func() time.Time // the node's clock
	begun      time.Time        // of this process
	phases     []report.Phase
	tracing    tracing
	progress   progress
	collection *collection // from the launcher's question on
	past       past        // what is to be reported of worlds that are over
	files      *files
	filesBegun bool
	awaiting   bool     // the ranks wait for the job's files
	stopped    bool     // by Ctrl-Z: no rank is to run
	scratch    string   // where those are; "" while there are none
	memLibrary *os.File // libpmi.so; nil if no app needs it
	tooFew     error    // not all descriptors that the ranks need can be had
	service    service
	pmgr       *pmgrPort // of the first world; nil without --pmgr

	lingers    *time.Timer
	beats      *time.Timer // until the next beatDue
	unanswered int         // beats since the warden was last heard of
	deaf       error       // why the warden was killed; nil unless it answered no beats
	stuck      *time.Timer // until wardenStuck; nil before the end
	cleaning   bool        // the warden was told to end what the ranks left behind
	patience   int         // numbers what the warden is given time for

	// How far the end is.
	killed     bool // the ranks were told to end
	finished   bool // the warden was told to end, or has
	wardenGone bool
	leaving    bool  // END came from the parent
	familyOver bool  // the children have acknowledged END
	lost       bool  // the parent is lost
	unfit      error // why this node can have no ranks: the agent ends before the launch
	over       bool  // run may return
}

// rank is one local process.
type rank struct {
	world   *world
	rank    job.Rank
	app     int
	pid     int
	pmiFD   int    // -1 when closed
	replies []byte // PMI bytes that the rank's socket had no room for
	aborted bool
	fencing bool        // it has entered its world's fence, which is not complete
	words   *pmgr.Abort // that it aborts, told by nobody knows whom
	exited  bool
	record  report.Rank
}

func (r *rank) id() job.RankID { return job.RankID{World: r.world.id, Rank: r.rank} }

// watched is what a descriptor in the agent's poller is: a rank's PMI socket,
// or its standard input.
type watched struct {
	rank  *rank
	stdin bool
}

// Events of the agent itself, beside those of package overlay.
type (
	wardenUp struct {
		warden Warden
		err    error
	}
	wardenEvents struct{ events []proc.Event }
	wardenLost   struct{ err error }
	wardenStuck  struct{ patience int } // it has had its time
	beatDue      struct{}               // the warden is to hear of us
	pmgrResumed  struct{}               // connections may be taken again
	outputIdle   struct{}               // every pipe of the local ranks is closed
	lingerOver   struct{}               // what outlived the ranks has had its time
	familyEnded  struct{}               // every child has ENDed or is lost
)

// run is the event loop. It returns when the job is over for this node.
func (a *Agent) run() error {
	ready := make([]unix.Ready, 128)
	buf := make([]byte, 64<<10)
	var events []overlay.Event
	for !a.over {
		n, err := a.poller.Park(ready)
		if err != nil {
			return fmt.Errorf("wait for events: %w", err)
		}
		for _, r := range ready[:n] {
			a.descriptor(r, buf)
		}
		events = a.inbox.Take(events)
		for _, e := range events {
			a.handle(e)
		}
		a.serve()
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
		a.family.HostFailed(e.Dead)
	case overlay.PartDone:
		a.readyIf(a.family.PartDone())
	case signWanted:
		a.askSignature(e.request, a.self.Index, signOrigin{answer: e.answer})
	case wardenUp:
		a.wardenUp(e)
	case wardenEvents:
		a.wardenEvents(e.events)
	case wardenLost:
		a.wardenLost(e.err)
	case wardenStuck:
		a.wardenStuck(e.patience)
	case beatDue:
		a.beat()
	case pmgrResumed:
		a.pausePMGR(false)
	case progressDue:
		a.tellProgress()
	case inputArrived:
		a.takeInput(e)
	case filesHere:
		a.filesHere(e)
	case noiseHeard:
		a.note(1, "%s printed at login: %s", e.host, e.line)
	case keyAccepted:
		a.note(1, "host key of %s was accepted without being known; it is not recorded", e.host)
	case rankCalled:
		a.rankCalled(e)
	case pmgrHungUp:
		a.pmgrVanished(e)
	case callerGone:
		a.callerLives(e)
	case strangerCalled:
		a.strangerCalled(e)
	case lookDue:
		a.lookForMPI(e)
	case outputIdle:
		a.localIdle()
	case lingerOver:
		a.clean()
	case familyEnded:
		a.familyOver = true
		a.leaveIf()
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
	if !a.family.Live(m.From) {
		return nil
	}
	if m.Header.Kind == overlay.KindHome || m.Header.Kind == overlay.KindGroup {
		return a.homeMessage(m)
	}
	return a.fromChild(m)
}

func (a *Agent) fromParent(m overlay.Message) error {
	switch { // of what may overtake the range, on its own stream
	case m.Header.Kind == overlay.KindPing:
		return decode(m, a.pong)
	case m.Header.Kind == overlay.KindSignal && a.family == nil:
		return decode(m, a.signal)
	case m.Header.Kind != overlay.KindRange && a.family == nil:
		return fmt.Errorf("message of kind %d before the range", m.Header.Kind)
	}
	switch m.Header.Kind {
	case overlay.KindHome, overlay.KindGroup:
		return a.homeMessage(m)
	case overlay.KindRange:
		return decode(m, a.takeRange)
	case overlay.KindLaunch:
		a.stamp(nil, phaseLaunch) // before anybody below can have it
		a.family.Broadcast(link.KVS, overlay.KindLaunch, m.Body)
		return decode(m, a.takeLaunch)
	case overlay.KindSigned:
		return decode(m, func(s overlay.SignAnswer) error { a.signed(s); return nil })
	case overlay.KindSignal:
		a.family.Broadcast(link.Control, m.Header.Kind, m.Body)
		return decode(m, a.signal)
	case overlay.KindKill:
		a.family.Broadcast(link.Control, m.Header.Kind, m.Body)
		return decode(m, func(k overlay.Kill) error { a.kill(k.Grace); return nil })
	case overlay.KindCollect:
		a.family.Broadcast(link.Service, m.Header.Kind, m.Body)
		return a.collect()
	case overlay.KindBoard:
		return a.aboutWorld(m, func(w *world) error { return a.boardMessage(w, m.From, m.Body) })
	case overlay.KindRecords:
		return a.records(m)
	case overlay.KindNamed:
		return decode(m, a.nameAnswer)
	case overlay.KindGrow:
		return decode(m, a.grow)
	case overlay.KindLateLaunch:
		a.family.BroadcastNew(link.KVS, overlay.KindLaunch, m.Body)
		return nil
	case overlay.KindWorld:
		return a.takeWorld(m)
	case overlay.KindSpawned:
		return decode(m, a.spawned)
	case overlay.KindEndWorld:
		return a.aboutWorld(m, a.endWorld)
	case overlay.KindForget:
		return a.aboutWorld(m, a.forget)
	}
	return fmt.Errorf("unexpected message of kind %d from the parent", m.Header.Kind)
}

func (a *Agent) fromChild(m overlay.Message) error {
	switch m.Header.Kind {
	case overlay.KindReady:
		return decode(m, func(r overlay.Ready) error {
			a.progress.ready(m.From, r)
			a.readyIf(a.family.ChildReady(m.From, r))
			return nil
		})
	case overlay.KindSign:
		return decode(m, func(r overlay.SignRequest) error { a.childSignature(m.From, r); return nil })
	case overlay.KindStarted:
		return a.aboutWorld(m, func(w *world) error {
			return decode(m, func(s overlay.Started) error { a.childStarted(w, m.From, s); return nil })
		})
	case overlay.KindDone:
		return a.aboutWorld(m, func(w *world) error {
			return decode(m, func(d overlay.Done) error { a.childDone(w, m.From, d); return nil })
		})
	case overlay.KindFailure, overlay.KindNote, overlay.KindDied:
		a.parent.Send(m.Stream, m.Header, m.Body)
		return nil
	case overlay.KindInputAck:
		return decode(m, func(k overlay.InputAck) error { return a.inputAck(m.From, k) })
	case overlay.KindBoard:
		return a.aboutWorld(m, func(w *world) error { return a.boardMessage(w, m.From, m.Body) })
	case overlay.KindRecords:
		return a.records(m)
	case overlay.KindCollected:
		return decode(m, func(c report.Collected) error { return a.collected(m.From, c) })
	case overlay.KindPong:
		return decode(m, func(p overlay.Pong) error { return a.childClock(m.From, p) })
	case overlay.KindProgress:
		return decode(m, func(p overlay.Progress) error { a.progress.of(m.From, p); return nil })
	case overlay.KindSpawn:
		return decode(m, func(q overlay.SpawnRequest) error { return a.childSpawn(m, q) })
	case overlay.KindName:
		return decode(m, func(q overlay.NameRequest) error { return a.childName(m.From, q) })
	}
	return fmt.Errorf("unexpected message of kind %d from a child", m.Header.Kind)
}

func decode[T any](m overlay.Message, then func(T) error) error {
	v, err := overlay.Decode[T](m.Body)
	if err != nil {
		return err
	}
	return then(v)
}

// broken cuts off a neighbor that broke the protocol.
func (a *Agent) broken(from tree.Slot, err error) {
	err = fmt.Errorf("%w: protocol error: %w", link.ErrLost, err)
	a.edgeEnded(overlay.EdgeEnded{From: from, Err: err})
}

// edgeEnded handles the END or the loss of a link.
func (a *Agent) edgeEnded(e overlay.EdgeEnded) {
	switch {
	case e.From == tree.Up && e.Err == nil:
		a.endFamily()
	case e.From == tree.Up:
		a.parentLost()
	case e.Err == nil && a.leaving:
		a.family.Leave(e.From)
	default:
		a.childLost(e.From, e.Err)
	}
}

// note tells the user something, if they asked for so much.
func (a *Agent) note(level int, format string, args ...any) {
	if level > a.common.Verbose {
		return
	}
	a.up(link.Control, overlay.KindNote, overlay.Encode(overlay.Note{Level: level, Host: a.self.Index, Text: fmt.Sprintf(format, args...)}))
}

// fail reports a failure to the launcher.
func (a *Agent) fail(f job.Failure) {
	if f.Provoked = f.Provoked || a.killed; f.Provoked {
		return // nobody asks why what was told to end has ended
	}
	a.up(link.Control, overlay.KindFailure, overlay.Encode(f))
}
