package collective

import (
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// asked is a look-up that a local endpoint waits for.
type asked struct {
	comm   uint64
	member int
}

// MaxCached bounds the answers to look-ups, 16 bytes each, that a node remembers of a
// communicator that a Split made.
const MaxCached = 1 << 10

// askRequest takes an endpoint's question where a member is. If this node does not
// know, the home of the member's rank is asked, or, where there is no table, as ranks
// tell the way, the member's own node.
func (n *Node) askRequest(in *input, s *seat, r *record.Record, raw []byte) (ok bool, err error) {
	ep, c := s.ep, s.comm
	_, twice := ep.asks[r.Seq]
	switch {
	case r.Count != 1 || r.Dst >= c.size:
		return false, fmt.Errorf("a question for member %d of %d", r.Dst, c.size)
	case twice || len(ep.asks) >= record.MaxRequests:
		return false, fmt.Errorf("more than %d questions at a time, or number %d twice", record.MaxRequests, r.Seq)
	}
	if why := c.whyUntold(); why.text != "" {
		n.failed(ep, record.FailAsk, c.id, r.Seq, why)
		return true, nil
	}
	if p, ok := n.whereIs(c, r.Dst); ok {
		n.tellWhere(s, r.Seq, r.Dst, p.endpoint)
		return true, nil
	}
	ep.asks[r.Seq] = asked{c.id, r.Dst}
	if c.dir == nil {
		if ok, err = n.route(in, r, raw); !ok {
			delete(ep.asks, r.Seq)
		}
		return ok, err
	}
	member, seq := r.Dst, r.Seq
	n.whenKnown(c, member, func(p place) {
		if x, ok := ep.asks[seq]; ok && x == (asked{c.id, member}) {
			delete(ep.asks, seq)
			n.tellWhere(s, seq, member, p.endpoint)
		}
	})
	return true, nil
}

// whyUntold gives the reason for which nobody locates members of a communicator; no
// text if they are located. Locations do not change: a member that has left, or is lost
// with a node that nobody needs to ask, keeps its own.
func (c *comm) whyUntold() reason {
	switch {
	case c.freed:
		return wasFreed
	case c.ways != nil && c.hard: // it may be the lost node that knows
		return c.broken
	}
	return reason{}
}

// answered takes the answer of a member's node to a question.
func (n *Node) answered(s *seat, r *record.Record) {
	c := s.comm
	if x, ok := s.ep.asks[r.Seq]; !ok || x != (asked{c.id, r.Src}) || r.Off < 0 || r.Off >= int64(n.endpoints) {
		return
	}
	delete(s.ep.asks, r.Seq)
	c.learned(r.Src, place{r.Src, int(r.Off)})
	n.tellWhere(s, r.Seq, r.Src, int(r.Off))
}

func (n *Node) tellWhere(s *seat, seq uint64, member, endpoint int) {
	n.tell(s.ep, &record.Record{Kind: record.Answer, Comm: s.comm.id, Seq: seq, Src: member, Dst: s.rank, Count: 1,
		Off: int64(endpoint), Size: int64(n.nodeOf(endpoint))})
}
