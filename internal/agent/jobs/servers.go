package jobs

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/agent/serve/servemaster"
	"github.com/golaunch/golaunch/internal/agent/serve/servepmgr"
	"github.com/golaunch/golaunch/internal/agent/serve/servepmi"
	"github.com/golaunch/golaunch/internal/agent/serve/servepmix"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// servers are what answers the ranks of one world on this node.
type servers struct {
	view *serve.World
	all  []serve.Server // in the order in which they judge how a rank has ended
	to   map[tree.Kind]serve.Server

	board *board.Board     // nil where the world's messages only pass
	pmi   *servepmi.Server // nil where no rank is
	pmix  *servepmix.Server
	tree  *servetree.Server

	socket string // the variable by which ranks find theirs; "" where no server hears it

	opened  bool // each server was told to open
	opening int  // those that are not ready
}

// serving is what answers a job's ranks on this node, by world.
type serving struct {
	j    *Job
	door *servetree.Door
}

// makeFor makes the servers of a world on this node. This is the table of all
// that there are.
func (sr *serving) makeFor(w *world) (err error) {
	view := sr.viewOf(w)
	if w.servers.view = view; view == nil {
		return nil
	}
	if !view.Refused {
		if w.servers.board, err = board.New(view, fences{sr.j, w}); err != nil {
			return err
		}
		w.servers.add(w.servers.board)
	}
	if len(view.Ranks) > 0 {
		if w.servers.pmi, err = servepmi.New(view, w.servers.board, beyond{sr.j, w}); err != nil {
			return err
		}
		if sr.j.launch.PMIPort {
			w.servers.add(&servepmi.OnPort{Server: w.servers.pmi})
		} else {
			w.servers.add(servepmi.OnDescriptor{Server: w.servers.pmi})
			w.servers.socket = servepmi.Variable
		}
	}
	w.servers.add(servemaster.New(view))
	w.servers.pmix = servepmix.New(view, sr.j.pmix.atNode())
	if w.servers.board != nil {
		w.servers.pmix.Over = w.servers.board.FencesOverByPMI
	}
	w.servers.add(w.servers.pmix)
	if len(view.Ranks) > 0 {
		w.mpi = sr.j.libraries.World(view, ranksOf{sr.j, w}, w.servers.pmix)
	}
	if w.servers.tree, err = servetree.New(view, w.servers.board, sr.door); err != nil {
		return err
	}
	w.servers.tree.Called = func() {
		sr.j.node.MoreGarbage()
		sr.j.stalls.begin()
	}
	w.servers.tree.Ask = sr.j.services.askSchedule
	w.servers.add(w.servers.tree)
	if sr.j.launch.PMGR && len(view.Ranks) > 0 {
		w.servers.add(servepmgr.New(view, w.servers.tree))
	}
	return nil
}

func (s *servers) add(x serve.Server) {
	s.all = append(s.all, x)
	for _, kind := range x.Kinds() {
		if s.to == nil {
			s.to = map[tree.Kind]serve.Server{}
		}
		s.to[kind] = x
	}
}

// viewOf is what servers see of a world; nil on a node below which one child has all
// of it.
func (sr *serving) viewOf(w *world) *serve.World {
	v := &serve.World{
		Node: station{sr.j, w}, World: w.spec, ID: w.id, Launch: sr.j.launch,
		Hosts: w.nodes, Self: -1, Root: true, Children: len(w.peers), Refused: w.refused > 0,
	}
	for n, h := range w.nodes {
		d := sr.toward(w, h)
		switch d {
		case serve.Here:
			v.Self = job.NodeID(n)
		case serve.Up:
			v.Root = false
		}
		v.Toward = append(v.Toward, d)
	}
	// Who is lost counts as below, here and there: else the two would differ.
	if len(w.peers) == 1 && !slices.ContainsFunc(v.Toward, func(d serve.Direction) bool { return d != 0 }) {
		return nil
	}
	v.Root = v.Root || sr.j.node.Root()
	for _, r := range w.ranks {
		v.Ranks = append(v.Ranks, &r.Rank)
	}
	return v
}

// toward is the direction of a host that holds ranks of a world.
func (sr *serving) toward(w *world, h job.HostIndex) serve.Direction {
	if h == sr.j.node.Self().Index {
		return serve.Here
	}
	slot, below := sr.j.node.Subtree().Route(h)
	switch {
	case below:
		return serve.Direction(slices.Index(w.peers, slot))
	case sr.j.node.Subtree().Gone(h):
		return serve.Gone
	}
	return serve.Up
}

