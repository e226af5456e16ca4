package collective

import (
	"fmt"
	"maps"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// Wait is an operation that a local rank has entered and that is not over for it.
type Wait struct {
	Comm, Seq uint64
	Text      string
}

// Waits returns the operations that local ranks wait in: of each communicator the first,
// of at most so many.
func (n *Node) Waits(most int) (list []Wait) {
	for _, id := range slices.Sorted(maps.Keys(n.comms)) {
		c := n.comms[id]
		for _, seq := range slices.Sorted(maps.Keys(c.ops)) {
			o := c.ops[seq]
			inside := func(m *opPart) bool { return m != nil && m.seat.ep.id < n.ranks }
			if !slices.ContainsFunc(o.members, inside) {
				continue
			}
			list = append(list, Wait{id, seq, n.opText(c, o, seq)})
			break
		}
		if len(list) >= most {
			break
		}
	}
	return list
}

// Missing returns the local ranks that are members of a communicator and have not entered
// an operation of it.
func (n *Node) Missing(comm, seq uint64) (ranks []int) {
	if c := n.comms[comm]; c != nil {
		for _, s := range c.order {
			if s.next <= seq && s.ep.id < n.ranks {
				ranks = append(ranks, s.ep.id)
			}
		}
	}
	return ranks
}

// MessageWait is a local rank that waits for a message, for one to be taken, or for a
// communicator to be made: its first such request.
type MessageWait struct {
	Rank int
	Seq  uint64
}

// MessageWaits returns the local ranks that wait so.
func (n *Node) MessageWaits() (list []MessageWait) {
	for _, ep := range n.local {
		switch {
		case ep.id >= n.ranks:
		case ep.posted.length > 0:
			list = append(list, MessageWait{ep.id, ep.posted.head.value.seq})
		case len(ep.sends) > 0:
			list = append(list, MessageWait{ep.id, slices.Min(slices.Collect(maps.Keys(ep.sends)))})
		case len(ep.creating) > 0:
			list = append(list, MessageWait{ep.id, ep.creating[0].request})
		}
	}
	return list
}

// MessageText describes the message that a local rank waits for, of those that
// MessageWaits names.
func (n *Node) MessageText(rank int) string {
	return fmt.Sprintf("rank %d for %s", rank, n.messageText(n.ends[rank]))
}

// messageText describes the message, or the member, that an endpoint waits for.
func (n *Node) messageText(ep *endpointState) string {
	if ep != nil && ep.posted.length > 0 {
		w := ep.posted.head.value
		from, tag := fmt.Sprintf("member %d", w.src), fmt.Sprintf("tag %d", w.tag)
		if w.src == record.Any {
			from = "anyone"
		} else if w.comm == World {
			from = fmt.Sprintf("rank %d", w.src)
		}
		if w.tag == record.Any {
			tag = "any tag"
		}
		return fmt.Sprintf("a message of %s with %s over %s", from, tag, n.name(n.comms[w.comm]))
	}
	if ep != nil && len(ep.sends) == 0 && len(ep.creating) > 0 {
		return fmt.Sprintf("rank %d, the first of %d, to make a communicator", ep.creating[0].members[0], len(ep.creating[0].members))
	}
	return "a message of its to be taken"
}

// Calls returns the operation of each local rank, the first of a communicator, or else
// the message it waits for, as MessageText has it: "in barrier, operation 2 of the
// world".
func (n *Node) Calls() map[int]string {
	calls := map[int]string{}
	for _, id := range slices.Sorted(maps.Keys(n.comms)) {
		c := n.comms[id]
		for _, seq := range slices.Sorted(maps.Keys(c.ops)) {
			o, text := c.ops[seq], ""
			for _, m := range o.members {
				if m == nil || m.seat.ep.id >= n.ranks || calls[m.seat.ep.id] != "" {
					continue
				}
				if text == "" {
					text = "in " + n.opText(c, o, seq)
				}
				calls[m.seat.ep.id] = text
			}
		}
	}
	for _, w := range n.MessageWaits() {
		if calls[w.Rank] == "" {
			calls[w.Rank] = "waiting for " + n.messageText(n.ends[w.Rank])
		}
	}
	return calls
}

// opText names an operation.
func (n *Node) opText(c *comm, o *op, seq uint64) string {
	return fmt.Sprintf("%s, operation %d of %s", n.text(c, o.call, o.root), seq, n.name(c))
}
