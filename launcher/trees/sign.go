package trees

import (
	"fmt"
	"sync/atomic"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// allow lets the agents on root and below it ask for the log-ins to hosts, which
// root is to start.
func (b *boot) allow(root job.HostIndex, hosts []overlay.HostEntry) {
	if b.authority == nil {
		return
	}
	var parts [][]job.HostIndex
	for _, part := range overlay.Parts(hosts, b.common.Degree, b.common.Relayed) {
		index := make([]job.HostIndex, len(part))
		for i, h := range part {
			index[i] = h.Index
		}
		parts = append(parts, index)
	}
	b.authority.Allow(root, parts)
}

// requests are those of agents that only the launcher can answer.
type requests struct {
	tree    *Tree
	waiting atomic.Int64 // tasks that answer one
}

// sign answers a request that came up the tree. Every link on its way has
// checked that both the asker and the host to log in to lie in the range of
// the child it came from.
func (q *requests) sign(slot tree.Slot, ask overlay.SignRequest) {
	answer := overlay.SignAnswer{ID: ask.ID}
	boot := q.tree.starting()
	if !q.below(slot, ask.By) || !q.below(slot, ask.Request.Host) || boot.authority == nil {
		answer.Refuse(&bootstrap.RefusedError{Reason: fmt.Sprintf("%s may not ask for %s", q.tree.called(ask.By), q.tree.called(ask.Request.Host))})
		q.tree.Post(signatureMade{slot, answer})
		return
	}
	ask.Request.From = ask.By
	q.later(slot, answer, func(answer *overlay.SignAnswer) { // ends with the ssh-agent's answer, or with the job
		signature, err := boot.authority.Sign(q.tree.ctx, ask.Request)
		if answer.Signature = signature; err != nil {
			answer.Refuse(err)
		}
	})
}

// maxAnswers bounds the requests of agents that wait for an answer, for each host: it
// is tried a few times, and hedged.
const maxAnswers = 16

// later answers a request by decide, which may take its time. Agents that ask for more
// at once than they can have hosts to start are refused for now.
func (q *requests) later(slot tree.Slot, answer overlay.SignAnswer, decide func(*overlay.SignAnswer)) {
	if most := int64(maxAnswers * len(q.tree.hosts)); q.waiting.Load() >= most {
		answer.Refusal = fmt.Sprintf("%d requests wait for an answer already", most)
		q.tree.Post(signatureMade{slot, answer})
		return
	}
	q.waiting.Add(1)
	q.tree.tasks.Go(func() {
		defer q.waiting.Add(-1)
		decide(&answer)
		q.tree.Post(signatureMade{slot, answer})
	})
}

// summon has an agent call another one, which asks for it. Every link on the way has
// checked that the caller lies below that one, as in sign.
func (q *requests) summon(slot tree.Slot, ask overlay.Summon) {
	answer := overlay.SignAnswer{ID: ask.ID}
	if !q.below(slot, ask.By) || !q.below(slot, ask.Host) {
		answer.Refusal = fmt.Sprintf("%s may not call %s", q.tree.called(ask.Host), q.tree.called(ask.By))
		q.tree.Post(signatureMade{slot, answer})
		return
	}
	q.later(slot, answer, func(answer *overlay.SignAnswer) { // ends with the connect timeout, or with the job
		if err := q.tree.boot.summon(q.tree.ctx, q.tree.boot.hosts[ask.Host].Name, ask); err != nil {
			answer.Refusal = err.Error()
		}
	})
}

// address tells an agent the address of a host that it is to start, once the name
// resolves here. Every link on the way has checked its right to ask, as in sign.
func (q *requests) address(slot tree.Slot, ask overlay.AddrRequest) {
	answer := overlay.SignAnswer{ID: ask.ID}
	boot := q.tree.starting()
	if !q.below(slot, ask.By) || !q.below(slot, ask.Host) || boot.lookUp == nil {
		answer.Refusal = fmt.Sprintf("%s may not ask for %s", q.tree.called(ask.By), q.tree.called(ask.Host))
		q.tree.Post(signatureMade{slot, answer})
		return
	}
	q.later(slot, answer, func(answer *overlay.SignAnswer) { // ends with the resolver's answer, or with the job
		addr, err := boot.lookUp(q.tree.ctx, ask.Host)
		if answer.Signature = []byte(addr); err != nil {
			answer.Refusal = err.Error()
		}
	})
}

func (q *requests) below(slot tree.Slot, h job.HostIndex) bool {
	via, ok := q.tree.subtree.Route(h)
	return ok && via == slot
}

// tellShared names the hosts that the proofs of their keys cannot tell apart.
func (t *Tree) tellShared() {
	if t.boot.authority == nil || t.boot.common.Verbose < 1 {
		return
	}
	for _, group := range t.boot.authority.Shared() {
		hosts := make([]job.Host, len(group))
		for i, h := range group {
			hosts[i] = job.Host{Name: t.hostName(h)}
		}
		t.report.Say("hosts %s share a host key: each of them can pass for the others", hostlist.Fold(hosts))
	}
}
