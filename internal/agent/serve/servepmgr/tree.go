package servepmgr

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmgr"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// treeEnd is the agent itself as an endpoint of the tree's collective
// operations, on behalf of its ranks.
type treeEnd struct {
	tree    *servetree.Server
	session *member.Session
	queue   []byte // for the tree
	done    *member.Request
}

func (s *Server) join(t *servetree.Server) {
	s.tree = t
	s.session = member.New(s.w.Size, s.w.Size, int(s.w.Self), len(s.w.Hosts))
	t.Join(s)
}

func (t *treeEnd) begin(q pmgr.Request) {
	var r *member.Request
	switch c := t.session.Agents(); q.Op {
	case record.Bcast:
		r = c.Bcast(q.Root, q.Recv)
	case record.Gather:
		r = c.Gather(q.Root, q.Send, q.Recv)
	case record.Scatter:
		r = c.Scatter(q.Root, q.Send, q.Recv)
	case record.AllGather:
		r = c.AllGather(q.Send, q.Recv)
	case record.AllToAll:
		r = c.AllToAll(q.Send, q.Recv)
	case record.AllReduce:
		r = c.AllReduce(q.Fn, q.Send, q.Recv)
	default:
		panic(fmt.Sprintf("PMGR asks for a %v", q.Op)) // a bug of package pmgr
	}
	if done, _ := r.Done(); done {
		t.done = r
	} else {
		r.OnDone = func() { t.done = r }
	}
}

// Deliver takes what the tree has for this endpoint.
func (t *treeEnd) Deliver(b []byte) { _ = t.session.Receive(b) } // after an error every request ends with it

// Fault ends the node: what is said here comes from package member.
func (s *Server) Fault(err error) { s.w.FailNode(job.PhasePMGR, err) }

// Turn passes on what the server and the tree have for each other.
func (s *Server) Turn() (some bool) {
	for s.done != nil {
		_, err := s.done.Done()
		s.done, some = nil, true
		if err != nil {
			s.w.Note(1, "%s: %v", job.PhasePMGR, err) // whoever broke the tree was reported
		}
		s.server.Done(err, &s.out)
		s.carry()
	}
	s.queue = append(s.queue, s.session.Take()...)
	for len(s.queue) > 0 {
		raw, rest, err := record.Frame(s.queue)
		if err != nil {
			panic(err) // a bug of package member
		}
		if raw == nil || !s.tree.Request(raw) {
			break
		}
		s.queue, some = rest, true
	}
	return some
}
