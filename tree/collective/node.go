package collective

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/record"
)

// Direction leads from a node to an endpoint: the number of the child in whose subtree
// it lies, from 0, or one of the values below.
type Direction int32

// Directions that are no child.
const (
	Up      Direction = -1 // beyond the parent
	Local   Direction = -2 // on this node
	Nowhere Direction = -3 // lost, or never there

	own Direction = -4 // the source of what this node makes itself
)

// Bounds of a node, in bytes.
const (
	// Window bounds the bytes under way on a link in one direction, and to a receiver
	// of an operation.
	Window = 256 << 10
	// QueueBound is the number of bytes that wait for a link before its users are held
	// up; one record may go beyond it.
	QueueBound = 256 << 10

	frameSize = record.Chunk // of frames put together from short records
	aliased   = 16 << 10     // records from here on are not copied
)

// Depth is the number of pieces of a combining operation that a node works on at a
// time.
const Depth = 4

// The communicators that always exist.
const (
	World  uint64 = 0 // all ranks
	Agents uint64 = 1 // all agents
)

// Config describes a node's place in the tree.
type Config struct {
	Ranks      int                // the endpoints that are ranks
	Directions []Run              // of all endpoints, ranks first; Nowhere for local ones that never are
	Node       func(rank int) int // the agent of a rank's node
	Children   int
	Root       bool // there is no parent
	// Costs are those by which a Split is planned, for the number of nodes that
	// take part; nil: commsplit.TreeCosts. All nodes have the same.
	Costs func(nodes int) commsplit.Costs
}

// Run is a number of endpoints in a row that are in one direction.
type Run struct {
	Count     int
	Direction Direction
}

// Frame is bytes for a link. They may be shared with other frames, and must not be
// changed.
type Frame struct {
	To    Direction
	Bytes []byte
}

// Delivery is bytes for an endpoint, in record.AppendFrame's form.
type Delivery struct {
	Endpoint int
	Bytes    []byte // the receiver's
}

// Fault says that a neighbor, or the endpoint if From is Local, broke the
// protocol.
type Fault struct {
	From     Direction
	Endpoint int
	Err      error
}

// Effects are a Node's orders to its caller, in order.
type Effects struct {
	Frames     []Frame
	Deliveries []Delivery
	Faults     []Fault
}

// Reset empties e for reuse.
func (e *Effects) Reset() {
	clear(e.Frames)
	clear(e.Deliveries)
	clear(e.Faults)
	*e = Effects{e.Frames[:0], e.Deliveries[:0], e.Faults[:0]}
}

// Node is one agent's state.
type Node struct {
	ranks     int
	endpoints int
	self      int // this agent's number; -1 if it has none
	towards   directions
	node      func(rank int) int
	costs     func(nodes int) commsplit.Costs
	links     []*link // by toward+1; nil at the root's first
	ends      map[int]*endpointState
	local     []*endpointState // the same, in order
	comms     map[uint64]*comm
	newest    map[int]uint64 // the highest number of a communicator, by creator
	kept      []*comm        // that have numbers which no operation needs, the one used last at the end
	keep      int            // KeptNumbers
	lost      map[int]string // endpoints, and why
	used      bool           // ranks make requests
	fences    [2]fences      // by Waiters

	ownInput input
	next     int // the input that is resumed first
	rec      record.Record
	mark     []bool
	targets  []Direction
	faults   []Fault
}

// link is one edge of the tree.
type link struct {
	toward Direction
	live   bool
	in     input

	queue    [][]byte
	queued   int  // bytes
	open     bool // the last frame of queue may grow
	inflight int  // bytes sent for which no credit came back
}

// input is a link or an endpoint as a source of records.
type input struct {
	toward  Direction
	ep      *endpointState
	pending [][]byte // held up
	await   *await   // look-up of a member's place that holds the endpoint's operations up
	held    int      // bytes of pending
	owed    int      // bytes taken for which no credit was given back
}

