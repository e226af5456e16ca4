package agent

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/tree"
)

// sendHome sends a message of the bulletin board to any node of the world, by
// way of the lowest common ancestor.
func (a *Agent) sendHome(w *world, to job.NodeID, msg []byte) {
	a.sendTo(w, overlay.KindHome, to, msg)
}

func (a *Agent) sendTo(w *world, kind tree.Kind, to job.NodeID, msg []byte) {
	a.forwardHome(tree.Header{Kind: kind, World: uint16(w.id), To: w.nodes[to], From: a.self.Index}, msg)
}

// forwardHome takes it one step on. One for a host that is lost goes nowhere:
// the loss ends the job anyhow.
func (a *Agent) forwardHome(h tree.Header, msg []byte) {
	if slot, ok := a.family.Route(h.To); ok {
		a.family.Forward(slot, link.KVS, h, msg)
	} else if !a.family.Gone(h.To) {
		a.parent.Send(link.KVS, h, msg)
	}
}

// homeMessage takes one, or one about a group, that came from a neighbor. Which
// node wrote it is known by the subtree it came from.
func (a *Agent) homeMessage(m overlay.Message) error {
	h := m.Header
	slot, below := a.family.Route(h.From)
	switch {
	case m.From != tree.Up && (!below || slot != m.From), m.From == tree.Up && (below || h.From == a.self.Index):
		return fmt.Errorf("a message to a home from host %d, which is elsewhere", h.From)
	case h.To != a.self.Index:
		if _, ok := a.family.Route(h.To); !ok && !a.family.Gone(h.To) && (a.root || m.From == tree.Up) {
			return fmt.Errorf("a message to a home on host %d, which is not below", h.To)
		}
		a.forwardHome(h, m.Body)
		return nil
	}
	return a.aboutWorld(m, func(w *world) error {
		from, found := slices.BinarySearch(w.nodes, h.From)
		if !found || w.board == nil {
			return fmt.Errorf("a message to a home from host %d, which is no node of world %d", h.From, w.id)
		}
		if h.Kind == overlay.KindHome {
			return a.boardReceives(w, cache.Node(job.NodeID(from)), m.Body)
		}
		err := decode(m, func(g overlay.Group) error { return a.groupMessage(w, job.NodeID(from), g) })
		if err == nil {
			a.pmiEffects(w)
		}
		return err
	})
}
