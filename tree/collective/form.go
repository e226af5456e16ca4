package collective

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/record"
)

// class is a communicator that a Split makes, as far as a node knows it before
// it is formed: the members below, or here.
type class struct {
	color uint32
	size  int    // of all of it
	id    uint64 // the communicator's number; 0 until the node of its first member is heard
	count int    // members known
	ways  []way
	nodes []span
	seats []*seat // without a communicator
}

// class finds one, or makes it.
func (s *splitting) class(color uint32, size int) *class {
	cl := s.classes[color]
	if cl == nil {
		cl = &class{color: color, size: size}
		s.classes[color] = cl
	}
	return cl
}

// placed goes on when the local members know their places.
func (n *Node) placed(o *op, places []commsplit.Place) {
	s, c := o.split, o.comm
	s.machine = nil
	for i, old := range c.order {
		color, pl := s.rows[i].Color, places[i]
		if color == record.Undefined {
			n.tellSplit(o, old, 0, 0, 0)
			continue
		}
		cl := s.class(color, int(pl.Size))
		if len(cl.seats) == 0 {
			cl.nodes = append(cl.nodes, span{uint32(n.self), 1})
		}
		cl.count++
		cl.ways = append(cl.ways, way{span{pl.New, 1}, Local})
		cl.seats = append(cl.seats, &seat{ep: old.ep, rank: int(pl.New)})
		if pl.New == 0 {
			old.ep.created++
			cl.id = uint64(old.ep.id+1)<<32 | uint64(old.ep.created)
		}
	}
	n.joined(o)
}

// below takes what a child says of the members below it.
func (n *Node) below(o *op, hop Hop, b []byte) error {
	s := o.split
	for len(b) > 0 {
		var head [3]uint64
		var err error
		for i := range head {
			if head[i], b, err = uvarint(b); err != nil {
				return err
			}
		}
		color, size, id := head[0], head[1], head[2]
		if color >= record.Undefined || size == 0 || size > uint64(o.comm.size) {
			return fmt.Errorf("a class of colour %d, of %d members", color, size)
		}
		cl := s.class(uint32(color), int(size))
		members, b2, err := parseSpans(b, cl.size)
		if err != nil {
			return err
		}
		nodes, b3, err := parseSpans(b2, len(n.hops)-n.ranks)
		if err != nil {
			return err
		}
		b = b3
		if uint64(cl.size) != size || id != 0 && cl.id != 0 || cl.count+members.size() > cl.size {
			return fmt.Errorf("a class of colour %d, of %d members and %d", color, size, cl.size)
		}
		cl.id |= id
		cl.count += members.size()
		for _, m := range members {
			cl.ways = append(cl.ways, way{m, hop})
		}
		cl.nodes = append(cl.nodes, nodes...)
	}
	if s.heard++; s.heard > o.comm.below {
		return fmt.Errorf("operation %d: a child speaks twice", o.seq)
	}
	n.joined(o)
	return nil
}

// joined forms what has all its members below this node, and tells the parent of
// the rest, once all below and here are heard.
func (n *Node) joined(o *op) {
	s, c := o.split, o.comm
	if s.told || s.heard < c.below || !s.sorted && len(c.order) > 0 {
		return
	}
	s.told = true
	var up []byte
	for _, color := range slices.Sorted(maps.Keys(s.classes)) {
		cl := s.classes[color]
		members := make([]span, len(cl.ways))
		for i, w := range cl.ways {
			members[i] = w.span
		}
		list, err := unite(members)
		if err == nil {
			cl.nodes, err = unite(cl.nodes)
		}
		if err == nil && cl.count < cl.size && !c.above || cl.count == cl.size && cl.id == 0 {
			err = fmt.Errorf("%d of %d members", cl.count, cl.size)
		}
		if err != nil { // agents that do not keep to the protocol
			n.breakComm(c, fmt.Sprintf("operation %d of the communicator: colour %d: %v", o.seq, color, err))
			return
		}
		if cl.count == cl.size {
			n.form(o, cl)
			continue
		}
		up = binary.AppendUvarint(up, uint64(cl.color))
		up = binary.AppendUvarint(up, uint64(cl.size))
		up = binary.AppendUvarint(up, cl.id)
		up = spans(cl.nodes).append(list.append(up))
	}
	if c.above {
		pieces(o, pieceBelow, 0, up, func(r *record.Record) { n.enqueue(Up, record.Append(nil, r)) })
	}
	n.splitOver(o)
}

