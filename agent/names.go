package agent

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// askName passes on what a local rank asks about a published service. The
// answer of a root agent to its own ranks is there on return.
func (a *Agent) askName(q *pmi.Request) {
	a.nameRequest(overlay.NameRequest{Host: a.self.Index, Rank: q.Rank, Op: q.Op,
		Service: slices.Clone(q.Key), Port: slices.Clone(q.Value)})
}

// nameRequest sends a request toward the root, or answers it there.
func (a *Agent) nameRequest(q overlay.NameRequest) {
	if !a.root {
		a.up(link.Service, overlay.KindName, overlay.Encode(q))
		return
	}
	answer := overlay.NameAnswer{Host: q.Host, Rank: q.Rank}
	port, err := a.names.Do(q.Op, string(q.Service), string(q.Port))
	if err != nil {
		answer.Failure = err.Error()
	}
	answer.Port = []byte(port)
	a.nameAnswer(answer)
}

// childName takes a request from below.
func (a *Agent) childName(slot tree.Slot, q overlay.NameRequest) error {
	if via, ok := a.family.Route(q.Host); !ok || via != slot {
		return fmt.Errorf("a request about a name for host %d, which is not below", q.Host)
	}
	a.nameRequest(q)
	return nil
}

// nameAnswer takes an answer one step toward the rank that waits for it.
func (a *Agent) nameAnswer(n overlay.NameAnswer) {
	if n.Host != a.self.Index {
		if slot, ok := a.family.Route(n.Host); ok && a.family.Live(slot) {
			a.family.Send(slot, link.Service, overlay.KindNamed, overlay.Encode(n))
		}
		return
	}
	var err error
	if n.Failure != "" {
		err = errors.New(n.Failure)
	}
	a.pmi.NameDone(n.Rank, string(n.Port), err, &a.pmiOut)
}

// named takes an answer from the parent.
func (a *Agent) named(n overlay.NameAnswer) error {
	if a.pmi == nil {
		return errors.New("an answer about a name before the launch")
	}
	a.nameAnswer(n)
	a.pmiEffects()
	return nil
}
