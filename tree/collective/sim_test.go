package collective_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// sim is a whole tree with its endpoints: links and sockets are FIFO queues,
// from which it delivers in any order.
type sim struct {
	rng   *rand.Rand
	ranks int
	nodes []*simNode
	ends  []*simEnd // ranks, then agents

	busy []*queue // those that hold something

	tasks   []func() // next steps of programs, each when its turn comes
	faults  []error
	flushes int
	most    int // largest Held of any node
	toRoot  int // bytes that came to the root over its links
	offRoot int // bytes that the root sent
}

type simNode struct {
	*collective.Node
	index, parent int
	slot          collective.Direction // at the parent
	children      []int
	below         []job.HostIndex
	up, down      *queue // to the parent; from the parent
	dead          bool
}

type simEnd struct {
	id, node int
	*member.Session
	in, out *queue // to the program, from it
	quit    bool
	raw     bool            // the program has no library, but a record for each of
	heard   []record.Record // records it was told
	asked   []int           // the members that it has asked for, by request
}

// queue is one direction of a link or a socket.
type queue struct {
	at      int // in sim.busy, or -1
	puts    int // items that there were
	items   [][]byte
	deliver func(item []byte) bool // false: not now
}

// newSim grows a tree of nodes; place gives each rank its node.
func newSim(rng *rand.Rand, nodes, degree int, place []int) *sim {
	return newSimCosts(rng, nodes, degree, place, nil)
}

// newSimCosts is newSim with splits planned by other costs.
func newSimCosts(rng *rand.Rand, nodes, degree int, place []int, costs func(int) commsplit.Costs) *sim {
	s := &sim{rng: rng, ranks: len(place)}
	var grow func(list []job.HostIndex, parent int, slot collective.Direction)
	grow = func(list []job.HostIndex, parent int, slot collective.Direction) {
		n := &simNode{index: len(s.nodes), parent: parent, slot: slot, below: list}
		s.nodes = append(s.nodes, n)
		for i, part := range tree.Split(list[1:], degree) {
			n.children = append(n.children, len(s.nodes))
			grow(part, n.index, collective.Direction(i))
		}
	}
	all := make([]job.HostIndex, nodes)
	for i := range all {
		all[i] = job.HostIndex(i)
	}
	grow(all, -1, 0)
	var out collective.Effects
	for _, n := range s.nodes {
		where := make([]collective.Direction, nodes) // of nodes
		for i := range where {
			where[i] = collective.Up
		}
		where[n.index] = collective.Local
		for i, c := range n.children {
			for _, h := range s.nodes[c].below {
				where[h] = collective.Direction(i)
			}
		}
		towards := make([]collective.Direction, 0, len(place)+nodes)
		for _, at := range place {
			towards = append(towards, where[at])
		}
		var err error
		n.Node, err = collective.New(collective.Config{Ranks: len(place), Directions: collective.Runs(append(towards, where...)...), Node: func(rank int) int { return place[rank] }, Costs: costs, Children: len(n.children), Root: n.parent < 0})
		if err != nil {
			panic(err)
		}
		if n.parent >= 0 {
			p := s.nodes[n.parent]
			n.up = s.queue(func(b []byte) bool {
				if !p.dead {
					if p.parent < 0 {
						s.toRoot += len(b)
					}
					p.Receive(n.slot, b)
					s.flush(p, &out)
				}
				return true
			})
			n.down = s.queue(func(b []byte) bool {
				if !n.dead {
					n.Receive(collective.Up, b)
					s.flush(n, &out)
				}
				return true
			})
		}
	}
	for id := range len(place) + nodes {
		e := &simEnd{id: id, node: id - len(place)}
		if id < len(place) {
			e.node = place[id]
		}
		e.Session = member.New(min(id, len(place)), len(place), e.node, nodes)
		n := s.nodes[e.node]
		e.in = s.queue(func(b []byte) bool {
			if e.raw {
				e.heard = append(e.heard, parsed(b)...)
			} else if err := e.Receive(b); err != nil {
				s.faults = append(s.faults, err)
			}
			n.Wrote(e.id, len(b))
			s.flush(n, &out)
			s.drain(e)
			return true
		})
		e.out = s.queue(func(b []byte) bool {
			if !n.Room(e.id) {
				return false
			}
			n.Request(e.id, b)
			s.flush(n, &out)
			return true
		})
		s.ends = append(s.ends, e)
	}
	return s
}

