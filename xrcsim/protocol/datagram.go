package protocol

import "time"

// datagram sends one, which may get lost, come twice, or late. arrive runs on its
// arrival.
func (w *World) datagram(from, to *processState, bytes int, arrive func()) {
	w.Datagrams++
	w.nodes[from.node].touched[from.datagram] = true
	sent := w.occupy(from.node, bytes)
	if w.chance(w.Loss) {
		w.Lost++
		return
	}
	copies := 1
	if w.chance(w.Duplicate) {
		copies = 2
	}
	for range copies {
		late := time.Duration(0)
		if w.chance(w.Reorder) {
			late = time.Duration(w.draw() % uint64(20*w.Latency+1))
		}
		w.At(sent+w.Latency+late, func() {
			w.nodes[to.node].touched[to.datagram] = true
			arrive()
		})
	}
}

// repeat sends a datagram, and again after each timeout until it is of no more use.
func (w *World) repeat(from, to *processState, bytes int, use func() bool, arrive func()) {
	w.datagram(from, to, bytes, arrive)
	w.after(w.Timeout, func() {
		if use() {
			w.Repeated++
			w.repeat(from, to, bytes, use, arrive)
		}
	})
}

// sendParts sends a message without a connection, in datagrams of at most MTU bytes.
// Each is sent until it is acknowledged; the receiver puts them in order and leaves out
// duplicates.
func (w *World) sendParts(l *link, m *message) {
	for left := m.Bytes; ; left -= w.MTU {
		bytes, last := min(left, w.MTU), left <= w.MTU
		part := &part{link: l, seq: l.seq, bytes: bytes}
		if last {
			part.message = m
		}
		l.seq++
		l.unheard++
		l.from.busy = max(l.from.busy, w.now) + w.Post
		w.At(l.from.busy, func() {
			w.repeat(l.from, l.to, bytes, func() bool { return !part.heard }, func() { w.arrivePart(part) })
		})
		if last {
			return
		}
	}
}

// part is a datagram with a message, or a part of one.
type part struct {
	link    *link
	seq     int
	bytes   int
	message *message // of the last part
	heard   bool
}

func (w *World) arrivePart(d *part) {
	l := d.link
	if l.to.state != gone { // a process that has gone has got all: only the acknowledgment is missing
		if l.to.buffers == 0 {
			w.Dropped++
			return
		}
		w.takeBuffer(l.to)
		w.accept(l, d.seq, d.message)
	}
	w.datagram(l.to, l.from, 0, func() {
		if !d.heard {
			d.heard = true
			l.unheard--
		}
	})
}
