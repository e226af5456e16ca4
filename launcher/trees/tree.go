// Package trees has the launcher's side of a tree: the agents of a set of hosts, from
// the first connection to the last END. It starts them, answers their requests, knows
// the living ones, and carries the messages of a job, which it knows by an interface.
//
// Not here: jobs, and their account to the user (package launcher), ways to reach hosts
// (package bootstrap).
package trees

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Tree is the living agents of a set of hosts and their links, from the first connection to
// the last END. It belongs to the goroutine that hands it events, but for its inbox, which
// is safe for many. Its one link is that to the root agent.
type Tree struct {
	id     string // random
	inbox  *overlay.Inbox
	woken  chan struct{} // has an element when events wait in inbox
	job    Job
	report Reporter

	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup // to answer requests of agents, send files, make schedules

	boot     *boot
	growing  *growth // nil while no further hosts are started
	subtree  *overlay.Subtree
	requests requests
	clock    Clock
	hosts    []job.Host // by HostIndex; relays follow
	relays   []string

	up       bool
	live     overlay.Ready      // hosts that live, once the tree is up
	died     []overlay.DeadHost // since they were ready, before the tree is up
	forgers  map[job.HostIndex]bool
	progress overlay.Progress // of the start, as the root has told it

	killed   bool // nothing more is started
	deadline overlay.Deadline
	cut      bool // the user was told of a host that was cut off
}

// OwnFiles bounds golaunch's open files, but for its output files: it has one link, and
// for a moment a few more connections.
const OwnFiles = 32

// Events of the tree itself, beside those of package overlay.
type (
	noiseHeard struct {
		host job.HostIndex
		line string
	}
	signatureMade struct {
		slot   tree.Slot
		answer overlay.SignAnswer
	}
)

// New returns a tree without hosts.
func New(j Job, report Reporter) *Tree {
	t := &Tree{job: j, report: report, woken: make(chan struct{}, 1)}
	t.requests.tree = t
	var id [16]byte
	rand.Read(id[:]) // never fails
	t.id = hex.EncodeToString(id[:])
	t.progress.Host = job.NoHost
	t.inbox = overlay.NewInbox(func() {
		select {
		case t.woken <- struct{}{}:
		default:
		}
	})
	return t
}

// Open opens the means to reach the hosts. sink takes the ranks' output, in the
// goroutine that reads the root's link.
func (t *Tree) Open(ctx context.Context, c *Config, sink overlay.Sink) (err error) {
	if c.Kind.Orphans {
		// Processes that a dead root leaves behind here become ours to end.
		if err := unix.Subreaper(); err != nil {
			return err
		}
	}
	t.hosts, t.relays = c.Hosts, c.Relays
	t.ctx, t.stop = context.WithCancel(ctx)
	if t.boot, err = newBoot(t.ctx, c, t.id, t.inbox, t.report); err != nil {
		t.stop()
		return err
	}
	c.Ask.late = true
	t.subtree = overlay.NewSubtree(t.boot.starter, t.boot.common, t.inbox, func(tree.Slot) overlay.Sink { return sink })
	t.deadline = overlay.NewDeadline(t.boot.common, 0, func() { t.Post(treeLate{}) })
	return nil
}

// Begin starts the agents.
func (t *Tree) Begin() {
	t.clock.Mark("resolve")
	t.subtree.Begin(overlay.Ready{}, t.boot.start, 1)
}

// ID returns the tree's own name.
func (t *Tree) ID() string { return t.id }

// Marks returns the end of each phase of the start and of the end.
func (t *Tree) Marks() []Mark { return t.clock }

// Context ends with the tree.
func (t *Tree) Context() context.Context { return t.ctx }

// Go runs a task, which ends soon after the context. The tree is not closed before.
func (t *Tree) Go(task func()) { t.tasks.Go(task) }

// Woken has an element when events wait, which Take takes.
func (t *Tree) Woken() <-chan struct{} { return t.woken }

// Take takes all events that wait; it reuses the memory of those before.
func (t *Tree) Take(before []overlay.Event) []overlay.Event { return t.inbox.Take(before) }

// Post queues an event. Any goroutine may call it.
func (t *Tree) Post(e overlay.Event) { t.inbox.Put(e) }

// PostAfter queues an event after a while.
func (t *Tree) PostAfter(d time.Duration, e overlay.Event) *time.Timer {
	return time.AfterFunc(d, func() { t.Post(e) })
}

// Handle handles an event, and reports whether it is one of the tree's.
func (t *Tree) Handle(e overlay.Event) bool {
	switch e := e.(type) {
	case overlay.Joined:
		t.joined(e)
	case overlay.HostFailed:
		t.subtree.HostFailed(e.Dead)
	case overlay.HostAwaited:
		t.job.Noted(overlay.Note{Host: e.Host, Text: e.Text})
	case overlay.HostTried:
		t.job.Noted(overlay.Note{Level: overlay.LevelTries, Host: e.Host, Text: e.Text})
	case overlay.PartDone:
		if t.subtree.PartDone() {
			t.complete()
		}
	case overlay.Message:
		if err := t.message(e); err != nil && !t.dropped(e, err) {
			t.rootLost(e.From, overlay.BrokeProtocol(err))
		}
	case overlay.EdgeEnded:
		t.rootLost(e.From, e.Err)
	case growthReady:
		t.growthReady(e)
	case treeLate:
		if !t.job.Ended() && t.deadline.Passed() {
			t.job.Late()
		}
	case noiseHeard:
		t.job.Noted(overlay.Note{Level: 1, Host: e.host, Text: "printed at login: " + e.line})
	case signatureMade:
		if t.subtree.Live(e.slot) {
			t.subtree.Send(e.slot, link.Service, overlay.KindSigned, job.TreeItself, overlay.Encode(e.answer))
		}
	default:
		return false
	}
	return true
}

