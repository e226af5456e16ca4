package servepmi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// enterGroup tells the first node of a group that all local members are in its
// barrier, and what was put here.
func (s *Server) enterGroup(q *pmi.Request) error {
	nodes := nodesOf(s.w, q.Members)
	return s.tellGroup(nodes[0], overlay.Group{Key: slices.Clone(q.Key), Need: len(nodes), Entries: s.groups.Known()})
}

// nodesOf lists the nodes where ranks are, given in ascending order; nil means
// all ranks.
func nodesOf(w *serve.World, members []job.Rank) []job.NodeID {
	var nodes []job.NodeID
	for _, b := range w.Blocks { // in rank order
		if members != nil {
			i, _ := slices.BinarySearch(members, b.First)
			if i == len(members) || members[i] >= b.First+job.Rank(b.Count) {
				continue
			}
		}
		if n, found := slices.BinarySearch(w.Hosts, b.Host); found {
			nodes = append(nodes, job.NodeID(n))
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// tellGroup sends a message about a group to a node, which may be this one.
func (s *Server) tellGroup(to job.NodeID, g overlay.Group) error {
	if to == s.w.Self {
		return s.takeGroup(to, g)
	}
	body := overlay.Encode(g)
	if len(body) > tree.MaxMessage {
		return fmt.Errorf("barrier of group %.60q: %d bytes were put since the last fence, at most %d fit into a message", g.Key, len(body), tree.MaxMessage)
	}
	s.w.SendTo(to, overlay.KindGroup, body)
	return nil
}

// Message takes one about a group.
func (s *Server) Message(m serve.Message) error {
	g, err := overlay.As[overlay.Group](m.Message)
	if err == nil {
		err = s.judge(m.Node, g)
	}
	if err == nil {
		err = s.takeGroup(m.Node, g)
	}
	if err == nil {
		s.Settle()
	}
	return err
}

// judge refuses what a node cannot have to say of a group: who is in it, its key says, so
// that no node can have others wait for it, or not wait.
func (s *Server) judge(from job.NodeID, g overlay.Group) error {
	if s.groups == nil {
		return errors.New("a message about a group in a world without groups")
	}
	members, err := pmi.GroupMembers(string(g.Key), s.w.Size)
	if err != nil {
		return fmt.Errorf("%.60q is no group of the world", g.Key)
	}
	nodes := nodesOf(s.w, members)
	first, other := s.w.Self, from
	if g.Need == 0 {
		first, other = from, s.w.Self
	}
	if _, in := slices.BinarySearch(nodes, other); !in || nodes[0] != first || g.Need > 0 && g.Need != len(nodes) {
		return fmt.Errorf("group %.60q is not of these nodes", g.Key)
	}
	return nil
}

// takeGroup counts a node in, or lets the ranks of this one go.
func (s *Server) takeGroup(from job.NodeID, g overlay.Group) error {
	if g.Need == 0 {
		s.groups.Learn(g.Entries)
		s.pmi.GroupDone(string(g.Key), &s.out)
		return nil
	}
	all, known, err := s.groups.Enter(from, string(g.Key), g.Need, g.Entries)
	if err != nil {
		return err
	}
	for _, node := range all {
		if err := s.tellGroup(node, overlay.Group{Key: g.Key, Entries: known}); err != nil {
			return err
		}
	}
	return nil
}
