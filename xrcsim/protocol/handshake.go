package protocol

import "github.com/golaunch/golaunch/xrcsim"

// A handshake is datagrams between two processes, each of which may get lost:
//
//	request  by the number of a queue pair, and over XRC that of the receive-only
//	         one to join, 0 to make one
//	reply    with the number of the other end; the shared receive queue of the peer
//	         goes by the peer's own number
//	confirm  RC: now the one that has replied may send, too
//	refusal  XRC: the receive-only queue pair is no more, or the peer leaves
//
// Requests are repeated until there is an answer, replies of RC until they are
// confirmed. Duplicates are answered again and change nothing.

// ask sends a request for a link that has its queue pair.
func (w *World) ask(l *link) {
	q := l.pair
	l.state = asking
	target := 0
	if l.indirect {
		target = q.target
	}
	w.repeat(l.from, l.to, 0,
		func() bool { return l.state == asking && l.pair == q },
		func() { w.takeRequest(l.to, l.from, q.number, target) })
}

// takeRequest is the arrival of a request at p.
func (w *World) takeRequest(p, from *processState, number, target int) {
	switch {
	case p.left[from.id]: // late, or come twice
	case p.state == closing || p.state == gone:
		w.datagram(p, from, 0, func() { w.refused(from, p, number, true) })
	case w.Transport == xrcsim.XRC:
		w.register(p, from, number, target)
	default:
		w.answer(w.link(p, from), number)
	}
}

// register is the answer of XRC: the receive-only queue pair is made, or joined.
func (w *World) register(p, from *processState, number, target int) {
	kernel := w.nodes[p.node]
	end := kernel.receiveOnly[p.registered[from.id]]
	if end == nil || end.other != number {
		if target == 0 {
			end = &receiveOnly{number: w.newNumber(), other: number, domain: p.domain}
			kernel.receiveOnly[end.number] = end
		} else {
			end = kernel.receiveOnly[target]
		}
		if end == nil {
			w.Refused++
			w.datagram(p, from, 0, func() { w.refused(from, p, number, false) })
			return
		}
		p.registered[from.id] = end.number
		end.users++
	}
	target = end.number
	w.datagram(p, from, 0, func() { w.replied(from, p, number, target) })
}

// answer is that of RC. Where both ends have asked at once the one with the higher
// number answers, by the queue pair that it has, and the other waits for that.
func (w *World) answer(l *link, number int) {
	switch l.state {
	case asking:
		if l.from.id < l.to.id {
			return
		}
		w.Races++
	case idle:
		w.use(l, w.newPair(l, place{l.to.node, l.to.domain}))
	case ready:
		if l.answered {
			w.reply(l, number)
		}
		return
	case answering:
		return // the reply is repeated as it is
	}
	l.state, l.answered = answering, true
	l.pair.target = number
	own := l.pair.number
	w.repeat(l.from, l.to, 0,
		func() bool { return l.state == answering },
		func() { w.replied(l.to, l.from, number, own) })
}

// reply answers once more.
func (w *World) reply(l *link, number int) {
	own := l.pair.number
	w.datagram(l.from, l.to, 0, func() { w.replied(l.to, l.from, number, own) })
}

// replied is the arrival of a reply at p, to the request of its queue pair number.
func (w *World) replied(p, from *processState, number, target int) {
	l := p.links[from.id]
	if l == nil || l.pair == nil || l.pair.number != number {
		return
	}
	first := l.state == asking
	if first {
		if l.pair.target == 0 {
			l.pair.target = target
		}
		w.ready(l)
	}
	if w.Transport != xrcsim.XRC && l.state == ready {
		w.datagram(p, from, 0, func() {
			if back := from.links[p.id]; back != nil && back.state == answering {
				w.ready(back)
			}
		})
	}
}

// refused is the arrival of a refusal at p: the peer leaves, or the receive-only
// queue pair is no more.
func (w *World) refused(p, from *processState, number int, leaves bool) {
	l := p.links[from.id]
	if l == nil || l.pair == nil || l.pair.number != number || l.state != asking {
		return
	}
	q := l.pair
	if !leaves {
		w.restart(q)
		return
	}
	p.left[from.id] = true
	w.drop(l)
	if q.target == 0 && !q.dead { // others wait for the connection that was refused
		w.restart(q)
	}
}
