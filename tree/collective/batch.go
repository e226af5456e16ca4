package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// A node collects all its parts of a short Gather, AllGather or AllToAll before any of
// them goes on: nobody can complete one of these before everyone has begun it, so
// waiting costs nothing, and one record for many members crosses each link instead of
// one for each.

// CollectBound is the number of bytes of an AllToAll that a node collects from all
// sides; where more pass, it collects its own members' parts only.
const CollectBound = 2 * Window

// block holds the parts of consecutive members for consecutive members: for each of the
// latter, in order, those of the former.
type block struct {
	src, sources int    // ranks
	dst, count   int    // numbers
	each         bool   // body has something for each of count, not the same for all
	body         []byte // the block's
}

// columns counts the destinations for which a block holds bytes of their own.
func (b *block) columns() int {
	if b.each {
		return b.count
	}
	return 1
}

// batch collects blocks for one direction.
type batch struct {
	blocks []block
	bytes  int64
}

// blockOf checks that a record is a block of a short operation.
func (n *Node) blockOf(in *input, c *comm, r *record.Record) (b block, err error) {
	b = block{src: r.Src, dst: r.Dst, count: r.Count, each: r.Each, body: r.Body}
	row := int64(b.columns()) * r.Size
	ok := row > 0 && r.Count >= 1 && r.Dst+r.Count <= c.size && int64(len(r.Body)) >= row && int64(len(r.Body))%row == 0
	if ok {
		b.sources = int(int64(len(r.Body)) / row)
		ok = r.Src >= 0 && b.sources <= c.size-r.Src
	}
	switch {
	case !ok:
	case r.Op == record.AllToAll:
		ok = r.Each && r.Off == 0
	case r.Op == record.Gather:
		ok = !r.Each && r.Count == 1 && r.Off == 0
	default:
		ok = !r.Each && r.Count == c.size && r.Off == int64(r.Src)*r.Size && in.toward != Up
	}
	if ok && in.ep != nil { // it gives all it has to give at once
		ok = b.sources == 1 && (r.Op == record.Gather || r.Count == c.size)
	}
	if !ok {
		return b, fmt.Errorf("%d bytes from member %d to %d+%d of %d are no part of %v of %d bytes",
			len(r.Body), r.Src, r.Dst, r.Count, c.size, r.Op, r.Size)
	}
	for i := 0; c.dir == nil && i < b.sources; i++ {
		if toward := n.toward(c, r.Src+i); toward != in.toward && toward != Nowhere {
			return b, fmt.Errorf("a record from member %d of communicator %d, which is elsewhere", r.Src+i, r.Comm)
		}
	}
	return b, nil
}

// collects tells whether data of an operation are collected on their way.
func collects(op record.Op, members int, size int64) bool {
	switch op {
	case record.Gather, record.AllGather, record.AllToAll:
		return members > 1 && size > 0 && record.Eager(op, members, size)
	}
	return false
}

// startTransit decides which parts of an operation are collected here.
func (n *Node) startTransit(o *op, k call) {
	c := o.comm
	if o.batches != nil || !collects(k.op, c.size, k.size) {
		return
	}
	o.short = k
	o.batches = make([]batch, len(c.towards)+1)
	switch k.op {
	case record.AllGather:
		o.transit = int64(c.inside) * k.size
	case record.Gather:
		o.transit = n.batchBytes(o, k, n.toward(c, k.root))
	default:
		for _, toward := range c.towards {
			o.transit += n.batchBytes(o, k, toward)
		}
	}
}

// batchBytes returns the bytes of an operation that go on together in a direction.
func (n *Node) batchBytes(o *op, k call, to Direction) int64 {
	c := o.comm
	there := int64(c.membersAt(to))
	switch {
	case k.op == record.AllGather:
		return int64(c.inside) * k.size
	case k.op == record.Gather && to == Local:
		return int64(c.size-1) * k.size
	case k.op == record.Gather:
		return (int64(c.size) - there) * k.size
	case c.through*k.size <= CollectBound:
		return there * (int64(c.size) - there) * k.size
	}
	return int64(len(c.order)) * there * k.size
}

// pass takes data of an operation one step on.
func (n *Node) pass(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	c := n.comms[r.Comm]
	switch {
	case c == nil || r.Src == c.size || !collects(r.Op, c.size, r.Size) && !inPieces(r.Op, c.size, r.Size):
		return n.route(in, r, raw)
	case c.dead(r.Seq):
		return true, nil
	case inPieces(r.Op, c.size, r.Size):
		return true, n.collectPiece(in, c, r)
	}
	return n.collect(in, c, r, raw)
}

