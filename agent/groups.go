package agent

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// enterGroup tells the first node of a group that all local members are in its
// barrier, and what was put here.
func (a *Agent) enterGroup(w *world, q *pmi.Request) error {
	nodes := w.nodesOf(q.Members)
	return a.tellGroup(w, nodes[0], overlay.Group{Key: slices.Clone(q.Key), Need: len(nodes), Entries: w.groups.Known()})
}

// nodesOf lists the nodes where ranks are, given in ascending order; nil means
// all ranks.
func (w *world) nodesOf(members []job.Rank) []job.NodeID {
	var nodes []job.NodeID
	for _, b := range w.Blocks { // in rank order
		if members != nil {
			i, _ := slices.BinarySearch(members, b.First)
			if i == len(members) || members[i] >= b.First+job.Rank(b.Count) {
				continue
			}
		}
		if n, found := slices.BinarySearch(w.nodes, b.Host); found {
			nodes = append(nodes, job.NodeID(n))
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// tellGroup sends a message about a group to a node, which may be this one.
func (a *Agent) tellGroup(w *world, to job.NodeID, g overlay.Group) error {
	if w.nodes[to] == a.self.Index {
		return a.groupMessage(w, to, g)
	}
	body := overlay.Encode(g)
	if len(body) > tree.MaxMessage {
		return fmt.Errorf("barrier of group %.60q: %d bytes were put since the last fence, at most %d fit into a message", g.Key, len(body), tree.MaxMessage)
	}
	a.sendTo(w, overlay.KindGroup, to, body)
	return nil
}

// groupMessage counts a node in, or lets the ranks of this one go.
func (a *Agent) groupMessage(w *world, from job.NodeID, g overlay.Group) error {
	if w.groups == nil {
		return fmt.Errorf("a message about a group from node %d in a world without groups", from)
	}
	if g.Need == 0 {
		w.groups.Learn(g.Entries)
		w.pmi.GroupDone(string(g.Key), &w.pmiOut)
		return nil
	}
	all, known, err := w.groups.Enter(from, string(g.Key), g.Need, g.Entries)
	if err != nil {
		return err
	}
	for _, node := range all {
		if err := a.tellGroup(w, node, overlay.Group{Key: g.Key, Entries: known}); err != nil {
			return err
		}
	}
	return nil
}

// get answers a rank's Get: by the bulletin board, unless a group has brought
// something newer.
func (w *world) get(q *pmi.Request) {
	if w.groups != nil {
		if value, found := w.groups.Get(q.Key); found {
			w.pmi.GetDone(q.Rank, value, true, &w.pmiOut)
			return
		}
	}
	w.board.Get(uint64(q.Rank), q.Key, &w.boardOut)
}

// put puts a rank's value on the bulletin board.
func (w *world) put(q *pmi.Request) {
	err := w.board.Put(q.Key, q.Value, &w.boardOut)
	if err == nil && w.groups != nil {
		w.groups.Put(q.Key, q.Value)
	}
	w.pmi.PutDone(q.Rank, err, &w.pmiOut)
}

// newGroups is what a world of that version keeps of its groups: nothing, if
// there are none.
func newGroups(version string, node job.NodeID) *cache.Groups {
	if version != "1.2" {
		return nil
	}
	return cache.NewGroups(node)
}
