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

// requests are those to the launcher whose answers are under way.
type requests struct {
	n     *Agent
	signs map[uint64]signOrigin
	last  uint64
}

// signOrigin is where an answer must go back to: a child, under the number it
// chose, or a handshake of our own.
type signOrigin struct {
	slot   tree.Slot
	id     uint64
	answer chan<- overlay.SignAnswer
}

// sign has a signature made for a handshake here. No private key is here:
// the request travels up to the launcher (docs/security.md).
func (rq *requests) sign(ctx context.Context, r bootstrap.SignRequest) ([]byte, error) {
	return rq.answered(ctx, "signature", func(from signOrigin) { rq.askSignature(r, rq.n.self.Index, from) })
}

// answered has the event loop ask the launcher for something, and waits for the answer.
func (rq *requests) answered(ctx context.Context, what string, ask func(from signOrigin)) ([]byte, error) {
	answer := make(chan overlay.SignAnswer, 1)
	rq.n.inbox.Put(posted(func() { ask(signOrigin{answer: answer}) }))
	select {
	case s := <-answer:
		return s.Result()
	case <-ctx.Done():
		return nil, fmt.Errorf("no %s from the launcher: %w", what, ctx.Err())
	}
}

// askSignature sends a request up, remembering where it came from.
func (rq *requests) askSignature(r bootstrap.SignRequest, by job.HostIndex, from signOrigin) {
	rq.n.up(link.Service, overlay.KindSign, job.TreeItself, overlay.Encode(overlay.SignRequest{ID: rq.awaits(from), Request: r, By: by}))
}

// awaits numbers a request to the launcher, whose answer goes back to where it came from.
func (rq *requests) awaits(from signOrigin) uint64 {
	rq.last++
	rq.signs[rq.last] = from
	return rq.last
}

// childSignature passes a child's request on if both the asker and the host to
// log in to were given to that child; the launcher checks everything else. No
// child may ask for its own host: its root could prove that any session is one
// with it.
func (rq *requests) childSignature(slot tree.Slot, r overlay.SignRequest) {
	own := rq.n.subtree.Host(slot).Index
	for _, h := range []job.HostIndex{r.By, r.Request.Host} {
		if via, ok := rq.n.subtree.Route(h); !ok || via != slot || r.Request.Host == own {
			var answer overlay.SignAnswer
			called := rq.n.subtree.Worlds.Called
			answer.Refuse(&bootstrap.RefusedError{Reason: fmt.Sprintf("%s asked for a signature that concerns %s", called(own), called(h))})
			rq.answerSignature(signOrigin{slot: slot, id: r.ID}, answer)
			return
		}
	}
	rq.askSignature(r.Request, r.By, signOrigin{slot: slot, id: r.ID})
}

// signed takes an answer from the parent to whoever asked.
func (rq *requests) signed(s overlay.SignAnswer) {
	from, ok := rq.signs[s.ID]
	if !ok {
		return // the asker is gone
	}
	delete(rq.signs, s.ID)
	rq.answerSignature(from, s)
}

func (rq *requests) answerSignature(to signOrigin, s overlay.SignAnswer) {
	if to.answer != nil {
		to.answer <- s
		return
	}
	if s.ID = to.id; rq.n.subtree.Live(to.slot) {
		rq.n.subtree.Send(to.slot, link.Service, overlay.KindSigned, job.TreeItself, overlay.Encode(s))
	}
}