func (s *sim) queue(deliver func([]byte) bool) *queue { return &queue{at: -1, deliver: deliver} }

func (s *sim) put(q *queue, item []byte) {
	q.puts++
	q.items = append(q.items, item)
	if q.at < 0 {
		q.at = len(s.busy)
		s.busy = append(s.busy, q)
	}
}

// flush carries out what a node wants.
func (s *sim) flush(n *simNode, out *collective.Effects) {
	out.Reset()
	n.Flush(out)
	for _, f := range out.Frames {
		if n.parent < 0 {
			s.offRoot += len(f.Bytes)
		}
		if f.To == collective.Up {
			s.put(n.up, f.Bytes)
		} else {
			s.put(s.nodes[n.children[f.To]].down, f.Bytes)
		}
	}
	for _, d := range out.Deliveries {
		s.put(s.ends[d.Endpoint].in, d.Bytes)
	}
	for _, f := range out.Faults {
		s.faults = append(s.faults, fmt.Errorf("node %d: from %d: %w", n.index, f.From, f.Err))
	}
	if s.flushes++; len(s.nodes) < 200 || s.flushes%32 == 0 { // looking takes time
		s.most = max(s.most, n.Held())
	}
}

// drain takes what a program says.
func (s *sim) drain(e *simEnd) {
	b := e.Take()
	for len(b) > 0 && !e.quit {
		raw, rest, err := record.Frame(b)
		if err != nil || raw == nil {
			panic(fmt.Sprintf("half a record: %v", err))
		}
		s.put(e.out, raw)
		b = rest
	}
}

// do lets a program act when its turn comes.
func (s *sim) do(e *simEnd, f func()) {
	s.tasks = append(s.tasks, func() {
		if !e.quit {
			f()
			s.drain(e)
		}
	})
}

// step does one thing, if there is one.
func (s *sim) step() bool {
	if t := len(s.tasks); t > 0 && s.rng.IntN(t+len(s.busy)) < t {
		i := s.rng.IntN(t)
		f := s.tasks[i]
		s.tasks[i] = s.tasks[t-1]
		s.tasks = s.tasks[:t-1]
		f()
		return true
	}
	if len(s.busy) == 0 {
		return false
	}
	first := s.rng.IntN(len(s.busy))
	for i := range s.busy {
		q := s.busy[(first+i)%len(s.busy)]
		if !q.deliver(q.items[0]) {
			continue
		}
		q.items[0] = nil
		if q.items = q.items[1:]; len(q.items) == 0 {
			q.items = nil
			last := len(s.busy) - 1
			s.busy[q.at] = s.busy[last]
			s.busy[q.at].at = q.at
			s.busy = s.busy[:last]
			q.at = -1
		}
		return true
	}
	return false
}

// run goes on until nothing is left to do.
func (s *sim) run() {
	for s.step() {
	}
}

// kill ends a node and all below it, at once: records on its links are lost.
func (s *sim) kill(victim int) {
	n := s.nodes[victim]
	for _, h := range n.below {
		s.nodes[h].dead = true
	}
	drop := func(q *queue) {
		for i := range q.items {
			q.items[i] = nil
		}
		q.items = q.items[:0]
		if q.at >= 0 {
			last := len(s.busy) - 1
			s.busy[q.at] = s.busy[last]
			s.busy[q.at].at = q.at
			s.busy = s.busy[:last]
			q.at = -1
		}
	}
	drop(n.up)
	drop(n.down)
	for _, e := range s.ends {
		if s.nodes[e.node].dead {
			drop(e.in)
			drop(e.out)
			e.out.deliver = func([]byte) bool { return true }
			e.in.deliver = func([]byte) bool { return true }
		}
	}
	p := s.nodes[n.parent]
	var out collective.Effects
	p.Lost(n.slot, fmt.Sprintf("node %d is lost", victim))
	s.flush(p, &out)
}

// leave ends an endpoint's program: its earlier records are still heard.
func (s *sim) leave(e *simEnd, why string) {
	n, say := s.nodes[e.node], e.out.deliver
	e.quit = true
	e.in.deliver = func([]byte) bool { return true }
	var out collective.Effects
	e.out.deliver = func(b []byte) bool {
		switch {
		case b != nil:
			return say(b)
		case !n.Room(e.id):
			return false
		}
		n.Leave(e.id, why)
		s.flush(n, &out)
		return true
	}
	s.put(e.out, nil)
}
