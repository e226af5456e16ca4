package launcher

import (
	"fmt"

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

// sign answers a request that came up the tree. Every link on its way has
// checked that both the asker and the host to log in to lie in the range of
// the child it came from.
func (t *Tree) sign(slot tree.Slot, q overlay.SignRequest) {
	answer := overlay.SignAnswer{ID: q.ID}
	boot := t.starting()
	if !t.below(slot, q.By) || !t.below(slot, q.Request.Host) || boot.authority == nil {
		answer.Refuse(&bootstrap.RefusedError{Reason: fmt.Sprintf("%s may not ask for %s", t.called(q.By), t.called(q.Request.Host))})
		t.post(signatureMade{slot, answer})
		return
	}
	q.Request.From = q.By
	t.later(slot, answer, func(answer *overlay.SignAnswer) { // ends with the ssh-agent's answer, or with the job
		signature, err := boot.authority.Sign(t.ctx, q.Request)
		if answer.Signature = signature; err != nil {
			answer.Refuse(err)
		}
	})
}

// maxAnswers is how many requests of agents may wait for an answer, for each host:
// it is tried a few times, and hedged.
const maxAnswers = 16

// later answers a request as decide does, which may take its time. Agents that ask
// for more at once than they can have hosts to start are refused for now.
func (t *Tree) later(slot tree.Slot, answer overlay.SignAnswer, decide func(*overlay.SignAnswer)) {
	if most := int64(maxAnswers * len(t.hosts)); t.answers.Load() >= most {
		answer.Refusal = fmt.Sprintf("%d requests wait for an answer already", most)
		t.post(signatureMade{slot, answer})
		return
	}
	t.answers.Add(1)
	t.tasks.Go(func() {
		defer t.answers.Add(-1)
		decide(&answer)
		t.post(signatureMade{slot, answer})
	})
}

// summon has an agent call another, for whom it is. That the caller lies below
// whom it is to call was checked on the way, as in sign.
func (t *Tree) summon(slot tree.Slot, q overlay.Summon) {
	answer := overlay.SignAnswer{ID: q.ID}
	if !t.below(slot, q.By) || !t.below(slot, q.Host) {
		answer.Refusal = fmt.Sprintf("%s may not call %s", t.called(q.Host), t.called(q.By))
		t.post(signatureMade{slot, answer})
		return
	}
	t.later(slot, answer, func(answer *overlay.SignAnswer) { // ends with the connect timeout, or with the job
		if err := t.boot.summon(t.ctx, t.boot.hosts[q.Host].Name, q); err != nil {
			answer.Refusal = err.Error()
		}
	})
}

// address tells an agent what address a host has that it is to start, once the name
// resolves here. That it may ask was checked on the way, as in sign.
func (t *Tree) address(slot tree.Slot, q overlay.AddrRequest) {
	answer := overlay.SignAnswer{ID: q.ID}
	boot := t.starting()
	if !t.below(slot, q.By) || !t.below(slot, q.Host) || boot.lookUp == nil {
		answer.Refusal = fmt.Sprintf("%s may not ask for %s", t.called(q.By), t.called(q.Host))
		t.post(signatureMade{slot, answer})
		return
	}
	t.later(slot, answer, func(answer *overlay.SignAnswer) { // ends with the resolver's answer, or with the job
		addr, err := boot.lookUp(t.ctx, q.Host)
		if answer.Signature = []byte(addr); err != nil {
			answer.Refusal = err.Error()
		}
	})
}

func (t *Tree) below(slot tree.Slot, h job.HostIndex) bool {
	via, ok := t.subtree.Route(h)
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
		t.report.say("hosts %s share a host key: each of them can pass for the others", hostlist.Fold(hosts))
	}
}