// form makes a communicator known to the nodes of its members and those
// between.
func (n *Node) form(o *op, cl *class) {
	b := binary.AppendUvarint(nil, uint64(cl.color))
	if len(n.comms) < MaxCommunicators {
		b = spans(cl.nodes).append(binary.AppendUvarint(b, cl.id))
	} else {
		b = append(binary.AppendUvarint(b, 0), fmt.Sprintf("%d communicators exist already; free some", len(n.comms))...)
	}
	if err := n.formed(o, b); err != nil { // agents that do not keep to the protocol
		n.breakComm(o.comm, fmt.Sprintf("operation %d of the communicator: %v", o.seq, err))
	}
}

// formed takes the news that a communicator was formed, or that it cannot be.
func (n *Node) formed(o *op, b []byte) error {
	s := o.split
	color, id, rest, err := parseFormed(b)
	if err != nil {
		return err
	}
	cl := s.classes[uint32(color)]
	if cl == nil || !s.told || id != 0 && (n.comms[id] != nil || n.existed(id)) {
		return fmt.Errorf("a communicator for colour %d, which nobody here waits for", color)
	}
	for i, w := range cl.ways {
		if w.hop != Local && !slices.ContainsFunc(cl.ways[:i], func(x way) bool { return x.hop == w.hop }) {
			pieces(o, pieceFormed, 0, b, func(r *record.Record) { n.enqueue(w.hop, record.Append(nil, r)) })
		}
	}
	delete(s.classes, uint32(color))
	if id == 0 {
		for _, x := range cl.seats {
			n.failed(x.ep, record.FailOp, o.comm.id, o.seq, string(rest))
			n.leave(o, x.ep)
		}
		n.splitOver(o)
		return nil
	}
	nodes, _, err := parseSpans(rest, len(n.hops)-n.ranks)
	if err != nil {
		return err
	}
	made := &comm{id: id, size: cl.size, nodes: nodes}
	n.defineSplit(made, cl)
	for _, x := range cl.seats {
		n.tellSplit(o, x.ep.seats[o.comm.id], id, x.rank, cl.size)
	}
	n.splitOver(o)
	return nil
}

func parseFormed(b []byte) (color, id uint64, rest []byte, err error) {
	if color, b, err = uvarint(b); err == nil {
		id, b, err = uvarint(b)
	}
	return color, id, b, err
}

// tellSplit tells a member what has become of it; id 0 is no communicator.
func (n *Node) tellSplit(o *op, s *seat, id uint64, rank, size int) {
	n.tell(s.ep, &record.Record{Kind: record.Data, Op: record.Split, Comm: o.comm.id, Seq: o.seq, Src: s.rank, Dst: rank,
		Count: 1, Size: int64(size), Body: binary.AppendUvarint(nil, id)})
	n.leave(o, s.ep)
}

// leave ends a local member's part in a Split.
func (n *Node) leave(o *op, ep *endpoint) {
	if m := o.members[ep.seats[o.comm.id].at]; m != nil {
		m.left = 0
		n.settle(m)
	}
}

// splitOver forgets a Split when nothing of it is left to do here.
func (n *Node) splitOver(o *op) {
	if s := o.split; s != nil && s.told && len(s.classes) == 0 {
		o.split = nil
		n.settleOp(o)
	}
}

// defineSplit makes a communicator of a Split known here.
func (n *Node) defineSplit(c *comm, cl *class) {
	slices.SortFunc(cl.ways, func(a, b way) int { return int(int64(a.first) - int64(b.first)) })
	slices.SortFunc(cl.seats, func(a, b *seat) int { return a.rank - b.rank })
	c.ways = newWays(cl.ways)
	c.seats, c.ops = map[int]*seat{}, map[uint64]*op{}
	counts := make([]int, len(n.links))
	for _, w := range cl.ways {
		c.inside += int(w.count)
		if w.hop != Local {
			counts[w.hop+1] += int(w.count)
		}
	}
	counts[0] = c.size - c.inside
	for _, s := range cl.seats {
		s.comm, s.at = c, len(c.order)
		c.seats[s.rank] = s
		c.order = append(c.order, s)
		s.ep.seats[c.id] = s
	}
	for i, count := range counts {
		if count > 0 {
			c.hops = append(c.hops, Hop(i-1))
		}
	}
	c.lead(counts)
	for ep, why := range n.lost {
		if _, ok := c.nodes.index(uint32(ep - n.ranks)); ok && ep >= n.ranks {
			c.broken, c.hard = why, true
		}
	}
	n.know(c)
	n.leftBefore(c)
}

// unborn takes the news that a communicator was formed of one that is broken here
// or was freed: members here know of no communicator, so the others must not use
// it. What comes of it is dropped.
func (n *Node) unborn(why string, r *record.Record) error {
	if r.Off > 0 {
		return nil // not its first piece, which tells all
	}
	_, id, _, err := parseFormed(r.Body)
	if err != nil || id == 0 || n.comms[id] != nil {
		return err
	}
	n.know(&comm{id: id, size: 1, void: true})
	n.breakComm(n.comms[id], why)
	return nil
}
