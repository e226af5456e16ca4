package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/record"
)

// splitting is one Split at one node. The nodes that have members sort their
// rows together, by package commsplit; then each node tells its parent which
// members of which new communicators are below it, up to the lowest node that
// has all members of one, which forms it and tells those below (form.go).
type splitting struct {
	rows    []commsplit.Row // of the local members, by seat
	entered int
	machine *commsplit.Auto // nil until all local members have entered
	box     commsplit.Outbox
	inbox   []commsplit.Message // whole, and not taken yet
	parts   map[origin][]byte   // of messages that are not whole
	held    int                 // bytes of inbox and parts, each message counting for messageCost more
	sorted  bool                // the local members know their places
	heard   int                 // children that have said what is below them
	told    bool                // the parent was
	classes map[uint32]*class   // by colour: the communicators that are not formed yet
}

// origin names a message between agents that comes in pieces.
type origin struct {
	what   uint8
	toward Direction // a neighbor's

	src, process int // or an agent's
	tag          int64
}

// Kinds of a Piece, in Fn.
const (
	pieceSort   uint8 = iota // a message of the sort with tag Off, from agent Src to agent Dst
	pieceBelow               // to the parent: which members are below
	pieceFormed              // to a child: a communicator that was formed
)

// splitting finds or makes the state of a Split.
func (n *Node) splitting(o *op) *splitting {
	if o.split == nil {
		o.split = &splitting{rows: make([]commsplit.Row, len(o.comm.order)), parts: map[origin][]byte{}, classes: map[uint32]*class{}}
	}
	return o.split
}

// choose takes a local member's choice in a Split.
func (n *Node) choose(m *opPart, color uint32, key int32) {
	o, c := m.op, m.op.comm
	s := n.splitting(o)
	s.rows[m.seat.at] = commsplit.NewRow(color, key, uint32(m.seat.rank))
	if s.entered++; s.entered < len(c.order) {
		return
	}
	me, processes := n.processOf(c)
	config := commsplit.Config{Processes: processes, Ranks: c.size, Sorters: processes, Parts: processes}
	machine, err := commsplit.NewAuto(config, n.costs(processes), me, s.rows)
	if err != nil {
		panic(err) // a bug of this package
	}
	s.machine = machine
	n.drive(o)
}

// drive lets the sort go on as far as it can.
func (n *Node) drive(o *op) {
	s := o.split
	for !s.sorted {
		in, ok := s.awaited()
		if !ok {
			return
		}
		s.machine.Step(in, &s.box)
		if err := s.box.Err(); err != nil { // agents that do not keep to the protocol
			n.breakOp(o, "%v", err)
			return
		}
		for i := range s.box.Messages {
			n.post(o, &s.box.Messages[i])
		}
		if s.box.Done() {
			s.sorted = true
			n.placed(o, s.machine.Result().Memberships)
		}
	}
}

// awaited takes the messages that the sort waits for, if they are all there.
func (s *splitting) awaited() (in []commsplit.Message, ok bool) {
	tag, count := s.box.Awaits()
	if count == 0 {
		return nil, true // it has just begun
	}
	for _, m := range s.inbox {
		if m.Tag == tag {
			in = append(in, m)
		}
	}
	if len(in) < count {
		return nil, false
	}
	s.inbox = slices.DeleteFunc(s.inbox, func(m commsplit.Message) bool { return m.Tag == tag })
	for i := range in {
		s.held -= in[i].Size() + messageCost
	}
	slices.SortFunc(in, func(a, b commsplit.Message) int { return cmp.Compare(a.From, b.From) })
	return in, true
}

// post sends a message of the sort.
func (n *Node) post(o *op, m *commsplit.Message) {
	me, _ := n.processOf(o.comm)
	pieces(o, pieceSort, int64(m.Tag), m.AppendPayload(nil), func(r *record.Record) {
		r.Src, r.Dst, r.Count = n.self, m.To, me
		n.enqueue(n.toProcess(o.comm, m.To), record.Append(nil, r))
	})
}

// pieces cuts a message between agents. Between neighbors, Off is the offset of a piece
// in the message.
func pieces(o *op, what uint8, tag int64, message []byte, send func(*record.Record)) {
	for at := 0; ; {
		r := record.Record{Kind: record.Piece, Op: record.Split, Fn: what, Comm: o.comm.id, Seq: o.seq, Off: tag, Size: int64(len(message))}
		if what != pieceSort {
			r.Off = int64(at)
		}
		r.Body = message[at:min(len(message), at+record.Chunk)]
		send(&r)
		if at += len(r.Body); at == len(message) {
			return
		}
	}
}

