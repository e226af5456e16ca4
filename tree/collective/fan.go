package collective

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// fan combines for one operation, piece by piece: in a reduction the members'
// contributions; in a long Bcast or AllGather the news that they have room for a piece
// of the result.
type fan struct {
	pieces  int64 // in all
	base    int64 // pieces that have gone on
	allowed int64 // pieces that the parent takes
	slots   [Depth]fanSlot
}

// fanSlot is a piece that is being combined.
type fanSlot struct {
	parts int            // that came
	acc   []byte         // of these, what is combined
	next  int            // the place of the part that is combined next, where the order counts
	late  []contribution // those that came before it
}

// contribution comes from one of a node's members, or one of its children.
type contribution struct {
	place int
	bytes []byte
}

// ownBytes returns its bytes to be kept, and changed. Long ones came in memory of their
// own, which is the node's: a frame, or a rank's record.
func (c *contribution) ownBytes() []byte {
	if len(c.bytes) >= aliased {
		return c.bytes
	}
	return bytes.Clone(c.bytes)
}

// fold adds a part. Where the outcome depends on the order, parts are combined by their
// places, whenever they come: those of members in the order of ranks, then those of
// children. after returns the place that follows one.
func (s *fanSlot) fold(fn uint8, p contribution, after func(place int) int) error {
	s.parts++
	if !record.Ordered(fn) {
		return s.add(fn, p)
	}
	if p.place < s.next || slices.ContainsFunc(s.late, func(x contribution) bool { return x.place == p.place }) {
		return errors.New("a contribution came twice")
	}
	if p.place != s.next {
		s.late = append(s.late, contribution{p.place, p.ownBytes()})
		return nil
	}
	for {
		if err := s.add(fn, p); err != nil {
			return err
		}
		s.next = after(s.next)
		i := slices.IndexFunc(s.late, func(x contribution) bool { return x.place == s.next })
		if i < 0 {
			return nil
		}
		p = s.late[i]
		s.late = slices.Delete(s.late, i, i+1)
	}
}

func (s *fanSlot) add(fn uint8, p contribution) error {
	if s.acc == nil {
		s.acc = p.ownBytes()
		return nil
	}
	return record.Fold(fn, s.acc, p.bytes)
}

// combines tells whether members contribute data.
func combines(o record.Op) bool { return o == record.Reduce || o == record.AllReduce }

// pieces counts the pieces of the combining part of an operation; 0 if there is nothing
// to combine.
func (n *Node) pieces(o *op) int64 {
	size := o.call.size
	switch o.call.op {
	case record.Barrier:
		return 1
	case record.Reduce, record.AllReduce:
	case record.AllGather, record.Bcast:
		if o.comm.size == 1 || record.Eager(o.call.op, o.comm.size, size) {
			return 0
		}
		if o.call.op == record.AllGather {
			size *= int64(o.comm.size)
		}
	default:
		return 0
	}
	return (size + record.Chunk - 1) / record.Chunk
}

func (n *Node) needsFan(o *op) bool { return o.call.op != 0 && n.pieces(o) > 0 }

// startFan makes o.fan where there is something to combine.
func (n *Node) startFan(o *op) {
	if p := n.pieces(o); p > 0 && !o.fanned {
		o.fan, o.fanned = &fan{pieces: p, allowed: Depth}, true
	}
}