// New returns the node at c's place.
func New(c Config) (*Node, error) {
	n := &Node{ranks: c.Ranks, self: -1, keep: KeptNumbers, node: c.Node, costs: c.Costs, ends: map[int]*endpointState{}, comms: map[uint64]*comm{}, newest: map[int]uint64{},
		lost: map[int]string{}, mark: make([]bool, c.Children+1)}
	if n.costs == nil {
		n.costs = commsplit.TreeCosts
	}
	n.ownInput.toward = own
	n.links = make([]*link, c.Children+1)
	for i := range n.links {
		if toward := Direction(i - 1); toward != Up || !c.Root {
			n.links[i] = &link{toward: toward, live: true, in: input{toward: toward}}
		}
	}
	for _, run := range c.Directions {
		first := n.endpoints
		n.endpoints += run.Count
		n.towards.add(uint32(first), run.Direction)
		switch {
		case run.Direction == Local:
			for id := first; id < n.endpoints; id++ {
				n.open(id)
			}
		case run.Direction == Nowhere:
		case run.Direction < Up || int(run.Direction) >= c.Children || run.Direction == Up && c.Root:
			return nil, fmt.Errorf("endpoint %d is at child %d of %d", first, run.Direction, c.Children)
		}
	}
	if c.Ranks < 0 || c.Ranks > n.endpoints {
		return nil, fmt.Errorf("%d ranks among %d endpoints", c.Ranks, n.endpoints)
	}
	n.define(&comm{id: World, size: c.Ranks})
	n.define(&comm{id: Agents, first: c.Ranks, size: n.endpoints - c.Ranks})
	return n, nil
}

// open adds a local endpoint.
func (n *Node) open(id int) {
	ep := &endpointState{id: id, seats: map[uint64]*seat{}, sends: map[uint64]sent{}, flows: map[source]*flow{}, untaken: map[senderID]int{}, coming: map[source]*item[message]{}, asks: map[uint64]asked{}}
	ep.in = input{toward: Local, ep: ep}
	n.ends[id] = ep
	n.local = append(n.local, ep)
	if id >= n.ranks {
		n.self = id - n.ranks
	}
}

// directionTo returns the direction of an endpoint.
func (n *Node) directionTo(endpoint int) Direction {
	if len(n.lost) > 0 && n.lost[endpoint] != "" {
		return Nowhere
	}
	return n.towards.find(endpoint)
}

func (n *Node) link(toward Direction) *link {
	if toward < Up || int(toward)+1 >= len(n.links) {
		return nil
	}
	return n.links[toward+1]
}

var errCredit = errors.New("a neighbor sent more than it had credit for")

// Receive takes a frame from a neighbor; the node owns it from now on.
func (n *Node) Receive(from Direction, frame []byte) {
	l := n.link(from)
	if l == nil || !l.live {
		return
	}
	// Credit overtakes records that are held up: they may wait for it.
	for len(frame) > 0 && record.Kind(frame[0]) == record.Credit {
		var r record.Record
		used, err := record.Parse(frame, &r)
		if err == nil && r.Size > int64(l.inflight) {
			err = fmt.Errorf("credit of %d bytes for %d", r.Size, l.inflight)
		}
		if err != nil {
			n.fault(&l.in, err)
			return
		}
		l.inflight -= int(r.Size)
		frame = frame[used:]
	}
	if len(frame) == 0 {
		return
	}
	l.in.pending = append(l.in.pending, frame)
	if l.in.held += len(frame); l.in.held > Window {
		n.fault(&l.in, errCredit)
		return
	}
	n.drain(&l.in)
}

// Request takes one whole record, not yet parsed, from a local endpoint. The
// node may keep it. There should be Room.
func (n *Node) Request(endpoint int, raw []byte) {
	ep := n.ends[endpoint]
	if ep == nil || ep.gone {
		return
	}
	if endpoint < n.ranks {
		n.Use()
	}
	ep.in.pending = append(ep.in.pending, raw)
	ep.in.held += len(raw)
	n.drain(&ep.in)
}

// Room tells whether an endpoint may make requests; if not, Flush may change
// that.
func (n *Node) Room(endpoint int) bool {
	ep := n.ends[endpoint]
	return ep == nil || len(ep.in.pending) == 0
}

