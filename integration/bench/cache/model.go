package cache

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/event"
	"github.com/golaunch/golaunch/internal/job"
)

// costs are the delays of the model. An agent does one thing at a time, in order of
// arrival; every client has a core of its own.
type costs struct {
	hop     time.Duration // over one link, from the end of sending
	request time.Duration // an agent's work on a put, get or fence, with its reply
	receive time.Duration // an agent's work on a message, to handle or to pass on
	send    time.Duration // an agent's work on sending one
	reply   time.Duration // an agent's work on a reply that had to wait
	think   time.Duration // a client's work between a reply and its next request
	byte    time.Duration // a byte on a link, whose sender sends nothing else meanwhile
}

// usual are the costs of the model but for the hop, which is varied: the agent's on a
// processor of today, and Gigabit Ethernet as in [Sridhar].
var usual = costs{
	request: 12 * time.Microsecond, receive: 12 * time.Microsecond, send: 6 * time.Microsecond,
	reply: 5 * time.Microsecond, think: 5 * time.Microsecond, byte: time.Nanosecond,
}

// exchange is the work of the clients: each puts one value, enters the fence, and gets
// the values of the ranks that peers lists for it, one after another.
type exchange struct {
	shape  shape
	policy cache.Policy
	budget int // cache.Config.Budget
	value  int // bytes
	peers  func(rank, ranks int) []int
}

// ring returns the peers of a 1:2 exchange: both neighbours.
func ring(rank, ranks int) []int { return []int{(rank + 1) % ranks, (rank + ranks - 1) % ranks} }

// everyone returns the peers of a 1:p exchange, in the order of ranks as MPI libraries
// ask for them.
func everyone(_, ranks int) []int {
	peers := make([]int, ranks)
	for i := range peers {
		peers[i] = i
	}
	return peers
}

// outcome has the times of an exchange.
type outcome struct {
	fence  time.Duration // until the last rank has left the fence
	gets   time.Duration // from then on, until the last rank has its last value
	misses uint64        // gets for which another node was asked
	most   int           // bytes held by the fullest node
}

func (o outcome) whole() time.Duration { return o.fence + o.gets }

func keyOf(round, rank int) string { return fmt.Sprintf("P%d-businesscard-%d", rank, round) }

// sim is one run of the model.
type sim struct {
	exchange
	costs
	queue  event.Queue
	nodes  []simNode
	ranks  []simRank
	value  []byte
	fenced time.Duration
	ended  time.Duration
	err    error
}

type simNode struct {
	board    cache.Board
	parent   int
	slot     cache.Peer
	children []int
	first    int           // its first rank
	free     time.Duration // when the agent has nothing more to do
	wire     time.Duration // when its links have nothing more to send
	out      cache.Effects
}

type simRank struct {
	node  int
	peers []int
	next  int // of peers
}

// run carries one exchange out.
func run(x exchange, c costs) (outcome, error) {
	s := &sim{exchange: x, costs: c, value: make([]byte, x.value)}
	if err := s.build(); err != nil {
		return outcome{}, err
	}
	for r := range s.ranks {
		s.queue.After(0, func() { s.request(r, s.put) })
	}
	for s.err == nil && s.queue.Step() {
	}
	o := outcome{fence: s.fenced, gets: s.ended - s.fenced}
	for i := range s.nodes {
		stats := s.nodes[i].board.Stats()
		o.misses += stats.Misses
		o.most = max(o.most, stats.Resident)
	}
	return o, s.err
}

func (s *sim) build() error {
	for i, parent := range s.shape.parent {
		n := simNode{parent: parent, first: len(s.ranks)}
		if parent >= 0 {
			n.slot = cache.Peer(len(s.nodes[parent].children))
			s.nodes[parent].children = append(s.nodes[parent].children, i)
		}
		s.nodes = append(s.nodes, n)
		for range s.shape.ranks {
			s.ranks = append(s.ranks, simRank{node: i})
		}
	}
	for r := range s.ranks {
		s.ranks[r].peers = s.peers(r, len(s.ranks))
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		var err error
		n.board, err = cache.New(cache.Config{
			Policy: s.policy, Root: i == 0, Children: len(n.children), LocalRanks: s.shape.ranks, Size: len(s.ranks),
			World: "world", Nodes: len(s.nodes), Node: job.NodeID(i), Budget: s.budget,
		})
		if err != nil {
			return err
		}
		if err := n.board.Start(&n.out); err != nil {
			return err
		}
		s.carryOut(i)
	}
	return nil
}

