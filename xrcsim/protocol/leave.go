package protocol

import (
	"maps"
	"slices"

	"github.com/golaunch/golaunch/xrcsim"
)

// Leave ends a process: it sends no more, and is sent no more; messages that are
// under way arrive first, as MPI's disconnect has it. Then it tells all that are
// connected to it, and is gone when these know.
func (w *World) Leave(id int) {
	p := w.procs[id]
	if p.state == running {
		p.state = leaving
		w.tryClose(p)
	}
}

// tryClose looks again and again whether anything is still under way.
func (w *World) tryClose(p *processState) {
	if w.busy(p) {
		w.after(w.Latency+1, func() { w.tryClose(p) })
		return
	}
	p.state = closing
	for _, l := range p.met {
		if l.state != idle {
			p.farewells[l.to.id] = true
		}
	}
	for from := range p.registered {
		p.farewells[from] = true
	}
	if len(p.farewells) == 0 {
		w.finish(p)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(p.farewells)) {
		q := w.procs[id]
		w.repeat(p, q, 0, func() bool { return p.farewells[id] }, func() { w.farewell(q, p) })
	}
}

// busy says whether messages or handshakes of a process are under way.
func (w *World) busy(p *processState) bool {
	if p.coming > 0 {
		return true
	}
	for _, l := range p.met {
		if l.state != idle && l.state != ready || len(l.waiting) > 0 || l.unheard > 0 {
			return true
		}
	}
	for _, q := range p.pairs {
		if len(q.waiting) > 0 || len(q.flight) > 0 {
			return true
		}
	}
	return false
}

// farewell has q react to the news that p leaves: it forgets its connection to p,
// unregisters from the queue pair by which p sent to it, and says so.
func (w *World) farewell(q, p *processState) {
	if !q.left[p.id] && q.state != gone {
		q.left[p.id] = true
		if l := q.links[p.id]; l != nil {
			pair := l.pair
			unmade := pair != nil && pair.target == 0 && !l.indirect
			w.drop(l)
			if unmade && !pair.dead {
				w.restart(pair)
			}
		}
		w.unregister(q, p.id)
	}
	w.datagram(q, p, 0, func() {
		delete(p.farewells, q.id)
		if len(p.farewells) == 0 && p.state == closing {
			w.finish(p)
		}
	})
}

// unregister ends the use of the receive-only queue pair by which a process sends
// to p. The kernel deletes it with its last user [Sridhar 4.3.2].
func (w *World) unregister(p *processState, from int) {
	number, ok := p.registered[from]
	if !ok {
		return
	}
	delete(p.registered, from)
	kernel := w.nodes[p.node]
	end := kernel.receiveOnly[number]
	if end.users--; end.users == 0 {
		delete(kernel.receiveOnly, number)
	}
}

// finish ends a process: the rest of its queue pairs goes.
func (w *World) finish(p *processState) {
	p.state = gone
	if w.Transport == xrcsim.XRC {
		for _, from := range slices.Sorted(maps.Keys(p.registered)) {
			w.unregister(p, from)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(p.pairs)) {
		w.destroy(p.pairs[number])
	}
	for _, l := range p.met {
		l.state, l.pair = idle, nil
	}
}
