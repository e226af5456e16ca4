package collective

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// A long AllGather of many small parts is asked for piece by piece, each of which
// has parts of many members. They are collected on their way up and sent to
// everyone together, as those of a short one are.

// smallPart is how long the parts of a long AllGather may be for that.
const smallPart = record.Chunk / 4

// stretch is some of the bytes of a piece of an AllGather's result.
type stretch struct {
	off  int64
	body []byte
}

// portion is what is collected of a piece.
type portion struct {
	want, bytes int64
	stretches   []stretch
}

// inPieces tells whether data of an operation are collected by the piece.
func inPieces(op record.Op, members int, size int64) bool {
	return op == record.AllGather && members > 1 && size > 0 && size <= smallPart && !record.Eager(op, members, size)
}

// collectPiece takes data of a long AllGather one step on.
func (n *Node) collectPiece(in *input, c *comm, r *record.Record) error {
	begin, end := r.Off, r.Off+int64(len(r.Body))
	ok := begin >= 0 && begin < end && end <= int64(c.size)*r.Size && begin/record.Chunk == (end-1)/record.Chunk &&
		r.Dst == 0 && r.Count == c.size && !r.Each && int64(r.Src) == begin/r.Size && in.hop != Up
	last := int((end - 1) / r.Size)
	for i := r.Src; ok && i <= last; i++ {
		hop := n.hop(c, i)
		ok = (hop == in.hop || hop == Nowhere) && (in.ep == nil || i == r.Src)
	}
	if !ok {
		return fmt.Errorf("%d bytes at %d from member %d are no part of an allgather of %d bytes", len(r.Body), r.Off, r.Src, r.Size)
	}
	o := n.op(c, r.Seq)
	if o.portions == nil {
		o.portions = map[int64]*portion{}
	}
	j := begin / record.Chunk
	p := o.portions[j]
	if p == nil {
		p = &portion{want: n.inPiece(c, r.Size, j)}
		o.portions[j] = p
	}
	p.stretches = append(p.stretches, stretch{begin, bytes.Clone(r.Body)})
	p.bytes += end - begin
	o.waiting += len(r.Body)
	if p.bytes >= p.want {
		delete(o.portions, j)
		o.waiting -= int(p.bytes)
		n.forwardPiece(o, r.Size, p)
		n.settleOp(o)
	}
	return nil
}

// inPiece is how many bytes of a piece come by here on their way up.
func (n *Node) inPiece(c *comm, size, j int64) (sum int64) {
	begin := j * record.Chunk
	end := min(begin+record.Chunk, int64(c.size)*size)
	for i := begin / size; i <= (end-1)/size; i++ {
		if n.hop(c, int(i)) != Up {
			sum += min(end, (i+1)*size) - max(begin, i*size)
		}
	}
	return sum
}

// forwardPiece sends what is collected on: up, or, where everyone is below, to
// everyone.
func (n *Node) forwardPiece(o *op, size int64, p *portion) {
	c := o.comm
	slices.SortFunc(p.stretches, func(a, b stretch) int { return cmp.Compare(a.off, b.off) })
	for list := p.stretches; len(list) > 0; {
		whole := list[0]
		i := 1
		for ; i < len(list) && list[i].off == whole.off+int64(len(whole.body)); i++ {
			whole.body = append(whole.body, list[i].body...)
		}
		list = list[i:]
		r := record.Record{Kind: record.Data, Op: record.AllGather, Comm: c.id, Seq: o.seq, Src: int(whole.off / size),
			Count: c.size, Off: whole.off, Size: size, Body: whole.body}
		if c.above {
			n.enqueue(Up, record.Append(nil, &r))
		} else {
			r.Src = c.size
			n.send(&r)
		}
	}
}