// childUp takes a child's contribution.
func (n *Node) childUp(in *input, r *record.Record) error {
	c := n.comms[r.Comm]
	if c == nil && n.existed(r.Comm) {
		return nil
	}
	if c == nil || in.toward < 0 || c.slot(in.toward) == len(c.towards) || !r.Op.Valid() || r.Dst >= c.size || r.Size > maxBytes/int64(c.size) {
		return fmt.Errorf("a contribution to communicator %d that cannot be", r.Comm)
	}
	if c.dead(r.Seq) {
		return nil
	}
	o := n.op(c, r.Seq)
	got := call{op: r.Op, fn: r.Fn, root: r.Dst, size: r.Size}
	if o.call.op == 0 {
		o.call = got
	}
	if o.call != got || !o.agrees(got.bare()) {
		n.mismatch(o, side{call: got, root: n.rankOf(c, got), count: c.membersAt(in.toward)})
		return nil
	}
	if r.Off == 0 { // the first piece of what all of them give
		o.told += c.membersAt(in.toward)
	}
	n.startFan(o)
	if err := n.contribute(o, r.Off, contribution{len(c.order) + c.slot(in.toward), r.Body}); err != nil {
		return err
	}
	n.run(o)
	n.settleOp(o)
	return nil
}

// contribute folds one part of piece number j in.
func (n *Node) contribute(o *op, j int64, p contribution) error {
	f := o.fan
	if f == nil || j < f.base || j >= f.base+Depth || j >= f.pieces {
		return fmt.Errorf("piece %d of operation %d came too early or twice", j, o.seq)
	}
	slot := &f.slots[j%Depth]
	if combines(o.call.op) {
		if want := min(record.Chunk, o.call.size-j*record.Chunk); int64(len(p.bytes)) != want {
			return fmt.Errorf("a contribution of %d bytes; %d were expected", len(p.bytes), want)
		}
		if slot.parts == 0 {
			slot.next = o.comm.placeAfter(-1)
		}
		return slot.fold(o.call.fn, p, o.comm.placeAfter)
	}
	if len(p.bytes) > 0 {
		return fmt.Errorf("a contribution of %d bytes to %v", len(p.bytes), o.call.op)
	}
	slot.parts++
	return nil
}

// placeAfter returns the place of the part after another: seats, then children, in the
// order of towards.
func (c *comm) placeAfter(place int) int {
	place++
	if i := place - len(c.order); i >= 0 && i < len(c.towards) && c.towards[i] == Up {
		place++
	}
	return place
}

// endpointUp takes a local member's contribution.
func (n *Node) endpointUp(ep *endpointState, r *record.Record) error {
	s := ep.seats[r.Comm]
	if s.comm.dead(r.Seq) {
		return nil
	}
	o := s.comm.ops[r.Seq]
	if o == nil || o.members[s.at] == nil || !combines(o.call.op) {
		return fmt.Errorf("a contribution to operation %d, which needs none", r.Seq)
	}
	m := o.members[s.at]
	if r.Off != m.gave || m.gave >= m.given {
		return errors.New("a contribution that was not asked for")
	}
	m.gave++
	if err := n.contribute(o, r.Off, contribution{s.at, r.Body}); err != nil {
		return err
	}
	n.goOn(m)
	return nil
}

// grant lets pieces up to a number go to the parent.
func (n *Node) grant(in *input, r *record.Record) error {
	if in.toward != Up {
		return errors.New("a grant from a child")
	}
	if c := n.comms[r.Comm]; c != nil {
		if o := c.ops[r.Seq]; o != nil && o.fan != nil {
			o.fan.allowed = max(o.fan.allowed, r.Off)
			n.run(o)
			n.settleOp(o)
		}
	}
	return nil
}

// run does all that can be done for a combining operation.
func (n *Node) run(o *op) {
	for o.fan != nil && !o.comm.dead(o.seq) {
		for _, m := range o.members {
			if m != nil {
				n.offer(m)
			}
		}
		if !n.advance(o) {
			break
		}
	}
	for _, m := range o.members {
		if m != nil {
			n.settle(m)
		}
	}
}

