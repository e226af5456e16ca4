package collective

import (
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// send routes a record that this node makes. It never waits: how many of these
// there are is bounded by the operations.
func (n *Node) send(r *record.Record) {
	if ok, err := n.route(&n.ownInput, r, record.Append(nil, r)); !ok {
		panic(fmt.Sprintf("a record of kind %d of our own: %v", r.Kind, err)) // a bug of this package
	}
}

// route takes a record one step toward its destinations: local ones get it, and
// each link that leads to others, save the one it came from.
func (n *Node) route(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	c := n.comms[r.Comm]
	switch {
	case c == nil && n.existed(r.Comm):
		return true, nil // the communicator was freed, or nobody may use it
	case c == nil:
		return false, fmt.Errorf("a record of kind %d for communicator %d, which does not exist", r.Kind, r.Comm)
	case r.Count < 1 || r.Dst+r.Count > c.size || r.Src < 0 || r.Src > c.size || r.Src == c.size && !fromTree(r.Kind):
		return false, fmt.Errorf("a record of kind %d from member %d to %d+%d of %d", r.Kind, r.Src, r.Dst, r.Count, c.size)
	case in.ep == nil && in.toward != own && r.Src < c.size && (c.dir == nil || r.Kind != record.Data) && n.toward(c, r.Src) != in.toward:
		if n.toward(c, r.Src) == Nowhere {
			return true, nil // sent before it was lost
		}
		return false, fmt.Errorf("a record from member %d of communicator %d, which is elsewhere", r.Src, r.Comm)
	case r.Each && len(r.Body)%r.Count != 0:
		return false, fmt.Errorf("%d bytes for %d members", len(r.Body), r.Count)
	}
	byRank := c.dir != nil && r.Kind == record.Pull && r.Op == record.AllGather // for members who knows where
	if r.Count == 1 && !byRank {
		toward := n.toward(c, r.Dst)
		switch {
		case toward == Nowhere:
			return true, nil
		case toward == Local:
			n.deliver(c, r.Dst, r)
			return true, nil
		case toward == in.toward:
			return false, fmt.Errorf("a record for member %d of communicator %d, which is not here", r.Dst, r.Comm)
		case in.toward != own && n.full(toward):
			return false, nil
		}
		n.enqueue(toward, raw)
		return true, nil
	}
	first, count := r.Dst, r.Count
	if byRank {
		first, count = 0, c.size
	}
	targets, here := n.leads(c, first, count, in.toward)
	if in.toward != own {
		for _, toward := range targets {
			if n.full(toward) {
				return false, nil
			}
		}
	}
	if r.Each {
		n.split(c, r, in.toward)
		return true, nil
	}
	for _, toward := range targets {
		n.enqueue(toward, raw)
	}
	if here {
		for _, s := range c.order {
			at := s.number
			if byRank {
				at = s.rank
			}
			if at >= r.Dst && at < r.Dst+r.Count && !s.isSender(r) {
				n.deliver(c, s.number, r)
			}
		}
	}
	if byRank {
		return true, n.expectPiece(c, r)
	}
	return true, nil
}

// fromTree tells whether records of a kind may come from the tree itself, which
// has the number after the last member's. It does not send messages.
func fromTree(k record.Kind) bool { return k == record.Data || k == record.Pull }

// leads returns the links that lead to members, save the one named, and whether
// some are here.
func (n *Node) leads(c *comm, first, count int, except Direction) (targets []Direction, here bool) {
	targets = n.targets[:0]
	if count == c.size {
		for _, toward := range c.towards {
			if toward != except {
				targets = append(targets, toward)
			}
		}
		n.targets = targets
		return targets, len(c.order) > 0
	}
	last := own
	for i := first; i < first+count; {
		var toward Direction
		toward, i = n.runTo(c, i)
		if toward == last {
			continue
		}
		last = toward
		switch {
		case toward == Local:
			here = true
		case toward != Nowhere && toward != except && !n.mark[toward+1]:
			n.mark[toward+1] = true
			targets = append(targets, toward)
		}
	}
	for _, toward := range targets {
		n.mark[toward+1] = false
	}
	n.targets = targets
	return targets, here
}

// split cuts a record with a part for each member into one for each run of
// members that lie in one direction.
func (n *Node) split(c *comm, r *record.Record, except Direction) {
	size := len(r.Body) / r.Count
	for i := 0; i < r.Count; {
		toward, end := n.runWithin(c, r.Dst+i, r.Dst+r.Count)
		j := end - r.Dst
		part := *r
		part.Dst, part.Count, part.Body = r.Dst+i, j-i, r.Body[i*size:j*size]
		i = j
		switch {
		case toward == Local:
			if !c.seats[part.Dst].isSender(r) {
				part.Each = false
				n.deliver(c, part.Dst, &part)
			}
		case toward != Nowhere && toward != except:
			n.enqueue(toward, record.Append(nil, &part))
		}
	}
}

// runWithin returns the direction of the member of a number, and the first number after
// it, up to a limit, whose member is elsewhere; members here are taken one by one.
func (n *Node) runWithin(c *comm, number, limit int) (toward Direction, end int) {
	toward, end = n.runTo(c, number)
	if toward == Local {
		return toward, number + 1
	}
	for end < limit {
		next, after := n.runTo(c, end)
		if next != toward {
			break
		}
		end = after
	}
	return toward, min(end, limit)
}

// deliver hands a record to the local member of a number.
func (n *Node) deliver(c *comm, number int, r *record.Record) {
	s := c.seats[number]
	switch r.Kind {
	case record.Data:
		n.data(s, r)
	case record.Pull:
		n.pull(s, r)
	case record.Send:
		if s.ep.left != "" {
			n.tellLeft(s, r.Src)
			return
		}
		n.message(s, r)
	case record.SendPull:
		if x, ok := s.ep.sends[r.Seq]; ok {
			x.asked += r.Size
			s.ep.sends[r.Seq] = x
			wish := *r
			wish.Src, wish.Dst = x.rank, s.rank
			n.tell(s.ep, &wish)
		} else if s.ep.left != "" {
			n.tellLeft(s, r.Src)
		}
	case record.SendData:
		n.messageData(s, r)
	case record.Left:
		if r.Off >= 0 && r.Off < int64(c.size) {
			n.memberLeft(c, int(r.Off), string(r.Body))
		}
	case record.Watch:
		n.watchedBy(s, r.Src)
	case record.Ask:
		n.send(&record.Record{Kind: record.Answer, Comm: c.id, Seq: r.Seq, Src: number, Dst: r.Src, Count: 1, Off: int64(s.ep.id), Size: int64(n.self)})
	case record.Answer:
		n.answered(s, r)
	case record.Kept:
		n.takeKept(s, r)
	case record.Taken:
		if x, ok := s.ep.sends[r.Seq]; ok {
			s.ep.forgetSend(r.Seq)
			word := *r
			word.Src, word.Dst = x.rank, s.rank
			n.tell(s.ep, &word)
		}
	}
}

// tell queues a record for an endpoint.
func (n *Node) tell(ep *endpointState, r *record.Record) {
	if ep.gone {
		return
	}
	before := len(ep.out)
	ep.out = record.AppendFrame(ep.out, r)
	ep.backlog += len(ep.out) - before
}