// drain takes records from an input until one of them must wait.
func (n *Node) drain(in *input) (moved bool) {
	for len(in.pending) > 0 {
		b := in.pending[0]
		for len(b) > 0 {
			used, err := record.Parse(b, &n.rec)
			ok := err == nil
			if ok {
				ok, err = n.take(in, &n.rec, b[:used:used])
			}
			if err != nil {
				n.fault(in, err)
				return moved
			}
			if !ok {
				in.pending[0] = b
				return moved
			}
			b = b[used:]
			in.owed += used
			in.held -= used
			moved = true
		}
		in.pending[0] = nil
		in.pending = in.pending[1:]
	}
	in.pending = nil
	return moved
}

// fault gives a source of nonsense up.
func (n *Node) fault(in *input, err error) {
	in.pending, in.held = nil, 0
	f := Fault{From: in.toward, Err: err}
	if in.ep != nil {
		f.Endpoint, in.ep.gone = in.ep.id, true
	}
	n.faults = append(n.faults, f)
}

// take handles one record. It returns false if the record must wait for room on
// a link.
func (n *Node) take(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	if in.ep != nil {
		return n.request(in, r, raw)
	}
	switch r.Kind {
	case record.Data:
		return n.pass(in, r, raw)
	case record.Pull, record.Send, record.SendPull, record.SendData, record.Taken, record.Kept, record.Ask, record.Answer, record.Left, record.Watch:
		return n.route(in, r, raw)
	case record.Piece:
		return n.piece(in, r, raw)
	case record.Up:
		return true, n.childUp(in, r)
	case record.Grant:
		return true, n.grant(in, r)
	case record.Where, record.There:
		return n.passOn(in, r, raw)
	case record.Define, record.Free, record.Lost, record.Called, record.InUse, record.NoFence:
		return n.flood(in, r, raw)
	}
	return false, fmt.Errorf("an unexpected record of kind %d between agents", r.Kind)
}

// enqueue adds a record to a link's queue.
func (n *Node) enqueue(toward Direction, raw []byte) {
	l := n.link(toward)
	if l == nil || !l.live {
		return
	}
	l.queued += len(raw)
	switch last := len(l.queue) - 1; {
	case len(raw) >= aliased:
		l.queue, l.open = append(l.queue, raw), false
	case l.open && len(l.queue[last])+len(raw) <= frameSize:
		l.queue[last] = append(l.queue[last], raw...)
	default:
		l.queue, l.open = append(l.queue, append([]byte(nil), raw...)), true
	}
}

// full tells whether users of a link must wait.
func (n *Node) full(toward Direction) bool {
	l := n.link(toward)
	return l != nil && l.live && l.queued >= QueueBound
}

// Flush appends all orders to out. It is called after any batch of other calls.
func (n *Node) Flush(out *Effects) {
	for {
		for _, l := range n.links {
			if l != nil && l.live {
				n.flushLink(l, out)
			}
		}
		if !n.resume() {
			break
		}
	}
	for _, ep := range n.local {
		if len(ep.out) > 0 {
			out.Deliveries = append(out.Deliveries, Delivery{ep.id, ep.out})
			ep.out = nil
		}
	}
	out.Faults = append(out.Faults, n.faults...)
	n.faults = n.faults[:0]
}

func (n *Node) flushLink(l *link, out *Effects) {
	if l.in.owed >= Window/4 {
		credit := record.Append(nil, &record.Record{Kind: record.Credit, Size: int64(l.in.owed)})
		l.in.owed = 0
		out.Frames = append(out.Frames, Frame{l.toward, credit})
	}
	for len(l.queue) > 0 && l.inflight+len(l.queue[0]) <= Window {
		f := l.queue[0]
		l.queue[0], l.queue = nil, l.queue[1:]
		l.queued -= len(f)
		l.inflight += len(f)
		out.Frames = append(out.Frames, Frame{l.toward, f})
	}
	if len(l.queue) == 0 {
		l.queue, l.open = nil, false
	}
}

// resume goes on with the inputs that were held up, each time beginning with
// another one.
func (n *Node) resume() (moved bool) {
	total := len(n.links) + len(n.local)
	for i := range total {
		in := &n.ownInput
		if j := (n.next + i) % total; j >= len(n.links) {
			in = &n.local[j-len(n.links)].in
		} else if n.links[j] != nil {
			in = &n.links[j].in
		}
		if len(in.pending) > 0 && n.drain(in) {
			moved = true
		}
	}
	n.next++
	return moved
}
