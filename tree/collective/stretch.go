package collective

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// A long AllGather of many small parts is asked for piece by piece, each of which
// has parts of many members. They are collected on their way up and sent to
// everyone together, as those of a short one are.

// smallPart bounds the parts of a long AllGather for that, in bytes.
const smallPart = record.Chunk / 4

// stretch is some of the bytes of a piece of an AllGather's result.
type stretch struct {
	off  int64
	body []byte
}

// portion collects a piece. Where there is a table, a node does not know whose parts
// come by it: all nodes hear of the piece, and each says when there is no more from it
// and those below.
type portion struct {
	want      int64 // bytes; where there is a table, of local members
	open      int   // children who have not said so
	bytes     int64
	stretches []stretch
}

// lastOfPiece is Fn of the last data of a piece that a node sends to its parent.
const lastOfPiece = 1

// inPieces tells whether data of an operation are collected by the piece.
func inPieces(op record.Op, members int, size int64) bool {
	return op == record.AllGather && members > 1 && size > 0 && size <= smallPart && !record.Eager(op, members, size)
}

// collectPiece takes data of a long AllGather one step on.
func (n *Node) collectPiece(in *input, c *comm, r *record.Record) error {
	begin, end := r.Off, r.Off+int64(len(r.Body))
	last := in.ep == nil && c.dir != nil && r.Fn == lastOfPiece
	ok := begin >= 0 && (begin < end || begin == end && last) && end <= int64(c.size)*r.Size && begin/record.Chunk == max(begin, end-1)/record.Chunk &&
		r.Dst == 0 && r.Count == c.size && !r.Each && int64(r.Src) == begin/r.Size && in.toward != Up
	for i := r.Src; ok && c.dir == nil && i <= int((end-1)/r.Size); i++ {
		toward := n.toward(c, i)
		ok = (toward == in.toward || toward == Nowhere) && (in.ep == nil || i == r.Src)
	}
	if !ok {
		return fmt.Errorf("%d bytes at %d from member %d are no part of an allgather of %d bytes", len(r.Body), r.Off, r.Src, r.Size)
	}
	o := n.op(c, r.Seq)
	j := begin / record.Chunk
	p := n.portion(o, r.Size, j)
	if end > begin {
		p.stretches = append(p.stretches, stretch{begin, bytes.Clone(r.Body)})
	}
	p.bytes += end - begin
	o.waiting += len(r.Body)
	if c.dir == nil || in.ep != nil {
		p.want -= end - begin
	}
	if last {
		p.open--
	}
	n.pieceDone(o, r.Size, j)
	return nil
}

// portion finds the portion of a piece, or begins one.
func (n *Node) portion(o *op, size, j int64) *portion {
	p := o.portions[j]
	if p == nil {
		if o.portions == nil {
			o.portions = map[int64]*portion{}
		}
		p = &portion{want: n.pieceBytes(o.comm, size, j)}
		if o.comm.dir != nil {
			p.open = o.comm.below
		}
		o.portions[j] = p
	}
	return p
}

// pieceDone sends a piece on once nothing of it is missing.
func (n *Node) pieceDone(o *op, size, j int64) {
	if p := o.portions[j]; p.want <= 0 && p.open <= 0 {
		delete(o.portions, j)
		o.waiting -= int(p.bytes)
		n.forwardPiece(o, size, j, p)
		n.settleOp(o)
	}
}

// expectPiece hears that a piece is wanted, where there is a table.
func (n *Node) expectPiece(c *comm, r *record.Record) error {
	size, used := binary.Uvarint(r.Body)
	if used <= 0 || size == 0 || size > maxBytes/uint64(c.size) || r.Off < 0 || r.Off >= int64(c.size)*int64(size) {
		return fmt.Errorf("a wish for piece %d of an allgather of %d bytes", r.Off/record.Chunk, size)
	}
	if !c.dead(r.Seq) && inPieces(record.AllGather, c.size, int64(size)) {
		o := n.op(c, r.Seq)
		n.portion(o, int64(size), r.Off/record.Chunk)
		n.pieceDone(o, int64(size), r.Off/record.Chunk)
	}
	return nil
}

// pieceBytes counts the bytes of a piece that come by here on their way up; where there
// is a table, those of local members.
func (n *Node) pieceBytes(c *comm, size, j int64) (sum int64) {
	begin := j * record.Chunk
	end := min(begin+record.Chunk, int64(c.size)*size)
	if c.dir != nil {
		for _, s := range c.order {
			i := int64(s.rank)
			sum += max(0, min(end, (i+1)*size)-max(begin, i*size))
		}
		return sum
	}
	for i := begin / size; i <= (end-1)/size; i++ {
		if n.toward(c, int(i)) != Up {
			sum += min(end, (i+1)*size) - max(begin, i*size)
		}
	}
	return sum
}

// forwardPiece sends a portion on: up, or, where everyone is below, to everyone.
func (n *Node) forwardPiece(o *op, size, j int64, p *portion) {
	c := o.comm
	slices.SortFunc(p.stretches, func(a, b stretch) int { return cmp.Compare(a.off, b.off) })
	list := p.stretches
	if len(list) == 0 {
		list = []stretch{{off: j * record.Chunk}} // that there is nothing
	}
	for len(list) > 0 {
		whole := list[0]
		i := 1
		for ; i < len(list) && list[i].off == whole.off+int64(len(whole.body)); i++ {
			whole.body = append(whole.body, list[i].body...)
		}
		list = list[i:]
		r := record.Record{Kind: record.Data, Op: record.AllGather, Comm: c.id, Seq: o.seq, Src: int(whole.off / size),
			Count: c.size, Off: whole.off, Size: size, Body: whole.body}
		if c.above {
			if c.dir != nil && len(list) == 0 {
				r.Fn = lastOfPiece
			}
			n.enqueue(Up, record.Append(nil, &r))
		} else {
			r.Src = c.size
			n.send(&r)
		}
	}
}