// piece takes one that came over a link, or passes it on.
func (n *Node) piece(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	from := origin{what: r.Fn, toward: in.toward}
	if r.Op != record.Split || r.Fn > pieceFormed || r.Fn == pieceBelow && in.toward < 0 || r.Fn == pieceFormed && in.toward != Up {
		return false, fmt.Errorf("a piece of operation %v, function %d, from %d", r.Op, r.Fn, in.toward)
	}
	c := n.comms[r.Comm]
	if r.Fn == pieceSort && c != nil {
		agents := n.endpoints - n.ranks
		if _, processes := n.processOf(c); r.Src < 0 || r.Src >= agents || r.Count >= processes || r.Dst >= processes {
			return false, fmt.Errorf("a piece from agent %d of %d, process %d to process %d of %d", r.Src, agents, r.Count, r.Dst, processes)
		}
		toward := n.toProcess(c, r.Dst)
		switch src := n.directionTo(n.ranks + r.Src); {
		case src == Nowhere || toward == Nowhere:
			return true, nil
		case src != in.toward || toward == in.toward || n.toProcess(c, r.Count) != in.toward:
			return false, fmt.Errorf("a piece from agent %d, process %d to process %d, which are elsewhere", r.Src, r.Count, r.Dst)
		case toward != Local && n.full(toward):
			return false, nil
		case toward != Local:
			n.enqueue(toward, raw)
			return true, nil
		}
		from = origin{what: r.Fn, src: r.Src, process: r.Count, tag: r.Off}
	}
	switch {
	case c == nil && n.existed(r.Comm):
		if r.Fn == pieceFormed && r.Off == 0 {
			return true, n.unborn(wasFreed.text, r.Body)
		}
		return true, nil
	case c == nil:
		return false, fmt.Errorf("a piece of a split of communicator %d, which does not exist", r.Comm)
	case c.dead(r.Seq):
		if r.Fn == pieceFormed && r.Off == 0 { // the rest says nothing more
			return true, n.unborn(c.broken.text, r.Body)
		}
		return true, nil
	case c.ops[r.Seq] == nil && len(c.order) > 0 && r.Seq < c.order[0].next && !c.wasOther(r.Seq, record.Split):
		return true, nil // all is over here
	}
	return true, n.splitPiece(c, from, r)
}

// splitPiece takes a piece of a Split of c.
func (n *Node) splitPiece(c *comm, from origin, r *record.Record) error {
	o := n.op(c, r.Seq)
	if o.call.op == 0 {
		o.call.op = record.Split
	}
	if !o.agrees(call{op: record.Split}) {
		n.mismatch(o, side{call: call{op: record.Split}, root: -1})
		return nil
	}
	s := n.splitting(o)
	if s.held += len(r.Body); s.held > n.maxHeld(c) {
		return n.forged(o, from, fmt.Errorf("messages of more than %d bytes are on their way", n.maxHeld(c)))
	}
	message, begun := s.parts[from]
	if !begun {
		s.held += messageCost
	}
	message = append(message, r.Body...)
	if int64(len(message)) < r.Size && len(r.Body) > 0 {
		s.parts[from] = message
		return nil
	}
	delete(s.parts, from)
	s.held -= len(message) + messageCost
	if int64(len(message)) != r.Size {
		return n.forged(o, from, fmt.Errorf("%d bytes of a message of %d", len(message), r.Size))
	}
	switch from.what {
	case pieceBelow:
		return n.takeBelow(o, from.toward, message)
	case pieceFormed:
		f, err := n.parseFormed(o, message)
		if err != nil {
			return err
		}
		return n.formed(o, f)
	}
	m := commsplit.Message{From: from.process, Tag: commsplit.Tag(from.tag)}
	if err := m.ParsePayload(message); err != nil {
		return n.forged(o, from, err)
	}
	again := func(x commsplit.Message) bool { return x.From == m.From && x.Tag == m.Tag }
	if int64(m.Tag) != from.tag || slices.ContainsFunc(s.inbox, again) {
		return n.forged(o, from, fmt.Errorf("message %#x, which nobody sends, or comes twice", from.tag))
	}
	s.inbox = append(s.inbox, m)
	s.held += m.Size() + messageCost
	if s.machine != nil {
		n.drive(o)
	}
	return nil
}

// maxHeld bounds the bytes of a Split's messages that wait at a node: an agent is at
// most a step ahead of another, and no step brings one more than the table.
func (n *Node) maxHeld(c *comm) int {
	return 1<<20 + 256*c.size + 1024*(n.endpoints-n.ranks)
}

// forged ends a Split in which an agent does not keep to the protocol. A message of
// the sort may have come from any agent, so it is not the neighbor's fault.
func (n *Node) forged(o *op, from origin, err error) error {
	if from.what != pieceSort {
		return err
	}
	n.breakOp(o, "agent %d: %v", from.src, err)
	return nil
}

// processOf returns this node's place among those that have members of c, and how many
// there are; -1 if it has none.
func (n *Node) processOf(c *comm) (process, processes int) {
	if c.ways != nil {
		return c.process, c.processes
	}
	nodes := n.nodesOf(c)
	if me, ok := nodes.index(uint32(n.self)); ok && n.self >= 0 {
		return me, nodes.size()
	}
	return -1, nodes.size()
}

// toProcess returns the direction of a process of c.
func (n *Node) toProcess(c *comm, process int) Direction {
	if c.ways != nil {
		return c.homes.find(process)
	}
	return n.directionTo(n.ranks + int(n.nodesOf(c).at(process)))
}

// nodesOf returns the agents whose nodes have members of c, which no Split made.
func (n *Node) nodesOf(c *comm) spans {
	if c.nodes == nil {
		list := make([]uint32, c.size)
		for i := range list {
			list[i] = uint32(n.nodeOf(c.endpoint(i)))
		}
		slices.Sort(list)
		c.nodes = newSpans(slices.Compact(list))
	}
	return c.nodes
}

// nodeOf returns the agent of an endpoint's node.
func (n *Node) nodeOf(endpoint int) int {
	if endpoint >= n.ranks {
		return endpoint - n.ranks
	}
	return n.node(endpoint)
}
