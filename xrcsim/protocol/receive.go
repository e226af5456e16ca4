package protocol

import "github.com/golaunch/golaunch/xrcsim"

// stream puts the messages of one process for another into the order in which they were
// sent.
type stream struct {
	next  int // that comes next
	early map[int]*message
}

// arrive has the adapter of the receiver handle a send: it takes a buffer of the shared
// receive queue that the send names, and puts the data there. Without a buffer nothing
// that follows is taken either, and all of it is sent again.
func (w *World) arrive(q *queuePair, k *work) {
	if q.dead || k.number != q.await {
		return
	}
	to := k.link.to
	if !w.receives(q, to) {
		w.Misplaced++
		return
	}
	if to.buffers == 0 {
		w.NotReady++
		q.again = true
		w.after(w.Costs.NotReady, func() {
			q.again = false
			for _, k := range q.flight {
				if k.number >= q.await {
					w.transmit(q, k)
				}
			}
			w.post(q)
		})
		return
	}
	q.await++
	w.takeBuffer(to)
	for _, m := range k.messages {
		w.accept(k.link, m.seq, m)
	}
	if l := to.links[q.owner.id]; l != nil && l.state == answering && w.Transport != xrcsim.XRC {
		w.ready(l) // the first data confirm the connection, too
	}
	w.after(w.Latency, func() { w.acknowledge(q, k) })
}

// receives says whether a process can be reached by a queue pair.
func (w *World) receives(q *queuePair, to *processState) bool {
	if to.state == gone {
		return false
	}
	if w.Transport != xrcsim.XRC {
		return to.pairs[q.target] != nil
	}
	end := w.nodes[to.node].receiveOnly[q.target]
	return end != nil && end.other == q.number && end.domain == to.domain && to.registered[q.owner.id] == end.number
}

// takeBuffer takes a receive buffer, which is posted again once it was read.
func (w *World) takeBuffer(p *processState) {
	p.buffers--
	w.after(w.Receive, func() { p.buffers++ })
}

// accept takes a message, or with nil a part of one that is not its last, at its place
// in the stream, and delivers complete messages. It does nothing with duplicates.
func (w *World) accept(l *link, seq int, m *message) {
	to := l.to
	s := to.streams[l.from.id]
	if s == nil {
		s = &stream{early: map[int]*message{}}
		to.streams[l.from.id] = s
	}
	if _, twice := s.early[seq]; twice || seq < s.next {
		return
	}
	if seq > s.next {
		w.OutOfOrder++
	}
	s.early[seq] = m
	for {
		m, ok := s.early[s.next]
		if !ok {
			return
		}
		delete(s.early, s.next)
		s.next++
		if m != nil {
			m.Delivered = w.now
			w.Delivered = append(w.Delivered, m.Message)
			to.coming--
		}
	}
}