// work has the agent of a node do something that takes it d, after its work so far, and
// carries out the consequences.
func (s *sim) work(node int, d time.Duration, do func(*simNode) error) {
	n := &s.nodes[node]
	n.free = max(n.free, s.queue.Now()) + d
	if err := do(n); err != nil {
		s.err = err
		return
	}
	s.carryOut(node)
}

// request has a rank's request arrive at its agent.
func (s *sim) request(rank int, do func(rank int, n *simNode) error) {
	s.work(s.ranks[rank].node, s.costs.request, func(n *simNode) error { return do(rank, n) })
}

func (s *sim) put(rank int, n *simNode) error {
	s.answered(n, rank, s.enter)
	return n.board.Put([]byte(keyOf(0, rank)), s.value, &n.out)
}

func (s *sim) enter(_ int, n *simNode) error { return n.board.Enter(&n.out) }

func (s *sim) get(rank int, n *simNode) error {
	r := &s.ranks[rank]
	n.board.Get(uint64(rank), []byte(keyOf(0, r.peers[r.next])), &n.out)
	return nil
}

// answered lets a rank, whose reply is out when n has done its work, make its
// next request.
func (s *sim) answered(n *simNode, rank int, next func(int, *simNode) error) {
	s.queue.After(n.free-s.queue.Now()+s.think, func() { s.request(rank, next) })
}

// got notes the answer to a rank's get.
func (s *sim) got(n *simNode, rank int, found bool) {
	r := &s.ranks[rank]
	if !found {
		s.err = fmt.Errorf("rank %d: the value of rank %d is not there", rank, r.peers[r.next])
		return
	}
	if r.next++; r.next < len(r.peers) {
		s.answered(n, rank, s.get)
		return
	}
	s.ended = max(s.ended, n.free)
}

// carryOut carries out the orders of a board.
func (s *sim) carryOut(node int) {
	n := &s.nodes[node]
	for _, m := range n.out.Sends {
		if to, routed := m.To.Node(); routed {
			s.route(node, int(to), cache.Node(job.NodeID(node)), m.Msg)
		} else if m.To == cache.Parent {
			s.send(node, n.parent, len(m.Msg), s.delivery(n.parent, n.slot, m.Msg))
		} else {
			to := n.children[m.To]
			s.send(node, to, len(m.Msg), s.delivery(to, cache.Parent, m.Msg))
		}
	}
	for _, a := range n.out.Answers {
		if len(n.out.Answers) > 1 {
			n.free += s.reply
		}
		s.got(n, int(a.Token), a.Found)
	}
	for range n.out.Released {
		for i := range s.shape.ranks {
			n.free += s.reply
			s.fenced = max(s.fenced, n.free)
			s.answered(n, n.first+i, s.get)
		}
	}
	n.out.Reset()
}

// send has an agent send a message over one link, and calls arrived at its arrival.
func (s *sim) send(from, to, size int, arrived func()) {
	n := &s.nodes[from]
	n.free = max(n.free, s.queue.Now()) + s.costs.send
	n.wire = max(n.wire, n.free) + time.Duration(size)*s.byte
	s.queue.After(n.wire-s.queue.Now()+s.hop, arrived)
}

func (s *sim) delivery(to int, from cache.Peer, msg []byte) func() {
	return func() {
		s.work(to, s.receive, func(n *simNode) error { return n.board.Receive(from, msg, &n.out) })
	}
}

// route takes a message one link closer to a node, which may be anywhere.
func (s *sim) route(at, to int, from cache.Peer, msg []byte) {
	if at == to {
		s.delivery(to, from, msg)()
		return
	}
	next := s.shape.toward(at, to)
	s.send(at, next, len(msg), func() {
		if next != to { // to pass it on is work, too
			s.nodes[next].free = max(s.nodes[next].free, s.queue.Now()) + s.receive
		}
		s.route(next, to, from, msg)
	})
}
