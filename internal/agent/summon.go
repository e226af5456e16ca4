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

// summon has the launcher, which the agent of a host called, tell it to call addr.
func (rq *requests) summon(ctx context.Context, h bootstrap.Host, addr string) error {
	_, err := rq.answered(ctx, "word", func(from signOrigin) {
		rq.askSummon(overlay.Summon{Host: job.HostIndex(h.Index), Addr: addr, By: rq.n.self.Index}, from)
	})
	return err
}

// askSummon sends a summon up. Its answer comes as that to a signature does.
func (rq *requests) askSummon(s overlay.Summon, from signOrigin) {
	s.ID = rq.awaits(from)
	rq.n.up(link.Service, overlay.KindSummon, job.TreeItself, overlay.Encode(s))
}

// childSummon passes a child's summon on if both who asks and who is to call were
// given to that child, and nobody is to call itself.
func (rq *requests) childSummon(slot tree.Slot, s overlay.Summon) {
	for _, h := range []job.HostIndex{s.By, s.Host} {
		if via, ok := rq.n.subtree.Route(h); !ok || via != slot || s.By == s.Host {
			answer := overlay.SignAnswer{Refusal: fmt.Sprintf("%s may not call %s", rq.n.subtree.Worlds.Called(s.Host), rq.n.subtree.Worlds.Called(s.By))}
			rq.answerSignature(signOrigin{slot: slot, id: s.ID}, answer)
			return
		}
	}
	rq.askSummon(s, signOrigin{slot: slot, id: s.ID})
}
