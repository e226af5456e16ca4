package agent

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// passOn takes a message of one server to another on any node of the world, by way of
// the lowest common ancestor, one step on. One for a host that is lost goes nowhere:
// the loss ends the job anyhow.
func (a *Agent) passOn(h tree.Header, msg []byte) {
	a.pass(overlay.Message{Stream: link.KVS, Header: h, Body: msg})
}

// pass is passOn for one that has come from a neighbor.
func (a *Agent) pass(m overlay.Message) {
	if slot, ok := a.subtree.Route(m.Header.To); ok {
		a.subtree.Pass(slot, m)
	} else if !a.subtree.Gone(m.Header.To) {
		a.parent.Pass(m)
	} else if m.Header.Kind == overlay.KindPMIxModex {
		a.modexOfLost(m.Header, m.Body)
	}
}

// fromNode takes one that came from a neighbor. Which node wrote it is known by the
// subtree it came from.
func (a *Agent) fromNode(m overlay.Message) error {
	h := m.Header
	slot, below := a.subtree.Route(h.From)
	switch {
	case m.From != tree.Up && (!below || slot != m.From), m.From == tree.Up && (below || h.From == a.self.Index):
		return fmt.Errorf("a message %q from %s, which is elsewhere", overlay.Word(h.Kind), a.subtree.Worlds.Called(h.From))
	case h.To == a.self.Index:
		return a.drop(m, a.forServer(m))
	}
	if _, ok := a.subtree.Route(h.To); !ok && !a.subtree.Gone(h.To) {
		switch {
		case m.From == tree.Up:
			return fmt.Errorf("a message %q for %s, which is not below", overlay.Word(h.Kind), a.subtree.Worlds.Called(h.To))
		case a.root:
			return a.drop(m, errors.New("it is for a host that the job does not have"))
		}
	}
	a.pass(m)
	return nil
}

// forServer hands a message of any node to the server here that it is for.
func (a *Agent) forServer(m overlay.Message) error {
	if m.Header.Kind == overlay.KindPMIxModex {
		return a.pmixModex(m)
	}
	return a.aboutWorld(m, func(w *world) error {
		from, found := slices.BinarySearch(w.nodes, m.Header.From)
		if !found || w.board == nil {
			return fmt.Errorf("it is from where no node of world %d is", w.id)
		}
		return a.toServer(w, serve.Message{Message: m, Node: job.NodeID(from)})
	})
}

// drop decides what becomes of a message of any node that is found wrong here, and could
// not be where it was passed on. The neighbor that handed it over keeps its link, unless
// it says that it wrote it itself: it could have. So could those on the way; the user is
// told of both, once for each source.
func (a *Agent) drop(m overlay.Message, err error) error {
	if err == nil {
		return nil
	}
	from, up := m.Header.From, m.From == tree.Up
	by, via := a.subtree.Worlds.Called(from), a.parentName
	if !up {
		via = a.subtree.Host(m.From).Name
	}
	if own := !up && a.subtree.Host(m.From).Index == from; own || up && by == via {
		return fmt.Errorf("message %q: %w", overlay.Word(m.Header.Kind), err)
	}
	if a.dropped[from] {
		return nil
	}
	if a.dropped == nil {
		a.dropped = map[job.HostIndex]bool{}
	}
	a.dropped[from] = true
	if up {
		a.note(overlay.NoteAlways, "dropped a message %q of %s, as relayed by %s: %v", overlay.Word(m.Header.Kind), by, via, err)
	} else {
		a.noteOf(from, overlay.NoteAlways, "its message %q, as relayed by %s, was dropped: %v", overlay.Word(m.Header.Kind), via, err)
	}
	return nil
}
