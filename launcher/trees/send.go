package trees

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/tree"
)

// Send sends the root a message: for itself (tree.Neighbor), a host, or all (tree.Everyone).
func (t *Tree) Send(s link.Stream, h tree.Header, body []byte) {
	h.From = tree.Launcher
	for slot := range t.subtree.Children {
		t.subtree.Forward(slot, s, h, body)
	}
}

// KnowJob notes that a job begins: agents speak of no other.
func (t *Tree) KnowJob(n job.Number) { t.subtree.Worlds.KnowJob(n) }

// Know notes where the ranks of a job's world are: agents speak of no other.
func (t *Tree) Know(n job.Number, world int, blocks []job.Block) {
	t.subtree.Worlds.Know(n, world, blocks)
}

// Forget notes that a job's world is over.
func (t *Tree) Forget(n job.Number, world int) { t.subtree.Worlds.Forget(n, world) }

// Watched notes that the wardens watch their agents: ranks have started.
func (t *Tree) Watched(m overlay.Message) { t.subtree.Watched(m.From) }

// Since returns the time of a failure that a message tells of.
func (t *Tree) Since(m overlay.Message, f job.Failure) time.Time {
	age, _ := t.subtree.Age(m, f)
	return time.Now().Add(-age)
}

// Edges returns the links, for a goroutine that is to send on them.
func (t *Tree) Edges() []*overlay.Edge { return t.subtree.Edges() }

// Suspend announces that this process is about to be stopped, or runs again.
func (t *Tree) Suspend(on bool) error { return t.subtree.Suspend(on) }

// rooted reports whether there is a root agent.
func (t *Tree) rooted() bool { return t.subtree.Degree() > 0 }

// Root returns the host of the root agent, if there is one.
func (t *Tree) Root() (host overlay.HostEntry, ok bool) {
	for slot := range t.subtree.Children {
		return t.subtree.Host(slot), true
	}
	return host, false
}

// PingRoot begins to measure the root's clock, if there is a root.
func (t *Tree) PingRoot() (begun bool) {
	for slot := range t.subtree.Children {
		t.subtree.Ping(slot)
		begun = true
	}
	return begun
}

// Up reports whether no further host is awaited, of those that were started first.
func (t *Tree) Up() bool { return t.up }

// Growing reports whether further hosts are being started.
func (t *Tree) Growing() bool { return t.growing != nil }

// Hosts returns the living hosts and the dead ones, as far as the job was told.
func (t *Tree) Hosts() overlay.Ready { return t.live }

// Known returns the living hosts and the dead ones, as far as the tree knows.
func (t *Tree) Known() overlay.Ready {
	if t.up {
		return t.live
	}
	return t.subtree.ReadyValue()
}

// HowFar returns the progress of the start.
func (t *Tree) HowFar() overlay.Progress {
	p := t.progress
	p.Merge(t.subtree.Slowest())
	if t.up {
		p.Nodes = len(t.live.Live)
	}
	return p
}

// Starts returns the starts of agents from here, for a trace.
func (t *Tree) Starts() []report.Start { return t.subtree.Starts() }

// OnOurClock puts the times of nodes on the launcher's clock.
func (t *Tree) OnOurClock(nodes []report.Node) { t.subtree.TellClocks(nodes, 0) }
