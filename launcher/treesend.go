package launcher

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/tree"
)

// broadcast sends all agents a message.
func (t *Tree) broadcast(s link.Stream, kind tree.Kind, body []byte) {
	t.subtree.Broadcast(s, kind, body)
}

// send sends the root a message with a header, for itself (tree.Neighbor) or for others.
func (t *Tree) send(s link.Stream, h tree.Header, body []byte) {
	h.From = tree.Launcher
	for slot := range t.subtree.Children {
		t.subtree.Forward(slot, s, h, body)
	}
}

// tell sends the root a message.
func (t *Tree) tell(s link.Stream, kind tree.Kind, body []byte) {
	t.send(s, tree.Header{Kind: kind, To: tree.Neighbor}, body)
}

// toRoot sends the root a message about a world.
func (t *Tree) toRoot(world int, s link.Stream, kind tree.Kind, body []byte) {
	t.send(s, tree.Header{Kind: kind, World: uint16(world), To: tree.Neighbor}, body)
}

// know notes where the ranks of a world are, forgetWorld that it is over: agents speak of
// no other.
func (t *Tree) know(world int, blocks []job.Block) { t.subtree.Worlds.Know(world, blocks) }
func (t *Tree) forgetWorld(world int)              { t.subtree.Worlds.Forget(world) }

// watched notes that the wardens watch their agents: ranks have started.
func (t *Tree) watched(m overlay.Message) { t.subtree.Watched(m.From) }

// since is when a failure took place that a message tells of.
func (t *Tree) since(m overlay.Message, f job.Failure) time.Time {
	age, _ := t.subtree.Age(m, f)
	return time.Now().Add(-age)
}

// rooted reports whether there is a root agent.
func (t *Tree) rooted() bool { return t.subtree.Degree() > 0 }

// root is the host of the root agent, if there is one.
func (t *Tree) root() (host overlay.HostEntry, ok bool) {
	for slot := range t.subtree.Children {
		return t.subtree.Host(slot), true
	}
	return host, false
}

// pingRoot begins to measure the root's clock, if there is a root.
func (t *Tree) pingRoot() (begun bool) {
	for slot := range t.subtree.Children {
		t.subtree.Ping(slot)
		begun = true
	}
	return begun
}

// known is what is known of the hosts: which live, and which are dead.
func (t *Tree) known() overlay.Ready {
	if t.up {
		return t.live
	}
	return t.subtree.ReadyValue()
}

// howFar is how far the start is.
func (t *Tree) howFar() overlay.Progress {
	p := t.progress
	p.Merge(t.subtree.Slowest())
	if t.up {
		p.Nodes = len(t.live.Live)
	}
	return p
}

// starts are the starts of agents from here, for a trace; onOurClock puts what nodes tell
// on the launcher's clock.
func (t *Tree) starts() []report.Start         { return t.subtree.Starts() }
func (t *Tree) onOurClock(nodes []report.Node) { t.subtree.TellClocks(nodes, 0) }