// collect takes data of a short operation, with others'.
func (n *Node) collect(in *input, c *comm, r *record.Record, raw []byte) (ok bool, err error) {
	whole := r.Op != record.AllToAll || c.through*r.Size <= CollectBound
	if in.ep == nil && !whole {
		return n.route(in, r, raw)
	}
	b, err := n.blockOf(in, c, r)
	if err != nil {
		return false, err
	}
	k := call{op: r.Op, size: r.Size}
	if r.Op == record.Gather {
		k.root = r.Dst
	}
	to := n.toward(c, b.dst)
	if r.Op == record.Gather && to == in.toward && to != Local {
		return false, fmt.Errorf("a record for member %d of communicator %d, which is not here", r.Dst, r.Comm)
	}
	o := n.op(c, r.Seq)
	if !o.agrees(k) {
		n.differs(o, in, k, b)
		return true, nil
	}
	n.startTransit(o, k)
	if in.ep == nil && r.Op != record.AllToAll { // of that, records may tell of a member several times
		o.told += b.sources
	}
	switch r.Op {
	case record.AllToAll:
		n.spread(o, b)
	case record.AllGather:
		n.gather(o, Up, b)
	default:
		n.gather(o, to, b)
	}
	n.settleOp(o)
	return true, nil
}

// differs is mismatch for a block.
func (n *Node) differs(o *op, in *input, k call, b block) {
	var ranks []int
	for i := 0; i < b.sources && (o.comm.dir == nil || in.ep != nil); i++ {
		ranks = append(ranks, b.src+i)
	}
	if o.call.bare() == k {
		k = o.call
	}
	n.mismatch(o, side{call: k, root: n.rankOf(o.comm, k), ranks: ranks, count: b.sources})
}

// spread takes the parts of a block each in its direction.
func (n *Node) spread(o *op, b block) {
	c := o.comm
	column := len(b.body) / b.count
	for i := 0; i < b.count; {
		toward, end := n.runWithin(c, b.dst+i, b.dst+b.count)
		j := end - b.dst
		part := block{src: b.src, sources: b.sources, dst: b.dst + i, count: j - i, each: true, body: b.body[i*column : j*column]}
		i = j
		switch {
		case toward != Local:
			n.gather(o, toward, part)
		case c.seats[part.dst].rank < b.src || c.seats[part.dst].rank >= b.src+b.sources:
			n.deliver(c, part.dst, o.record(part))
		}
	}
}

// gather adds a block to the batch of a direction, and lets all of that go on once it
// is complete.
func (n *Node) gather(o *op, to Direction, b block) {
	batch := &o.batches[o.comm.slot(to)]
	size := int64(len(b.body))
	o.transit -= size
	if batch.bytes+size < n.batchBytes(o, o.short, to) {
		b.body = slices.Clone(b.body)
		batch.blocks = append(batch.blocks, b)
		batch.bytes += size
		o.waiting += len(b.body)
		return
	}
	blocks := append(batch.blocks, b)
	o.waiting -= int(batch.bytes)
	batch.blocks, batch.bytes = nil, 0
	slices.SortFunc(blocks, func(x, y block) int {
		return cmp.Or(x.dst-y.dst, x.count-y.count, x.src-y.src)
	})
	for len(blocks) > 0 {
		first := blocks[0]
		next, i := first.src+first.sources, 1
		for ; i < len(blocks) && blocks[i].dst == first.dst && blocks[i].count == first.count && blocks[i].src == next; i++ {
			next += blocks[i].sources
		}
		n.forward(o, to, merge(blocks[:i], next-first.src))
		blocks = blocks[i:]
	}
}

// merge makes one block of those of consecutive sources.
func merge(blocks []block, sources int) block {
	b := blocks[0]
	if len(blocks) == 1 {
		return b
	}
	columns, size := b.columns(), 0
	for _, x := range blocks {
		size += len(x.body)
	}
	body := make([]byte, 0, size)
	for i := range columns {
		for _, x := range blocks {
			column := len(x.body) / columns
			body = append(body, x.body[i*column:(i+1)*column]...)
		}
	}
	b.sources, b.body = sources, body
	return b
}

// forward sends a block on, in pieces that fit records.
func (n *Node) forward(o *op, to Direction, b block) {
	c := o.comm
	switch {
	case o.short.op == record.AllGather && !c.above:
		if b.sources < c.size {
			n.breakOp(o, "parts of members %d+%d came twice", b.src, b.sources)
			return
		}
		n.send(&record.Record{Kind: record.Data, Op: record.AllGather, Comm: c.id, Seq: o.seq, Src: c.size, Count: c.size, Size: o.short.size, Body: b.body})
	case to == Local:
		n.deliver(c, b.dst, o.record(b))
	case !b.each:
		n.enqueue(to, record.Append(nil, o.record(b)))
	default:
		column := len(b.body) / b.count
		most := max(1, record.Chunk/column)
		for i := 0; i < b.count; i += most {
			j := min(i+most, b.count)
			piece := block{src: b.src, sources: b.sources, dst: b.dst + i, count: j - i, each: true, body: b.body[i*column : j*column]}
			n.enqueue(to, record.Append(nil, o.record(piece)))
		}
	}
}

// record returns a block's.
func (o *op) record(b block) *record.Record {
	r := &record.Record{Kind: record.Data, Each: b.each, Op: o.short.op, Comm: o.comm.id, Seq: o.seq,
		Src: b.src, Dst: b.dst, Count: b.count, Size: o.short.size, Body: b.body}
	if r.Op == record.AllGather {
		r.Off = int64(b.src) * r.Size
	}
	return r
}