// offer lets a member contribute the pieces that there is room for.
func (n *Node) offer(m *opPart) {
	o, f := m.op, m.op.fan
	for m.given < min(f.pieces, f.base+Depth) {
		j := m.given
		if m.left > 0 || m.arrived > 0 { // it gets the result
			if m.promise-m.arrived+int64(m.seat.ep.backlog) >= Window {
				return
			}
			begin, end := n.span(o, j)
			m.promise += end - begin
			if mine := n.overlap(o, m.seat, begin, end); mine > 0 {
				m.arrived += mine
			}
		}
		m.given++
		if combines(o.call.op) {
			if f.pieces > 1 {
				begin, end := n.span(o, j)
				n.tell(m.seat.ep, &record.Record{Kind: record.Pull, Op: o.call.op, Comm: o.comm.id, Seq: o.seq, Src: o.comm.size,
					Dst: m.seat.rank, Count: 1, Off: begin, Size: end - begin})
			}
			continue
		}
		m.gave++
		if err := n.contribute(o, j, contribution{}); err != nil { // agents that do not keep to the protocol
			n.breakOp(o, "%v", err)
			return
		}
	}
}

// span returns the bytes of the result that are piece j.
func (n *Node) span(o *op, j int64) (begin, end int64) {
	total := o.call.size
	switch o.call.op {
	case record.AllGather:
		total *= int64(o.comm.size)
	case record.Barrier:
		total = 1
	}
	return j * record.Chunk, min((j+1)*record.Chunk, total)
}

// overlap counts the bytes of a part of the result that a member has itself.
func (n *Node) overlap(o *op, s *seat, begin, end int64) int64 {
	switch o.call.op {
	case record.AllGather:
		first := int64(s.rank) * o.call.size
		return min(end, first+o.call.size) - max(begin, first)
	case record.Bcast:
		if s.number == o.call.root {
			return end - begin
		}
	}
	return 0
}

// advance lets every piece go on that is complete, in order.
func (n *Node) advance(o *op) (moved bool) {
	f, c := o.fan, o.comm
	parts := len(c.order) + c.below
	for f.base < f.pieces && (f.base < f.allowed || !c.above) {
		slot := &f.slots[f.base%Depth]
		if slot.parts < parts {
			break
		}
		acc, j := slot.acc, f.base
		slot.parts, slot.acc = 0, nil // it had no late parts: all are there
		f.base++
		moved = true
		n.goUp(o, j, acc)
	}
	switch {
	case !moved:
	case f.base == f.pieces:
		for _, m := range o.members {
			if m != nil {
				m.gave = f.pieces
			}
		}
		o.fan = nil
	case f.pieces > Depth:
		r := record.Record{Kind: record.Grant, Op: o.call.op, Comm: c.id, Seq: o.seq, Off: f.base + Depth}
		raw := record.Append(nil, &r)
		for _, toward := range c.towards {
			if toward != Up {
				n.enqueue(toward, raw)
			}
		}
	}
	return moved
}

// goUp sends a complete piece to the parent, or, where every member is below, uses it
// here.
func (n *Node) goUp(o *op, j int64, acc []byte) {
	c, k := o.comm, o.call
	if c.above {
		r := record.Record{Kind: record.Up, Op: k.op, Fn: k.fn, Comm: c.id, Seq: o.seq, Src: c.size, Dst: k.root, Off: j, Size: k.size, Body: acc}
		n.enqueue(Up, record.Append(nil, &r))
		return
	}
	begin, end := n.span(o, j)
	r := record.Record{Kind: record.Data, Op: k.op, Comm: c.id, Seq: o.seq, Src: c.size, Count: c.size, Off: begin, Size: k.size, Body: acc}
	switch k.op {
	case record.Barrier:
		r.Body = []byte{0}
	case record.Reduce:
		r.Dst, r.Count = k.root, 1
	case record.Bcast:
		r.Kind, r.Dst, r.Count, r.Size, r.Body = record.Pull, k.root, 1, end-begin, nil
	case record.AllGather:
		first, last := begin/k.size, (end-1)/k.size
		r.Kind, r.Dst, r.Count, r.Size, r.Body = record.Pull, int(first), int(last-first+1), end-begin, nil
		if c.dir != nil { // it passes nodes that forgot
			r.Body = binary.AppendUvarint(nil, uint64(k.size))
		}
	}
	n.send(&r)
}
