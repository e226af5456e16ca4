package protocol

import (
	"slices"

	"github.com/golaunch/golaunch/xrcsim"
)

// linkState is the progress of a process's connection to a peer.
type linkState int

const (
	idle      linkState = iota
	queued              // XRC: the connection to the node is being made
	asking              // a request is under way
	answering           // RC: the peer has asked, and its confirmation is under way
	ready
)

// link returns a process's record of a peer.
func (w *World) link(from, to *processState) *link {
	l := from.links[to.id]
	if l == nil {
		l = &link{from: from, to: to}
		from.links[to.id] = l
		from.met = append(from.met, l)
	}
	return l
}

// connect is figure 4.2: if the process has a connection to the peer's node, it is
// used for this peer, too; else one is made. Over RC each peer needs its own.
func (w *World) connect(l *link) {
	if l.state != idle || l.from.state >= closing || l.to.state == gone || l.from.left[l.to.id] {
		return
	}
	to := place{l.to.node, l.to.domain}
	if w.Transport != xrcsim.XRC {
		w.use(l, w.newPair(l, to))
		w.ask(l)
		return
	}
	q := l.from.hash[to]
	l.indirect = q != nil
	if q == nil {
		q = w.newPair(l, to)
		l.from.hash[to] = q
	}
	w.use(l, q)
	if l.indirect && q.target == 0 {
		l.state = queued
		return
	}
	w.ask(l)
}

// newPair makes a queue pair that leads to a peer, or its node.
func (w *World) newPair(l *link, to place) *queuePair {
	q := &queuePair{number: w.newNumber(), owner: l.from, to: to, peer: l.to}
	l.from.pairs[q.number] = q
	return q
}

func (w *World) use(l *link, q *queuePair) {
	l.pair = q
	q.links = append(q.links, l)
}

// ready lets the messages go that have waited for the connection, and over XRC asks
// those peers that have waited for it.
func (w *World) ready(l *link) {
	q := l.pair
	l.state = ready
	q.waiting = append(q.waiting, l.waiting...)
	l.waiting = nil
	w.post(q)
	if l.indirect {
		w.Indirect++
		return
	}
	if w.Transport == xrcsim.XRC || !l.answered {
		w.Direct++
	}
	for _, other := range q.links {
		if other.state == queued {
			w.ask(other)
		}
	}
}

// drop forgets the connection to a peer that has left. A queue pair that no other
// peer is reached by goes with it.
func (w *World) drop(l *link) {
	q := l.pair
	l.state, l.pair, l.indirect = idle, nil, false
	if q == nil {
		return
	}
	q.links = slices.DeleteFunc(q.links, func(x *link) bool { return x == l })
	if len(q.links) == 0 {
		w.destroy(q)
	}
}

// destroy ends a queue pair.
func (w *World) destroy(q *queuePair) {
	q.dead = true
	delete(q.owner.pairs, q.number)
	if q.owner.hash[q.to] == q {
		delete(q.owner.hash, q.to)
	}
}

// restart makes the connection of a queue pair anew, as its other end is no more:
// all links that it has connect once more, by figure 4.2.
func (w *World) restart(q *queuePair) {
	w.destroy(q)
	for _, l := range q.links {
		l.state, l.pair, l.indirect = idle, nil, false
	}
	for _, l := range q.links {
		w.connect(l)
	}
}