// open has the servers of a world get ready for its ranks, and reports
// whether they are. If not, startIf is called again.
func (sr *serving) open(w *world) (ready bool) {
	if !w.servers.opened {
		w.servers.opened = true
		w.servers.opening = len(w.servers.all)
		later := false
		for _, s := range w.servers.all {
			s.Open(func(err error) {
				w.servers.opening--
				switch {
				case err != nil && !w.launched:
					sr.j.ranks.cannotStart(w, err)
				case err != nil:
				case later && w.servers.opening == 0:
					sr.j.startIf()
				}
			})
		}
		later = true
	}
	return w.servers.opening == 0 && !w.launched && !sr.j.node.End().Over()
}

// TreeOf finds the tree's service of a world, for ranks that call; nil for none.
func (j *Job) TreeOf(world int) *servetree.Server {
	if w := j.worlds[world]; w != nil {
		return w.servers.tree
	}
	return nil
}

// lost says that a child is lost.
func (sr *serving) lost(slot tree.Slot, why string) {
	for _, w := range sr.j.worlds {
		if child := slices.Index(w.peers, slot); child >= 0 {
			for _, s := range w.servers.all {
				s.Lost(serve.Neighbor(child), why)
			}
		}
	}
}

// giveSocket hands a rank's end of the socket pair that it was started with to whom it is
// for, if anybody.
func (w *world) giveSocket(r *rank, fd int) error {
	for _, s := range w.servers.all {
		if taken, err := s.Socket(&r.Rank, fd); taken || err != nil {
			return err
		}
	}
	unix.Close(fd)
	return nil
}

// phase says how far a rank had come. A program that never spoke PMI may not
// be one of MPI at all.
func (w *world) phase(r *serve.Rank) string {
	switch {
	case w.servers.pmi.Initialised(r):
		return w.servers.pmi.Phase(r)
	case w.servers.pmix.InInit(r) && w.spec.Size > 1:
		return "in MPI_Init (PMIx)"
	case w.servers.pmix.Finalised(r):
		return pmi.AfterFinalize.String()
	}
	return "running"
}

// spoke reports whether a rank has asked who it is, over PMI or PMIx.
func (w *world) spoke(r *serve.Rank) bool {
	return w.servers.pmi.Initialised(r) || w.servers.pmix.Initialised(r)
}

// hear has what ranks have said by now taken.
func (w *world) hear(ranks ...*serve.Rank) {
	for _, s := range w.servers.all {
		s.Hear(ranks...)
	}
}

// judge is what servers find wrong with a rank that has ended by itself.
func (w *world) judge(r *rank, ok bool) *job.Failure {
	for _, s := range w.servers.all {
		if f := s.Judge(&r.Rank, ok); f != nil || r.Aborted {
			return f
		}
	}
	return nil
}

// shut has no rank call any more: none is left.
func (w *world) shut() {
	for _, s := range w.servers.all {
		s.Shut()
	}
}

// closeServers lets go of them.
func (w *world) closeServers() {
	if w.mpi != nil {
		w.mpi.Close()
	}
	for _, s := range w.servers.all {
		s.Close()
	}
}

// turn carries out what servers want done. It is called after each batch of
// events.
func (sr *serving) turn() {
	for _, w := range sr.j.worlds {
		for again := true; again; {
			again = false
			for _, s := range w.servers.all {
				again = s.Turn() || again
			}
		}
	}
}

// FromNeighbor takes a message of a neighbor for a server.
func (j *Job) FromNeighbor(m overlay.Message) error {
	id := int(m.Header.World)
	if m.From == tree.Up && (j.launch == nil || id > j.newest) {
		return j.early.hold(id, m)
	}
	return j.aboutWorld(m, func(w *world) error {
		peer := serve.Parent
		if m.From != tree.Up {
			peer = serve.Neighbor(slices.Index(w.peers, m.From))
		}
		if peer < serve.Parent || m.From != tree.Up && peer == serve.Parent {
			return fmt.Errorf("message %q from where nothing of world %d is", overlay.Word(m.Header.Kind), id)
		}
		return j.serving.pass(w, serve.Message{Message: m, Neighbor: peer, Node: -1})
	})
}

// pass hands a message to whom it is for.
func (sr *serving) pass(w *world, m serve.Message) error {
	s := w.servers.to[m.Header.Kind]
	switch {
	case s != nil:
		return s.Message(m)
	case w.refused > 0:
		return nil // what is below has begun, and is about to be ended
	}
	return fmt.Errorf("message %q from where nothing of world %d is", overlay.Word(m.Header.Kind), w.id)
}

// hearEarly hands over what has come before the world, which came on another stream.
func (sr *serving) hearEarly(w *world) error {
	for _, m := range sr.j.early.take(w.id) {
		if w.servers.all == nil {
			return nil
		}
		if err := sr.j.FromNeighbor(m); err != nil {
			return err
		}
	}
	return nil
}