// joined takes in an agent that was started from here.
func (t *Tree) joined(e overlay.Joined) {
	t.starting().allow(e.Host.Index, e.Rest) // before it is told of them
	if slot := t.subtree.Join(e); t.boot.common.Trace {
		t.subtree.Ping(slot)
	}
	t.clock.Mark("connect")
	if t.boot.common.Verbose >= 1 {
		t.report.Say("agent on %s is up; it starts %d more", e.Host.Name, len(e.Rest))
	}
}

// message handles a message of the root, or hands it to the job.
func (t *Tree) message(m overlay.Message) error {
	switch m.Header.Kind {
	case overlay.KindReady:
		return overlay.TakeAny(m, func(ready overlay.Ready) {
			if t.subtree.ChildReady(m.From, ready) {
				t.complete()
			}
		})
	case overlay.KindSign:
		return overlay.TakeAny(m, func(q overlay.SignRequest) { t.requests.sign(m.From, q) })
	case overlay.KindAddress:
		return overlay.TakeAny(m, func(q overlay.AddrRequest) { t.requests.address(m.From, q) })
	case overlay.KindSummon:
		return overlay.TakeAny(m, func(q overlay.Summon) { t.requests.summon(m.From, q) })
	case overlay.KindGrown:
		return overlay.Take(m, func(ready overlay.Ready) error {
			if t.growing == nil {
				return errors.New("hosts that were not to be started")
			}
			t.grown(ready, nil)
			return nil
		})
	case overlay.KindDied:
		return overlay.TakeAny(m, func(d overlay.Died) { t.hostsDied(d.Dead) })
	case overlay.KindPong:
		return overlay.Take(m, func(p overlay.Pong) error { return t.rootClock(m, p) })
	case overlay.KindProgress:
		return overlay.TakeAny(m, func(p overlay.Progress) { t.progress = p })
	case overlay.KindNote:
		return overlay.TakeAny(m, t.note)
	case overlay.KindDemand:
		return overlay.TakeAny(m, func(d overlay.Demand) { t.job.Demanded(d.Host) })
	}
	return t.job.Message(m)
}

// dropped reports whether the root has passed on, as it was, a message whose fault only
// the launcher can find: then nobody loses a link, as any agent on the way can have
// written it.
func (t *Tree) dropped(m overlay.Message, err error) bool {
	root, from := t.subtree.Host(m.From), m.Header.From
	if !overlay.ForLauncher(m.Header.Kind) || from == root.Index {
		return false
	}
	if t.forgers == nil {
		t.forgers = map[job.HostIndex]bool{}
	}
	if !t.forgers[from] {
		t.forgers[from] = true
		t.job.Noted(overlay.Note{Level: overlay.NoteAlways, Host: from,
			Text: fmt.Sprintf("its message %q, as relayed by %s, was dropped: %v", overlay.Word(m.Header.Kind), t.hostName(root.Index), err)})
	}
	return true
}

// rootLost handles the end of the one link that the launcher has.
func (t *Tree) rootLost(slot tree.Slot, err error) {
	if t.job.Ended() || !t.subtree.Live(slot) {
		return
	}
	host := t.subtree.Host(slot)
	if !t.up && (t.growing == nil || t.subtree.Awaited(slot)) {
		if complete, _ := t.subtree.Lose(slot, err); complete {
			t.complete()
		}
		return
	}
	err = t.subtree.Explain(slot, err)
	t.subtree.Leave(slot)
	t.subtree.Sweep(slot)
	t.job.RootLost(host, err)
}

// rootClock takes the root's answer to a ping.
func (t *Tree) rootClock(m overlay.Message, p overlay.Pong) error {
	done, err := t.subtree.Pong(m.From, p, m.Residence())
	if done {
		t.job.RootTimed()
	}
	return err
}

// hostName returns the user's name of a host.
func (t *Tree) hostName(h job.HostIndex) string { return HostName(t.hosts, t.relays, h) }

// called returns hostName for a number that need not be a host's.
func (t *Tree) called(h job.HostIndex) string {
	if h < 0 || int(h) >= len(t.hosts)+len(t.relays) {
		return "another host"
	}
	return t.hostName(h)
}

// HostName returns the user's name of one of hosts and relays.
func HostName(hosts []job.Host, relays []string, h job.HostIndex) string {
	switch {
	case h < 0 || int(h) >= len(hosts)+len(relays):
		return "this machine"
	case int(h) >= len(hosts):
		return relays[int(h)-len(hosts)]
	}
	return hosts[h].Name
}
