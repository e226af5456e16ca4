// Package servepmix is PMIx as an agent has it: helpers, which are the PMIx servers of
// the node's ranks (package pmix), and what crosses nodes for these. A Local has the
// helpers of a node, a Server is one world's part, and what needs an overview of all
// worlds is at the root agent (Root).
package servepmix

import (
	"errors"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/pmi"
)

// Helpers starts the helper processes of a node, one for each libpmix in use.
type Helpers interface {
	// Library says which libpmix the local ranks of an app use: a key, equal for equal
	// helpers, or "" where they do not speak PMIx. It is known when servers open.
	Library(world, app int) string
	// Later reports an app whose local ranks may speak PMIx though Library is "": the first
	// of them to begin decides (Server.Join).
	Later(world, app int) bool
	// Start starts the helper of a library. done is called later by the event loop, with
	// the agent's end of a stream socket, non-blocking, or an error. The helper's later
	// death comes as Local.HelperEnded.
	Start(library string, done func(fd int, err error))
	// Alive tells whether the helper of a library that was started is no process that
	// is about to end: its clients may see that before its socket does.
	Alive(library string) bool
	// PID is the process of the helper of a library, 0 if none runs.
	PID(library string) int
	// Dir is a private directory of the node for a namespace (its NSDIR), or the node's
	// own for "". They exist.
	Dir(namespace string) (string, error)
	// Forget removes what Dir has made for a namespace that is over.
	Forget(namespace string)
}

// Agent is what an agent does for its Local.
type Agent interface {
	// Watch, Change, CloseFD, Note and FailNode are as in serve.Node.
	Watch(fd int, h serve.Handler) error
	Change(fd int, read, write bool) error
	CloseFD(fd int)
	Note(level int, format string, args ...any)
	FailNode(phase string, err error)
	// Waiting is told that ranks may wait for others from now on, in a fence.
	Waiting()
	// Say shows the user what a rank wants shown.
	Say(r job.RankID, stderr bool, text string)
	// After has the event loop call f after a while, if the agent is not over by then.
	After(d time.Duration, f func())

	// Connected says how many TCP connections within this machine each rank of this node has
	// to a process, and how many there are of which that is not known.
	Connected(pid int) (of map[job.RankID]int, others int, err error)

	// ToRoot passes a call on to the root; Answered has the answer.
	ToRoot(c overlay.PMIxCall)
	// Spawn asks for a new world; Spawned answers.
	Spawn(by job.RankID, call uint32, s *pmi.Spawn)
	// ToNode sends a message to another node, whose Asked takes it.
	ToNode(to job.HostIndex, m overlay.PMIxModex)
}

// Node is who a Local is.
type Node struct {
	Host job.HostIndex
	Name string
	Job  string // the job's id
	// StallAfter is how long a helper may say nothing before the user is told; 0 for ever.
	StallAfter time.Duration
}

// Local is PMIx on one node.
type Local struct {
	agent     Agent
	helpers   Helpers
	namespace string // of the helpers as servers
	host      job.HostIndex
	name      string
	patience  time.Duration // Node.StallAfter

	byLibrary map[string]*helper
	servers   map[string]*Server // of worlds that are not over, by namespace
	last      uint32             // number of a call or a message
	calls     map[uint32]call
	modexes   map[uint32]modex
	known     map[string]*overlay.World // without ranks here, by namespace
	looks     looks
	over      bool
}

// Why a helper is over.
var (
	errHungUp = errors.New("it closed its socket")
	errLeft   = errors.New("it was told to end")
)

// errOver is why no helper learns of a world.
var errOver = errors.New("the world is over")

const (
	// explainAfter is how long the reason may take for which a helper has ended.
	explainAfter = 5 * time.Second
	// holdAborts is how long an abort waits for the death of a process that has
	// brought it about.
	holdAborts = 300 * time.Millisecond
)

// NewLocal makes what a node has of PMIx. Helpers may be nil: nobody speaks it then.
func NewLocal(n Node, a Agent, h Helpers) *Local {
	return &Local{
		agent: a, helpers: h, namespace: "golaunch-" + n.Job, host: n.Host, name: n.Name, patience: n.StallAfter,
		byLibrary: map[string]*helper{}, servers: map[string]*Server{}, calls: map[uint32]call{}, modexes: map[uint32]modex{},
		known: map[string]*overlay.World{},
	}
}

// helper finds the helper of a library, which it starts if there is none.
func (l *Local) helper(library string) *helper {
	h := l.byLibrary[library]
	if h == nil {
		h = &helper{local: l, library: library, fd: -1, requests: map[uint32]func(pmix.Frame){}, knows: map[string]bool{}}
		l.byLibrary[library] = h
		l.helpers.Start(library, h.started)
	}
	return h
}

// HelperEnded says that a helper process is over, and why: nil where it was told to end,
// as no rank is left. Another may be started then.
func (l *Local) HelperEnded(library string, why error) {
	h := l.byLibrary[library]
	switch {
	case h == nil || l.over:
	case why != nil:
		h.hear()
		h.end(why)
	default:
		delete(l.byLibrary, library)
		h.end(errLeft)
	}
}

// Close has the helpers leave.
func (l *Local) Close() {
	l.over = true
	for _, h := range l.byLibrary {
		h.say(pmix.End{})
		h.close()
	}
}

