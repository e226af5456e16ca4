package collective

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// Lost says that a neighbor is lost, and with it all members that were to be reached
// through it; why names it. Everyone learns of it.
func (n *Node) Lost(toward Direction, why string) {
	l := n.link(toward)
	if l == nil || !l.live {
		return
	}
	l.live = false
	l.queue, l.queued = nil, 0
	l.in.pending, l.in.held = nil, 0
	var list []int
	for first := 0; first < n.endpoints; {
		at, end := n.towards.run(first, n.endpoints)
		for ep := first; ep < end && at == toward; ep++ {
			if n.lost[ep] == "" {
				list = append(list, ep)
			}
		}
		first = end
	}
	const some = 8 << 10 // endpoints of one record: each takes at most a few bytes
	for part := range slices.Chunk(list, some) {
		body := binary.AppendUvarint(nil, uint64(len(why)))
		body = record.AppendRuns(append(body, why...), part)
		n.send2all(&record.Record{Kind: record.Lost, Body: body})
	}
	n.forget(list, why)
	for _, id := range slices.Sorted(maps.Keys(n.comms)) {
		if c := n.comms[id]; c.ways != nil && slices.Contains(c.towards, toward) {
			n.breakComm(c, reason{why, record.CauseLeft, -1}) // others do not know who its members are
		}
	}
}

var errLost = errors.New("a malformed record of lost endpoints")

// takeLost takes such news from a neighbor, or that a communicator is broken: by
// a member that has left where Count is 1. It reports whether they were news:
// everyone beyond this node has heard them otherwise.
func (n *Node) takeLost(r *record.Record) (news bool, err error) {
	if r.Each {
		c := n.comms[r.Comm]
		if c == nil {
			return false, nil // it was freed meanwhile, or everyone knows already
		}
		why := reason{string(r.Body), record.Cause(r.Fn), -1}
		if r.Count == 1 {
			why.cause, why.member = record.CauseLeft, r.Src
			if r.Src < 0 || r.Src >= c.size {
				return false, errLost
			}
			n.memberLeft(c, r.Src, why.text)
		}
		return n.broken(c, why, r.Seq, r.Count == 0), nil
	}
	length, used := binary.Uvarint(r.Body)
	if used <= 0 || length > uint64(len(r.Body)-used) {
		return false, errLost
	}
	why := string(r.Body[used : used+int(length)])
	list, err := record.ParseRuns(r.Body[used+int(length):], n.endpoints)
	if err != nil {
		return false, err
	}
	for _, ep := range list {
		if n.directionTo(ep) == Local {
			return false, errLost
		}
	}
	n.forget(list, why)
	return true, nil
}

// forget ends operations of lost endpoints.
func (n *Node) forget(list []int, why string) {
	for _, ep := range list {
		n.lost[ep] = why
		if ep < n.ranks {
			n.endFencesForAll(0, why)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n.comms)) {
		c := n.comms[id]
		if c.lost == "" { // else all of its operations have ended
			first := n.lostMember(c)
			if first < 0 {
				continue
			}
			c.lost = n.lost[c.endpoint(first)]
			n.broken(c, reason{why, record.CauseLeft, first}, 0, true)
		}
		for _, s := range c.order {
			n.forgetMessages(s)
		}
		n.tellLeavers(c)
	}
	n.forgetCreates()
}

// broken ends the operations of c from a number on, and reports whether that is
// news.
func (n *Node) broken(c *comm, why reason, from uint64, hard bool) (news bool) {
	if c.broken.text != "" && from >= c.from && (c.hard || !hard) {
		return false
	}
	c.broken, c.from, c.hard = why, from, c.hard || hard
	for _, seq := range slices.Sorted(maps.Keys(c.ops)) {
		if seq < from {
			continue
		}
		if s := c.ops[seq].split; s != nil {
			n.forgetSplit(s, why.text)
		}
		for _, m := range c.ops[seq].members {
			if m == nil {
				continue
			}
			ep := m.seat.ep
			ep.active = slices.DeleteFunc(ep.active, func(x *opPart) bool { return x == m })
			n.failed(ep, record.FailOp, c.id, seq, why)
		}
		delete(c.ops, seq)
	}
	if c.ways != nil && c.hard {
		n.forgetLocations(c)
	}
	n.keepNumbers(c)
	for _, s := range c.order {
		n.forgetMessages(s)
		for i := range s.ep.posted.all() {
			if w := i.value; w.comm == c.id {
				n.watch(s, w.src)
			}
		}
		if slices.ContainsFunc(s.ep.leavers, func(w waitingRecv) bool { return w.comm == c.id }) {
			n.watch(s, record.Any)
		}
	}
	n.tellLeavers(c)
	if c.id == World {
		n.forgetCreates()
	}
	return true
}

// forgetMessages ends a member's messages to and from lost ones.
func (n *Node) forgetMessages(s *seat) {
	ep, c := s.ep, s.comm
	ep.posted.leave(func(w *waitingRecv) bool {
		if w.comm != c.id {
			return false
		}
		why := n.whyHopeless(c, w.src, w.tag)
		if why.text != "" {
			n.failed(ep, record.FailRecv, w.comm, w.seq, why)
		}
		return why.text != ""
	})
	n.drop(ep, func(m *message) bool {
		return m.comm == c.id && !m.have && n.whyHopeless(c, m.rank, m.tag).text != ""
	})
	for _, seq := range slices.Sorted(maps.Keys(ep.sends)) {
		x := ep.sends[seq]
		if why := n.whyHopeless(c, x.rank, x.tag); x.comm == c.id && why.text != "" {
			ep.forgetSend(seq)
			n.failed(ep, record.FailSend, c.id, seq, why)
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(ep.asks)) {
		x := ep.asks[seq]
		if why := c.whyUntold(); x.comm == c.id && why.text != "" {
			delete(ep.asks, seq)
			n.failed(ep, record.FailAsk, c.id, seq, why)
		}
	}
	for _, f := range ep.flows {
		if why := n.whyHopeless(c, f.from, f.tag); f.comm == c.id && why.text != "" {
			n.endFlow(ep, f)
			n.failed(ep, record.FailRecv, c.id, f.to, why)
		}
	}
}

// whyGone gives the reason for which a member is lost or has left; for Any, some member
// is lost or all others have left; no text if all is well.
func (n *Node) whyGone(c *comm, member int) reason {
	if c.ways != nil && c.hard {
		return c.broken // only its own node knows where a member is
	}
	why := c.lost
	switch {
	case member != record.Any && c.ways != nil:
		why = c.left[member]
	case member != record.Any:
		why = cmp.Or(n.lost[c.endpoint(member)], c.left[member])
	case c.size > 1 && len(c.left) == c.size-1:
		member = slices.Min(slices.Collect(maps.Keys(c.left)))
		why = c.left[member]
	}
	return reason{why, record.CauseLeft, member}
}

// lostMember returns the first member that is lost; -1 if none is, or a Split made c.
func (n *Node) lostMember(c *comm) int {
	for i := 0; i < c.size && c.ways == nil; i++ {
		if n.lost[c.endpoint(i)] != "" {
			return i
		}
	}
	return -1
}

// whyHopeless gives the reason for which there will be no message to or from a member;
// no text if there may be one. Operations that libraries build of messages fail like
// those of the tree.
func (n *Node) whyHopeless(c *comm, member int, tag int64) reason {
	if c.freed {
		return wasFreed
	}
	if tag > record.MaxTag && c.hard {
		return c.broken
	}
	if member >= c.size {
		return reason{}
	}
	return n.whyGone(c, member)
}
