package agent

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmgr"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// pmgrTree is the agent itself as an endpoint of the tree's collective
// operations, on behalf of its ranks.
type pmgrTree struct {
	endpoint int
	session  *member.Session
	comm     *member.Comm // the agents that have ranks; nil until it is needed
	members  []int        // its endpoints; nil for all agents
	queue    []byte       // for the node of the tree
	done     *member.Request
}

func (t *pmgrTree) open(a *Agent, w *world) {
	nodes := len(a.launch.Nodes)
	t.endpoint = w.Size + int(a.node)
	t.session = member.New(w.Size, w.Size, int(a.node), nodes)
	if len(w.nodes) == nodes {
		return
	}
	for _, h := range w.nodes {
		n, _ := slices.BinarySearch(a.launch.Nodes, h)
		t.members = append(t.members, w.Size+n)
	}
}

// request begins an operation, once there is a communicator for it.
func (t *pmgrTree) request(q *pmgr.Request) {
	switch {
	case t.comm != nil:
		t.begin(*q)
	case t.members == nil:
		t.comm = t.session.Agents()
		t.begin(*q)
	default:
		made, first := t.session.Sub(t.members), *q
		if done, _ := made.Done(); done { // refused
			t.done = made
			return
		}
		made.OnDone = func() {
			if t.comm = made.Made(); t.comm == nil { // it failed
				t.done = made
				return
			}
			t.begin(first)
		}
	}
}

func (t *pmgrTree) begin(q pmgr.Request) {
	var r *member.Request
	switch c := t.comm; q.Op {
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

// fromTree takes what the node of the tree has for this endpoint.
func (t *pmgrTree) fromTree(b []byte, node *collective.Node) {
	node.Wrote(t.endpoint, len(b))
	_ = t.session.Receive(b) // after an error every request ends with it
}

// servePMGR passes on what the server and the tree have for each other, and
// reports whether there was anything.
func (a *Agent) servePMGR() (some bool) {
	p := a.pmgr
	if p == nil {
		return false
	}
	for p.done != nil {
		_, err := p.done.Done()
		p.done, some = nil, true
		if err != nil {
			a.note(1, "%s: %v", job.PhasePMGR, err) // whoever broke the tree was reported
		}
		p.server.Done(err, &p.out)
		a.pmgrEffects()
	}
	node := a.service.node
	t := &p.pmgrTree
	t.queue = append(t.queue, t.session.Take()...)
	for node.Room(t.endpoint) {
		raw, rest, err := record.Frame(t.queue)
		if err != nil {
			panic(err) // a bug of package member
		}
		if raw == nil {
			break
		}
		t.queue, some = rest, true
		node.Request(t.endpoint, raw)
	}
	return some
}
