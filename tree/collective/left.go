package collective

import (
	"maps"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// An endpoint whose program has left takes part in nothing any more. Operations that
// others begin with it after that fail; those to which it has given its whole part go
// on. The first of a communicator's members to leave has everyone told from which
// operation on none can succeed, which is true of the others' leaving too, mostly: they
// need no word of their own. A receiver of a member's messages asks that member's agent
// from then on. A job whose ranks do not use the service sends nothing of the kind.

// Detach forgets an endpoint whose program is gone; records for it are dropped.
func (n *Node) Detach(endpoint int) {
	if ep := n.ends[endpoint]; ep != nil {
		ep.gone = true
		ep.out, ep.backlog = nil, 0
		ep.in.pending, ep.in.held = nil, 0
	}
}

// Leave is Detach for one that takes part in nothing any more for a reason that
// others are told. There should be Room: requests that wait are dropped.
func (n *Node) Leave(endpoint int, why string) {
	ep := n.ends[endpoint]
	if ep == nil || ep.left != "" {
		return
	}
	n.Detach(endpoint)
	ep.left = why
	if n.used {
		n.leaveAll(ep)
	}
}

// Use says that ranks use the service.
func (n *Node) Use() {
	if !n.used {
		n.send2all(&record.Record{Kind: record.InUse})
		n.use()
	}
}

// use learns that ranks make requests somewhere, of which those that have left
// without any are told now.
func (n *Node) use() {
	n.used = true
	if n.fences[OverTree] != n.fences[ByPMI] { // of these everyone has heard
		n.tellFences(OverTree)
	}
	for _, ep := range n.local {
		if ep.left != "" {
			n.leaveAll(ep)
		}
	}
}

func (n *Node) leaveAll(ep *endpointState) {
	for _, id := range slices.Sorted(maps.Keys(ep.seats)) {
		n.leaveComm(ep.seats[id])
	}
	for _, m := range slices.Clone(ep.active) {
		n.goOn(m) // its records are dropped, so there is always room for them
	}
}

// leaveComm has a member leave that takes part in no more operations.
func (n *Node) leaveComm(s *seat) {
	c, ep := s.comm, s.ep
	from := s.next
	for _, m := range ep.active {
		if o := m.op; m.seat == s && (m.owes > 0 || combines(o.call.op) && o.fan != nil && m.gave < o.fan.pieces) {
			from = min(from, o.seq)
		}
	}
	n.memberLeft(c, s.rank, ep.left)
	if n.broken(c, reason{ep.left, record.CauseLeft, s.rank}, from, false) {
		n.tellComm(c, &record.Record{Kind: record.Lost, Comm: c.id, Each: true, Seq: from, Src: s.rank, Count: 1, Body: []byte(ep.left)})
	}
	tell := map[int]bool{}
	for _, member := range s.watchers {
		tell[member] = true
	}
	for _, x := range ep.sends {
		if x.comm == c.id {
			tell[x.dst] = true
		}
	}
	for _, f := range ep.flows {
		if f.comm == c.id {
			tell[f.src] = true
		}
	}
	for i := range ep.unexpected.all() {
		if m := &i.value; m.comm == c.id && !m.have {
			tell[m.src] = true
		}
	}
	n.dropMessages(s)
	for _, member := range slices.Sorted(maps.Keys(tell)) {
		n.tellLeft(s, member)
	}
}

// leaveFormer has those leave a new communicator that had left before.
func (n *Node) leaveFormer(c *comm) {
	for _, s := range c.order {
		if s.ep.left != "" {
			n.leaveComm(s)
		}
	}
}

// tellComm floods a record of this node's to all nodes that know a communicator.
func (n *Node) tellComm(c *comm, r *record.Record) {
	if c.ways == nil {
		n.send2all(r)
		return
	}
	for _, toward := range c.towards {
		n.enqueue(toward, record.Append(nil, r))
	}
}

// dropMessages forgets a member's messages, both ways.
func (n *Node) dropMessages(s *seat) {
	ep, id := s.ep, s.comm.id
	ep.posted.leave(func(w *waitingRecv) bool { return w.comm == id })
	ep.leavers = slices.DeleteFunc(ep.leavers, func(w waitingRecv) bool { return w.comm == id })
	n.drop(ep, func(m *message) bool { return m.comm == id })
	for seq, x := range ep.sends {
		if x.comm == id {
			ep.forgetSend(seq)
		}
	}
	maps.DeleteFunc(ep.asks, func(_ uint64, x asked) bool { return x.comm == id })
	for _, f := range ep.flows {
		if f.comm == id {
			n.endFlow(ep, f)
		}
	}
}

// tellLeft tells the agent of a member, by its number, that another has left.
func (n *Node) tellLeft(s *seat, member int) {
	if member != s.number {
		n.send(&record.Record{Kind: record.Left, Comm: s.comm.id, Src: s.number, Dst: member, Count: 1, Off: int64(s.rank), Body: []byte(s.ep.left)})
	}
}

// memberLeft learns that a member has left, by its rank.
func (n *Node) memberLeft(c *comm, member int, why string) {
	if c.left[member] != "" {
		return
	}
	if c.left == nil {
		c.left = map[int]string{}
	}
	c.left[member] = why
	for _, s := range c.order {
		n.forgetMessages(s)
	}
	n.tellLeavers(c)
	if c.id == World {
		n.forgetCreates()
	}
}

// tellLeavers answers local members that wait for others to leave: with all that are
// known to have, where these are more than the member knows of.
func (n *Node) tellLeavers(c *comm) {
	waits := func(w waitingRecv) bool { return w.comm == c.id }
	if !slices.ContainsFunc(c.order, func(s *seat) bool { return slices.ContainsFunc(s.ep.leavers, waits) }) {
		return
	}
	gone := n.goneFrom(c)
	for _, s := range c.order {
		n.tellLeaver(s, gone)
	}
}

// goneFrom returns the members of a communicator that are known to have left, in order.
func (n *Node) goneFrom(c *comm) (gone []int) {
	for i := 0; c.lost != "" && c.ways == nil && i < c.size; i++ {
		if n.lost[c.endpoint(i)] != "" {
			gone = append(gone, i)
		}
	}
	gone = slices.AppendSeq(gone, maps.Keys(c.left))
	slices.Sort(gone)
	return slices.Compact(gone)
}

// tellLeaver answers the waits of one member. It hears of another when it has taken the
// messages of that one, or waits for a message and wants none of those that are there.
func (n *Node) tellLeaver(s *seat, gone []int) {
	c, ep := s.comm, s.ep
	if len(ep.leavers) == 0 {
		return
	}
	s.withheld = false
	if ep.posted.find(func(w *waitingRecv) bool { return w.comm == c.id && !w.probe }) == nil {
		some := len(gone)
		gone = slices.DeleteFunc(slices.Clone(gone), func(member int) bool { return ep.untaken[senderID{c.id, member}] > 0 && !s.told[member] })
		s.withheld = len(gone) < some
	}
	ep.leavers = slices.DeleteFunc(ep.leavers, func(w waitingRecv) bool {
		switch {
		case w.comm != c.id:
			return false
		case c.ways != nil && c.hard: // departures are no longer known
			n.failed(ep, record.FailRecv, c.id, w.seq, c.broken)
		case c.freed:
			n.failed(ep, record.FailRecv, c.id, w.seq, wasFreed)
		case int64(len(gone)) <= w.max:
			return false
		default:
			n.tell(ep, &record.Record{Kind: record.Match, Fn: record.RecvLeft, Comm: c.id, Seq: w.seq, Src: record.Any, Dst: s.rank,
				Off: record.Any, Body: record.AppendRuns(nil, gone)})
			if s.told == nil {
				s.told = map[int]bool{}
			}
			for _, member := range gone {
				s.told[member] = true
			}
		}
		return true
	})
}

// watch asks to be told when a member leaves that a local one waits for. As long
// as nobody has left, there is no need.
func (n *Node) watch(s *seat, member int) {
	c := s.comm
	if c.broken.text == "" || c.watched[member] || c.watched[record.Any] || c.left[member] != "" {
		return
	}
	if c.watched == nil {
		c.watched = map[int]bool{}
	}
	c.watched[member] = true
	r := record.Record{Kind: record.Watch, Comm: c.id, Src: s.number, Count: c.size}
	if member == record.Any {
		n.send(&r)
		return
	}
	n.whenKnown(c, member, func(p place) {
		r.Dst, r.Count = p.number, 1
		n.send(&r)
	})
}

// watchedBy tells a member, by its number, of a local one's leaving, now or when it does.
func (n *Node) watchedBy(s *seat, member int) {
	if s.ep.left != "" {
		n.tellLeft(s, member)
	} else if !slices.Contains(s.watchers, member) {
		s.watchers = append(s.watchers, member)
	}
}

// forgetCreates ends the making of communicators whose first member, who has the
// say, is lost or has left.
func (n *Node) forgetCreates() {
	world := n.comms[World]
	for _, ep := range n.local {
		ep.creating = slices.DeleteFunc(ep.creating, func(x create) bool {
			first := x.members[0]
			why := n.lost[first]
			if why == "" && first < world.size {
				if why = world.left[first]; why == "" && ep.seats[World] != nil {
					n.watch(ep.seats[World], first)
					why = world.left[first]
				}
			}
			if why != "" {
				n.failed(ep, record.FailCreate, 0, x.request, reason{why, record.CauseLeft, first})
			}
			return why != ""
		})
	}
}
