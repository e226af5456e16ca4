package agent

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/agent/serve"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/tree"
)

// passOn takes a message of one server to another on any node of the world, by way of
// the lowest common ancestor, one step on. One for a host that is lost goes nowhere:
// the loss ends the job anyhow.
func (a *Agent) passOn(h tree.Header, msg []byte) {
	if slot, ok := a.subtree.Route(h.To); ok {
		a.subtree.Forward(slot, link.KVS, h, msg)
	} else if !a.subtree.Gone(h.To) {
		a.parent.Send(link.KVS, h, msg)
	} else if h.Kind == overlay.KindPMIxModex {
		a.modexOfLost(h, msg)
	}
}

// fromNode takes one that came from a neighbor. Which node wrote it is known by the
// subtree it came from.
func (a *Agent) fromNode(m overlay.Message) error {
	h := m.Header
	slot, below := a.subtree.Route(h.From)
	switch {
	case m.From != tree.Up && (!below || slot != m.From), m.From == tree.Up && (below || h.From == a.self.Index):
		return fmt.Errorf("a message of kind %d from host %d, which is elsewhere", h.Kind, h.From)
	case h.To != a.self.Index:
		if _, ok := a.subtree.Route(h.To); !ok && !a.subtree.Gone(h.To) && (a.root || m.From == tree.Up) {
			return fmt.Errorf("a message of kind %d for host %d, which is not below", h.Kind, h.To)
		}
		a.passOn(h, m.Body)
		return nil
	}
	if h.Kind == overlay.KindPMIxModex {
		return a.pmixModex(m)
	}
	return a.aboutWorld(m, func(w *world) error {
		from, found := slices.BinarySearch(w.nodes, h.From)
		if !found || w.board == nil {
			return fmt.Errorf("a message of kind %d from host %d, which is no node of world %d", h.Kind, h.From, w.id)
		}
		return a.toServer(w, serve.Message{Message: m, Node: job.NodeID(from)})
	})
}
