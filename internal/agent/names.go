package agent

import (
	"errors"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// askName passes on what a local rank asks about a published service. The
// answer of a root agent to its own ranks is there on return.
func (a *Agent) askName(w *world, n overlay.NameRequest) {
	if a.root {
		a.nameDone(w, a.lookUp(n))
	} else {
		a.up(link.Service, overlay.KindName, overlay.Encode(n))
	}
}

// lookUp answers a request at the root.
func (a *Agent) lookUp(q overlay.NameRequest) overlay.NameAnswer {
	answer := overlay.NameAnswer{Host: q.Host, World: q.World, Rank: q.Rank}
	port, err := "", pmi.ErrPublished
	if q.Op != pmi.Publish || a.pmixRoot == nil || !a.pmixRoot.Published(string(q.Service)) {
		port, err = a.names.Do(q.Op, string(q.Service), string(q.Port))
	}
	if err != nil {
		answer.Failure = err.Error()
	}
	answer.Port = []byte(port)
	return answer
}

func (a *Agent) nameDone(w *world, n overlay.NameAnswer) {
	var err error
	if n.Failure != "" {
		err = errors.New(n.Failure)
	}
	w.pmi.NameDone(n.Rank, string(n.Port), err)
}

// childName takes a request from below.
func (a *Agent) childName(m overlay.Message) error {
	if a.root {
		return overlay.Take(m, func(q overlay.NameRequest) error { return a.nameAnswer(a.lookUp(q)) })
	}
	a.up(m.Stream, overlay.KindName, m.Body)
	return nil
}

// nameAnswer takes an answer one step toward the rank that waits for it.
func (a *Agent) nameAnswer(n overlay.NameAnswer) error {
	if n.Host != a.self.Index {
		a.route(n.Host, link.Service, overlay.KindNamed, overlay.Encode(n))
		return nil
	}
	w, err := a.world(n.World, overlay.KindNamed)
	if w == nil || w.pmi == nil {
		return err // the world is over, its ranks are not waiting
	}
	a.nameDone(w, n)
	return nil
}

// route sends a message one step toward a host below, if the way is still
// there.
func (a *Agent) route(h job.HostIndex, s link.Stream, kind tree.Kind, body []byte) {
	if slot, ok := a.subtree.Route(h); ok && a.subtree.Live(slot) {
		a.subtree.Send(slot, s, kind, body)
	}
}
