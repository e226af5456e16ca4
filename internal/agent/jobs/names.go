package jobs

import (
	"errors"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// services are those that ranks have published.
type services struct {
	j     *Job
	names pmi.Names // used at the root
}

// ask passes on what a local rank asks about a published service. The
// answer of a root agent to its own ranks is there on return.
func (sv *services) ask(w *world, n overlay.NameRequest) {
	if sv.j.node.Root() {
		sv.done(w, sv.lookUp(n))
	} else {
		sv.j.node.Up(link.Service, overlay.KindName, overlay.Encode(n))
	}
}

// lookUp answers a request at the root.
func (sv *services) lookUp(q overlay.NameRequest) overlay.NameAnswer {
	answer := overlay.NameAnswer{Host: q.Host, World: q.World, Rank: q.Rank}
	port, err := "", pmi.ErrPublished
	if q.Op != pmi.Publish || sv.j.pmix.root == nil || !sv.j.pmix.root.Published(string(q.Service)) {
		port, err = sv.names.Do(q.Op, string(q.Service), string(q.Port))
	}
	if err != nil {
		answer.Failure = err.Error()
	}
	answer.Port = []byte(port)
	return answer
}

func (sv *services) done(w *world, n overlay.NameAnswer) {
	var err error
	if n.Failure != "" {
		err = errors.New(n.Failure)
	}
	w.servers.pmi.NameDone(n.Rank, string(n.Port), err)
}

// fromChild takes a request from below.
func (sv *services) fromChild(m overlay.Message) error {
	if sv.j.node.Root() {
		return overlay.Take(m, func(q overlay.NameRequest) error { return sv.answered(sv.lookUp(q)) })
	}
	sv.j.node.Up(m.Stream, overlay.KindName, m.Body)
	return nil
}

// answered takes an answer one step toward the rank that waits for it.
func (sv *services) answered(n overlay.NameAnswer) error {
	if n.Host != sv.j.node.Self().Index {
		sv.j.node.Route(n.Host, link.Service, overlay.KindNamed, overlay.Encode(n))
		return nil
	}
	w, err := sv.j.world(n.World, overlay.KindNamed)
	if w == nil || w.servers.pmi == nil {
		return err // the world is over, its ranks are not waiting
	}
	sv.done(w, n)
	return nil
}
