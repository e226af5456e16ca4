package cache

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// Groups holds the entries that barriers of groups (PMI 1.2) add to one node's view of
// a world between two fences. The nodes of a group tell one of them, the first, the
// entries put there, or learnt in other groups, since the last fence; it tells all of
// them together. A fence makes everything known everywhere, by way of the Board, so the
// entries here are forgotten then.
//
// Of several puts of one key the winner is that of the fence to come: the one on
// the highest-numbered node, there the last. Until then a node's own later put
// counts on that node.
type Groups struct {
	node   job.NodeID
	epoch  uint64
	puts   uint64                 // of this node, ever
	own    map[string]GroupEntry  // put here since the last fence
	others map[string]GroupEntry  // learnt from others
	rounds map[string]*groupRound // of groups of which this node is the first
}

// GroupEntry is one put as it is told to the nodes of a group.
type GroupEntry struct {
	_     struct{}   `cbor:",toarray"`
	Key   []byte     // the key
	Value []byte     // byte for byte
	Epoch uint64     // fences that were complete where it was put
	Node  job.NodeID // node of the put
	Put   uint64     // number of the put among that node's
}

// groupRound is one barrier of a group that some of its nodes are in.
type groupRound struct {
	need    int
	inside  []job.NodeID
	entries map[string]GroupEntry
}

// NewGroups returns an empty view for a node.
func NewGroups(node job.NodeID) *Groups {
	return &Groups{node: node, own: map[string]GroupEntry{}, others: map[string]GroupEntry{}, rounds: map[string]*groupRound{}}
}

// Put notes a local rank's put on the Board.
func (g *Groups) Put(key, value []byte) {
	g.puts++
	g.own[string(key)] = GroupEntry{Key: slices.Clone(key), Value: slices.Clone(value), Epoch: g.epoch, Node: g.node, Put: g.puts}
	delete(g.others, string(key))
}

// Get returns an entry of other nodes of a group that the Board does not know yet.
func (g *Groups) Get(key []byte) (value string, found bool) {
	e, found := g.others[string(key)]
	return string(e.Value), found
}

// Fenced says that a fence is complete: all that was put in its epoch is on the
// Board.
func (g *Groups) Fenced() {
	g.epoch++
	clear(g.own)
	for key, e := range g.others {
		if e.Epoch < g.epoch { // other nodes may be ahead
			delete(g.others, key)
		}
	}
}

// Known returns the entries that this node sends to the others when its ranks enter a
// barrier.
func (g *Groups) Known() []GroupEntry {
	known := map[string]GroupEntry{}
	for _, e := range g.own {
		merge(known, e)
	}
	for _, e := range g.others {
		merge(known, e)
	}
	return sorted(known)
}

// Learn takes in the joint entries of the nodes of a group. The caller must not change
// it afterwards.
func (g *Groups) Learn(entries []GroupEntry) {
	for _, e := range entries {
		own, put := g.own[string(e.Key)]
		if e.Epoch < g.epoch || e.Node == g.node || put && e.compare(own) < 0 {
			continue // on the Board by now, or no news
		}
		merge(g.others, e)
	}
}

// Enter counts a node into the barrier of a group of need nodes, of which this one is
// the first. Once all are in, it returns them and their joint entries.
func (g *Groups) Enter(from job.NodeID, group string, need int, entries []GroupEntry) (all []job.NodeID, known []GroupEntry, err error) {
	r := g.rounds[group]
	if r == nil {
		r = &groupRound{need: need, entries: map[string]GroupEntry{}}
		g.rounds[group] = r
	}
	if need < 1 || need != r.need || slices.Contains(r.inside, from) {
		return nil, nil, fmt.Errorf("barrier of group %.60q: node %d of %d enters as one of %d", group, from, r.need, need)
	}
	r.inside = append(r.inside, from)
	for _, e := range entries {
		merge(r.entries, e)
	}
	if len(r.inside) < r.need {
		return nil, nil, nil
	}
	delete(g.rounds, group)
	return r.inside, sorted(r.entries), nil
}

// compare orders puts of one key; the last wins.
func (e GroupEntry) compare(f GroupEntry) int {
	return cmp.Or(cmp.Compare(e.Epoch, f.Epoch), cmp.Compare(e.Node, f.Node), cmp.Compare(e.Put, f.Put))
}

// merge keeps the winner of e and the known entry of its key.
func merge(known map[string]GroupEntry, e GroupEntry) {
	if old, found := known[string(e.Key)]; !found || old.compare(e) < 0 {
		known[string(e.Key)] = e
	}
}

// sorted lists entries by key, the same on every run.
func sorted(known map[string]GroupEntry) []GroupEntry {
	list := make([]GroupEntry, 0, len(known))
	for _, e := range known {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b GroupEntry) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return list
}
