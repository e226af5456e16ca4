package agent

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// transit is what goes from any node to any other by way of this one.
type transit struct {
	n       *Agent
	dropped map[job.HostIndex]bool // who was told of, see drop
}

// passOn takes a message of one server to another on any node of the world, by way of
// the lowest common ancestor, one step on. One for a host that is lost goes nowhere:
// the loss ends the job anyhow.
func (t *transit) passOn(h tree.Header, msg []byte) {
	t.pass(overlay.Message{Stream: link.KVS, Header: h, Body: msg})
}

// pass is passOn for one that has come from a neighbor.
func (t *transit) pass(m overlay.Message) {
	if slot, ok := t.n.subtree.Route(m.Header.To); ok {
		t.n.subtree.Pass(slot, m)
	} else if !t.n.subtree.Gone(m.Header.To) {
		t.n.parent.Pass(m)
	} else if m.Header.Kind == overlay.KindPMIxModex {
		if j := t.n.jobs.find(m.Header.Job); j != nil {
			j.ModexOfLost(m.Header, m.Body)
		}
	}
}

// fromNode takes one about a job that came from a neighbor. Which node wrote it is known by the
// subtree it came from.
func (t *transit) fromNode(j *jobs.Job, m overlay.Message) error {
	h := m.Header
	slot, below := t.n.subtree.Route(h.From)
	switch {
	case m.From != tree.Up && (!below || slot != m.From), m.From == tree.Up && (below || h.From == t.n.self.Index):
		return fmt.Errorf("a message %q from %s, which is elsewhere", overlay.Word(h.Kind), t.n.subtree.Worlds.Called(h.From))
	case h.To == t.n.self.Index:
		return t.drop(m, j.ForServer(m))
	}
	if _, ok := t.n.subtree.Route(h.To); !ok && !t.n.subtree.Gone(h.To) {
		switch {
		case m.From == tree.Up:
			return fmt.Errorf("a message %q for %s, which is not below", overlay.Word(h.Kind), t.n.subtree.Worlds.Called(h.To))
		case t.n.root:
			return t.drop(m, errors.New("it is for a host that the job does not have"))
		}
	}
	t.pass(m)
	return nil
}

// drop decides what becomes of a message of any node that is found wrong here, and could
// not be where it was passed on. The neighbor that handed it over keeps its link, unless
// it says that it wrote it itself: it could have. So could those on the way; the user is
// told of both, once for each source.
func (t *transit) drop(m overlay.Message, err error) error {
	if err == nil {
		return nil
	}
	from, up := m.Header.From, m.From == tree.Up
	by, via := t.n.subtree.Worlds.Called(from), t.n.parentName
	if !up {
		via = t.n.subtree.Host(m.From).Name
	}
	if own := !up && t.n.subtree.Host(m.From).Index == from; own || up && by == via {
		return fmt.Errorf("message %q: %w", overlay.Word(m.Header.Kind), err)
	}
	if t.dropped[from] {
		return nil
	}
	if t.dropped == nil {
		t.dropped = map[job.HostIndex]bool{}
	}
	t.dropped[from] = true
	if up {
		t.n.note(overlay.NoteAlways, "dropped a message %q of %s, as relayed by %s: %v", overlay.Word(m.Header.Kind), by, via, err)
	} else {
		t.n.noteOf(m.Header.Job, from, overlay.NoteAlways, "its message %q, as relayed by %s, was dropped: %v", overlay.Word(m.Header.Kind), via, err)
	}
	return nil
}

// route sends a message about a job one step toward a host below, if the way is still
// there.
func (t *transit) route(h job.HostIndex, s link.Stream, kind tree.Kind, n job.Number, body []byte) {
	if slot, ok := t.n.subtree.Route(h); ok && t.n.subtree.Live(slot) {
		t.n.subtree.Send(slot, s, kind, n, body)
	}
}

// fromServer takes a message of a job's server on another node.
func (a *Agent) fromServer(j *jobs.Job, m overlay.Message) error {
	if overlay.FromAnyNode(m.Header.Kind) {
		return a.transit.fromNode(j, m)
	}
	return j.FromNeighbor(m)
}
