package member

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// window holds requests of one kind of a session: as many under way as the agent
// takes, the others behind them.
type window struct {
	most  int
	live  map[uint64]*Request
	queue []*Request
	issue func(*Request)
}

func (w *window) add(q *Request) {
	w.queue = append(w.queue, q)
	w.goOn()
}

func (w *window) goOn() {
	for len(w.queue) > 0 && len(w.live) < w.most {
		q := w.queue[0]
		w.queue = w.queue[1:]
		if w.live == nil {
			w.live = map[uint64]*Request{}
		}
		w.live[q.seq] = q
		w.issue(q)
	}
}

func (w *window) end(seq uint64, err error) {
	if q := w.live[seq]; q != nil {
		delete(w.live, seq)
		w.goOn()
		q.finish(err)
	}
}

func (w *window) fail(err error) {
	for _, q := range w.live {
		q.finish(err)
	}
	for _, q := range w.queue {
		q.finish(err)
	}
	w.live, w.queue = nil, nil
}

// Send sends data to member dst, with a tag of 0 to record.MaxTag. It is done when
// the other side has it, or has room for it.
func (c *Comm) Send(dst int, tag int64, data []byte) *Request {
	if err := tagError(tag); err != nil {
		return refused("%w", err)
	}
	return c.send(dst, tag, data)
}

// send is Send with any tag.
func (c *Comm) send(dst int, tag int64, data []byte) *Request {
	q := &Request{comm: c, root: dst, tag: tag, send: data, size: int64(len(data))}
	if err := errors.Join(c.check(dst), c.session.err); err != nil {
		q.finish(err)
		return q
	}
	c.session.number++
	q.seq = c.session.number
	q.opens()
	c.session.sends.add(q)
	return q
}

// Recv gets a message of member src, or record.Any, with a tag, or record.Any,
// into buf.
func (c *Comm) Recv(src int, tag int64, buf []byte) *Request {
	if err := tagError(tag); err != nil && tag != record.Any {
		return refused("%w", err)
	}
	return c.recv(src, tag, buf)
}

// recv is Recv with any tag.
func (c *Comm) recv(src int, tag int64, buf []byte) *Request {
	q := &Request{comm: c, src: src, tag: tag, recv: buf}
	if src == record.Any {
		src = 0
	}
	if err := errors.Join(c.check(src), c.session.err); err != nil {
		q.finish(err)
		return q
	}
	c.session.number++
	q.seq = c.session.number
	q.opens()
	c.session.recvs.add(q)
	return q
}

// tagError is why a program may not use a tag. Larger ones are the library's own.
func tagError(tag int64) error {
	if tag < 0 || tag > record.MaxTag {
		return fmt.Errorf("tag %d, which is not in 0 to %d", tag, record.MaxTag)
	}
	return nil
}

func (s *Session) issueSend(q *Request) {
	r := record.Record{Kind: record.Send, Comm: q.comm.id, Seq: q.seq, Src: q.comm.rank, Dst: q.root, Count: 1, Off: q.tag, Size: q.size}
	if q.size <= record.Chunk {
		r.Body = q.send
	}
	s.put(&r)
}

func (s *Session) issueRecv(q *Request) {
	s.put(&record.Record{Kind: record.Recv, Comm: q.comm.id, Seq: q.seq, Src: q.src, Off: q.tag, Size: int64(len(q.recv))})
}

// takeMessage takes news of a message.
func (s *Session) takeMessage(r *record.Record) error {
	if r.Kind == record.SendPull || r.Kind == record.Taken {
		q := s.sends.live[r.Seq]
		switch {
		case q == nil:
			return errUnexpected
		case r.Kind == record.Taken:
			s.sends.end(r.Seq, nil)
			return nil
		case r.Off < 0 || r.Size > record.Chunk || r.Off > q.size-r.Size:
			return fmt.Errorf("a wish for %d bytes at %d of %d", r.Size, r.Off, q.size)
		}
		s.put(&record.Record{Kind: record.SendData, Comm: r.Comm, Seq: r.Seq, Src: q.comm.rank, Dst: r.Src, Count: 1, Off: r.Off,
			Body: q.send[r.Off : r.Off+r.Size]})
		return nil
	}
	q := s.recvs.live[r.Seq]
	if q == nil {
		return errUnexpected
	}
	if r.Kind == record.Match {
		if r.Size > int64(len(q.recv)) || int64(len(r.Body)) > r.Size {
			return errUnexpected
		}
		q.src, q.tag, q.got, q.left = r.Src, r.Off, r.Size, r.Size
		copy(q.recv, r.Body)
		q.left -= int64(len(r.Body))
	} else {
		if r.Off < 0 || int64(len(r.Body)) > q.left || r.Off > q.got-int64(len(r.Body)) {
			return errUnexpected
		}
		copy(q.recv[r.Off:], r.Body)
		q.left -= int64(len(r.Body))
	}
	if q.left == 0 {
		s.recvs.end(r.Seq, nil)
	}
	return nil
}
