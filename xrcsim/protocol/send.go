package protocol

import (
	"time"

	"github.com/golaunch/golaunch/xrcsim"
)

// message is a message on its way.
type message struct {
	Message
	link *link
	seq  int // its place in the stream from sender to receiver
}

// link is a process's record of a peer.
type link struct {
	from, to *processState
	state    linkState
	pair     *queuePair // by which it sends; nil without a connection
	indirect bool       // the connection was made to another process of the peer's node
	answered bool       // RC: the peer asked, and this end answered
	waiting  []*message // until there is a connection
	seq      int        // of the next message or part
	messages int        // that were sent
	unheard  int        // datagrams with messages that were not acknowledged
}

// queuePair is one that sends. Over RC it is one end of a connection and receives,
// too; over XRC its other end is a receive-only one.
type queuePair struct {
	number  int
	owner   *processState
	to      place         // place it leads to
	peer    *processState // RC: its other end's owner; XRC: the one that was asked
	target  int           // the other end; 0 until it is known
	links   []*link       // that use it
	waiting []*message
	flight  []*work // posted and not acknowledged
	next    int     // number of the next work in its order
	await   int     // number of the work that the other end awaits
	again   bool    // the other end had no buffer: all is sent again, a little later
	dead    bool
}

// work is one send as the adapter sees it, a work queue entry: a message, or
// several small ones for one process.
type work struct {
	number   int
	link     *link
	messages []*message
	bytes    int
}

// send is figure 4.3: a message to a peer goes over the connection that there is,
// the peer's own or that to another process of its node, or waits for one.
func (w *World) send(l *link, m *message) {
	m.link = l
	if w.share(l.from, l.to) {
		m.seq = l.seq
		l.seq++
		w.after(w.Memory, func() { w.accept(l, m.seq, m) })
		return
	}
	l.messages++
	datagrams := w.Transport == xrcsim.UD || w.Transport == xrcsim.Hybrid && (l.messages <= w.First || l.state != ready)
	if w.Transport == xrcsim.Hybrid && l.messages > w.First && l.state == idle {
		w.connect(l)
	}
	if datagrams {
		w.sendParts(l, m)
		return
	}
	m.seq = l.seq
	l.seq++
	if l.state == ready {
		l.pair.waiting = append(l.pair.waiting, m)
		w.post(l.pair)
		return
	}
	l.waiting = append(l.waiting, m)
	if l.state == idle {
		w.connect(l)
	}
}

// post gives the adapter as many sends as the queue pair takes.
func (w *World) post(q *queuePair) {
	for len(q.waiting) > 0 && len(q.flight) < w.Depth && !q.again && !q.dead {
		k := &work{number: q.next, link: q.waiting[0].link}
		q.next++
		for len(q.waiting) > 0 {
			m := q.waiting[0]
			if m.link != k.link || len(k.messages) > 0 && (w.Coalesce == 0 || k.bytes+m.Bytes > w.Coalesce) {
				break
			}
			k.messages = append(k.messages, m)
			k.bytes += m.Bytes
			q.waiting = q.waiting[1:]
		}
		q.flight = append(q.flight, k)
		w.Sends++
		cost := w.Post
		if k.link.indirect {
			cost += w.Costs.Indirect
		}
		p := q.owner
		p.busy = max(p.busy, w.now) + cost
		w.At(p.busy, func() { w.transmit(q, k) })
	}
}

// transmit has the adapter send posted work, once it has sent all before.
func (w *World) transmit(q *queuePair, k *work) {
	w.At(w.occupy(q.owner.node, k.bytes)+w.Latency, func() { w.arrive(q, k) })
	w.nodes[q.owner.node].touched[q.number] = true
	w.nodes[q.to.node].touched[q.target] = true
}

// occupy returns when an adapter will have sent so many bytes more.
func (w *World) occupy(n, bytes int) time.Duration {
	a := w.nodes[n]
	a.free = max(a.free, w.now) + w.duration(bytes)
	return a.free
}

// duration returns the time that an adapter takes to send so many bytes.
func (w *World) duration(bytes int) time.Duration {
	return time.Duration(int64(bytes) * int64(time.Second) / w.Rate)
}

// acknowledge ends a send, and lets the next ones go.
func (w *World) acknowledge(q *queuePair, k *work) {
	if q.dead {
		return
	}
	q.flight = q.flight[1:] // this is k: acknowledgments come in order
	w.post(q)
}
