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
func (a *Agent) sendHome(to job.NodeID, msg []byte) {
	a.forwardHome(tree.Header{Kind: overlay.KindHome, To: a.launch.Nodes[to], From: a.self.Index}, msg)
}

// forwardHome takes it one step on. Whoever is lost on the way ends the job
// anyhow.
func (a *Agent) forwardHome(h tree.Header, msg []byte) {
	if slot, ok := a.family.Route(h.To); !ok {
		a.parent.Send(link.KVS, h, msg)
	} else if a.family.Live(slot) {
		a.family.Forward(slot, link.KVS, h, msg)
	}
}

// homeMessage takes one that came from a neighbor. Which node wrote it is known
// by the subtree it came from.
func (a *Agent) homeMessage(m overlay.Message) error {
	h := m.Header
	slot, below := a.family.Route(h.From)
	switch {
	case m.From != tree.Up && (!below || slot != m.From), m.From == tree.Up && (below || h.From == a.self.Index):
		return fmt.Errorf("a message to a home from host %d, which is elsewhere", h.From)
	case h.To != a.self.Index:
		if _, ok := a.family.Route(h.To); !ok && (a.root || m.From == tree.Up) {
			return fmt.Errorf("a message to a home on host %d, which is not below", h.To)
		}
		a.forwardHome(h, m.Body)
		return nil
	case a.launch == nil:
		a.early = append(a.early, m) // the launch comes on another stream
		return nil
	}
	from := slices.Index(a.launch.Nodes, h.From)
	if from < 0 {
		return fmt.Errorf("a message to a home from host %d, which is no node of the world", h.From)
	}
	if err := a.board.Receive(cache.Node(job.NodeID(from)), m.Body, &a.boardOut); err != nil {
		return err
	}
	a.boardEffects()
	a.pmiEffects()
	return nil
}

// takeEarly takes what came before the launch.
func (a *Agent) takeEarly() error {
	early := a.early
	a.early = nil
	for _, m := range early {
		if err := a.homeMessage(m); err != nil {
			return err
		}
	}
	return nil
}