// doubt has the ranks of a helper that is over not be to blame for what follows.
func (l *Local) doubt(h *helper) {
	for _, s := range l.servers {
		s.doubt(h)
	}
}

// explain tells all who wait for a helper why it is over, once.
func (l *Local) explain(h *helper) {
	if h.known || l.over {
		return
	}
	h.known = true
	if h.dead != errLeft {
		h.dead = fmt.Errorf("the PMIx helper (golaunch-pmix, %s) ended: %w", h.library, h.dead)
	}
	told := h.dead == errLeft
	for _, s := range l.servers {
		told = told || s.has(h) && !s.opened // which ends the node's start
	}
	opening, requests := h.opening, h.requests
	h.opening, h.requests = nil, map[uint32]func(pmix.Frame){}
	for _, then := range opening {
		then(h.dead)
	}
	for _, then := range requests {
		then(pmix.Frame{})
	}
	for _, s := range l.servers {
		s.helperLost(h)
	}
	if !told {
		l.agent.FailNode("running", h.dead)
	}
}

// request carries out what a helper asks for.
func (l *Local) request(h *helper, f pmix.Frame) error {
	switch b := f.Body.(type) {
	case pmix.Fence:
		if len(b.Procs) == 1 && b.Procs[0].Rank == pmix.Wildcard {
			if s := l.servers[b.Procs[0].Namespace]; s != nil && s.has(h) {
				s.fence(h, f.Request, b)
				return nil
			}
		}
		l.meet(h, f, b.Procs, func(procs []pmix.Proc) any { b.Procs = procs; return b })
	case pmix.Modex:
		l.modex(h, f.Request, b)
	case pmix.Connect:
		l.meet(h, f, b.Procs, func(procs []pmix.Proc) any { b.Procs = procs; return b })
	case pmix.Disconnect:
		l.meet(h, f, b.Procs, func(procs []pmix.Proc) any { b.Procs = procs; return b })
	case pmix.Group:
		l.meet(h, f, b.Procs, func(procs []pmix.Proc) any { b.Procs = procs; return b })
	case pmix.Publish:
		return l.ofRank(h, f, b.Proc, func(_ *Server, r *rank) { r.published = true; l.call(h, f, []pmix.Proc{b.Proc}, 0) })
	case pmix.Lookup:
		return l.ofRank(h, f, b.Proc, func(*Server, *rank) { l.call(h, f, []pmix.Proc{b.Proc}, 0) })
	case pmix.Unpublish:
		return l.ofRank(h, f, b.Proc, func(*Server, *rank) { l.call(h, f, []pmix.Proc{b.Proc}, 0) })
	case pmix.Spawn:
		return l.ofRank(h, f, b.Proc, func(s *Server, r *rank) { l.spawn(h, f.Request, s, r, b) })
	case pmix.Event:
		return l.ofRank(h, f, b.Source, func(*Server, *rank) { l.event(h, f.Request, b) })
	case pmix.Abort:
		return l.ofRank(h, f, b.Proc, func(s *Server, r *rank) { s.abort(h, f.Request, r, b) })
	case pmix.Client:
		return l.ofRank(h, f, b.Proc, func(s *Server, r *rank) {
			r.Heard++
			r.heard = time.Now()
			l.claimed(h, s, r, b.Finalized)
			if r.connected, r.finalized = true, b.Finalized; s.InInit(r.Rank) && s.w.Size > 1 {
				l.agent.Waiting()
			}
		})
	case pmix.Log:
		return l.ofRank(h, f, b.Proc, func(s *Server, r *rank) {
			h.reply(f.Request, pmix.Done{})
			r.Heard++
			l.agent.Say(s.w.RankID(r.Rank), b.Stderr, b.Text)
		})
	default:
		return fmt.Errorf("a message of kind %d, which is not a helper's", f.Kind)
	}
	return nil
}

// serves tells whether a rank is one of a helper's.
func (l *Local) serves(h *helper, p pmix.Proc) bool {
	s := l.servers[p.Namespace]
	if s == nil {
		return false
	}
	r := s.ranks[job.Rank(p.Rank)]
	return r != nil && r.helper == h
}

// event tells the ranks of other nodes of one.
func (l *Local) event(h *helper, request uint32, e pmix.Event) {
	status := pmix.Success
	if e.Range != pmix.RangeLocal { // these the helper has told
		status = l.tellRoot(e, 0)
	}
	if status != pmix.Success { // of which the library does not tell the rank
		l.agent.Note(0, "an event of rank %d of world %s stays on its node: %d bytes are more than a message has", e.Source.Rank, e.Source.Namespace, len(e.Blob))
	}
	h.reply(request, pmix.Done{Status: status})
}

// ofRank carries out what a rank of a helper wants. A world that is over has none. An
// error says that the rank is another's.
func (l *Local) ofRank(h *helper, f pmix.Frame, p pmix.Proc, do func(*Server, *rank)) error {
	s := l.servers[p.Namespace]
	switch {
	case s == nil:
		if f.Request != 0 {
			h.reply(f.Request, failed(f.Kind, pmix.NotFound))
		}
	case !l.serves(h, p):
		return fmt.Errorf("rank %d of %s is not one of its", p.Rank, p.Namespace)
	default:
		do(s, s.ranks[job.Rank(p.Rank)])
	}
	return nil
}
