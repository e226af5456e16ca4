package agent

import (
	"context"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// hostAddress has the launcher resolve the name of a host that is to be started from here:
// names may mean something there alone.
func (rq *requests) hostAddress(ctx context.Context, h job.HostIndex) (string, error) {
	text, err := rq.answered(ctx, "address", func(from signOrigin) {
		rq.askAddress(overlay.AddrRequest{Host: h, By: rq.n.self.Index}, from)
	})
	return string(text), err
}

// askAddress sends a question up. Its answer comes as that to a signature does.
func (rq *requests) askAddress(q overlay.AddrRequest, from signOrigin) {
	q.ID = rq.awaits(from)
	rq.n.up(link.Service, overlay.KindAddress, job.TreeItself, overlay.Encode(q))
}

// childAddress passes a child's question on if both who asks and the host were given to
// that child.
func (rq *requests) childAddress(slot tree.Slot, q overlay.AddrRequest) {
	for _, h := range []job.HostIndex{q.By, q.Host} {
		if via, ok := rq.n.subtree.Route(h); !ok || via != slot {
			answer := overlay.SignAnswer{Refusal: fmt.Sprintf("%s may not ask for %s", rq.n.subtree.Worlds.Called(q.By), rq.n.subtree.Worlds.Called(q.Host))}
			rq.answerSignature(signOrigin{slot: slot, id: q.ID}, answer)
			return
		}
	}
	rq.askAddress(q, signOrigin{slot: slot, id: q.ID})
}
