package agent

import (
	"context"
	"fmt"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// signOrigin is where an answer must go back to: a child, under the number it
// chose, or a handshake of our own.
type signOrigin struct {
	slot   tree.Slot
	id     uint64
	answer chan<- overlay.SignAnswer
}

// sign has a signature made for a handshake here. No private key is here:
// the request travels up to the launcher (docs/security.md).
func (a *Agent) sign(ctx context.Context, r bootstrap.SignRequest) ([]byte, error) {
	return a.answered(ctx, "signature", func(from signOrigin) { a.askSignature(r, a.self.Index, from) })
}

// answered has the event loop ask the launcher for something, and waits for the answer.
func (a *Agent) answered(ctx context.Context, what string, ask func(from signOrigin)) ([]byte, error) {
	answer := make(chan overlay.SignAnswer, 1)
	a.inbox.Put(posted(func() { ask(signOrigin{answer: answer}) }))
	select {
	case s := <-answer:
		return s.Result()
	case <-ctx.Done():
		return nil, fmt.Errorf("no %s from the launcher: %w", what, ctx.Err())
	}
}

// askSignature sends a request up, remembering where it came from.
func (a *Agent) askSignature(r bootstrap.SignRequest, by job.HostIndex, from signOrigin) {
	a.up(link.Service, overlay.KindSign, overlay.Encode(overlay.SignRequest{ID: a.awaits(from), Request: r, By: by}))
}

// awaits numbers a request to the launcher, whose answer goes back to where it came from.
func (a *Agent) awaits(from signOrigin) uint64 {
	a.lastSign++
	a.signs[a.lastSign] = from
	return a.lastSign
}

// childSignature passes a child's request on if both the asker and the host to
// log in to were given to that child; the launcher checks everything else. No
// child may ask for its own host: its root could prove that any session is one
// with it.
func (a *Agent) childSignature(slot tree.Slot, r overlay.SignRequest) {
	own := a.subtree.Host(slot).Index
	for _, h := range []job.HostIndex{r.By, r.Request.Host} {
		if via, ok := a.subtree.Route(h); !ok || via != slot || r.Request.Host == own {
			var answer overlay.SignAnswer
			called := a.subtree.Worlds.Called
			answer.Refuse(&bootstrap.RefusedError{Reason: fmt.Sprintf("%s asked for a signature that concerns %s", called(own), called(h))})
			a.answerSignature(signOrigin{slot: slot, id: r.ID}, answer)
			return
		}
	}
	a.askSignature(r.Request, r.By, signOrigin{slot: slot, id: r.ID})
}

// signed takes an answer from the parent to whoever asked.
func (a *Agent) signed(s overlay.SignAnswer) {
	from, ok := a.signs[s.ID]
	if !ok {
		return // the asker is gone
	}
	delete(a.signs, s.ID)
	a.answerSignature(from, s)
}

func (a *Agent) answerSignature(to signOrigin, s overlay.SignAnswer) {
	if to.answer != nil {
		to.answer <- s
		return
	}
	if s.ID = to.id; a.subtree.Live(to.slot) {
		a.subtree.Send(to.slot, link.Service, overlay.KindSigned, overlay.Encode(s))
	}
}
