package collective

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// op is one collective operation of one communicator, as one node sees it. It
// exists while a local member has something to get or the node something to
// combine.
type op struct {
	comm *comm
	seq  uint64
	call call // zero until the node knows
	root int  // its root's rank, where a local member has named it
	told int  // members elsewhere that are known to make it

	members  []*opPart // by seat; nil: not entered, or finished
	finished int
	early    [][]byte           // by seat: records for members that have not entered
	waiting  int                // bytes of early, batches and members' results
	short    call               // call whose data are collected; zero if there are none
	batches  []batch            // by comm.slot
	transit  int64              // bytes yet to be collected
	portions map[int64]*portion // of a long AllGather, by piece
	fan      *fan               // nil if nothing is combined, or all is
	fanned   bool               // fan was made
	split    *splitting         // of a Split that is not over here
}

// call holds the properties of an operation that all members must agree on.
type call struct {
	op   record.Op
	fn   uint8
	root int // its number
	size int64
}

// bare returns the properties of a call that every record of short data tells.
func (c call) bare() call {
	if c.op != record.Gather {
		c.root = 0
	}
	c.fn = 0
	return c
}

// agrees tells whether a bare call is that of the others, as far as it is known here.
func (o *op) agrees(k call) bool {
	return (o.call.op == 0 || o.call.bare() == k) && (o.short.op == 0 || o.short == k)
}

// opPart is a local endpoint's part in an operation.
type opPart struct {
	op   *op
	seat *seat
	left int64 // bytes still to come
	owes int64 // bytes it has yet to send; contributions are counted apart
	due  []due // of these, what it may send now, in this order

	// Asking for data itself: Gather, Scatter, AllToAll.
	asked       int   // sources asked in full
	off         int64 // offset in the next
	outstanding int64 // bytes asked for that did not come

	result []byte // of a short AllToAll, while it comes

	// Taking part in the combination.
	given   int64 // pieces given, or asked of the endpoint
	gave    int64 // pieces that the endpoint contributed
	promise int64 // bytes of the result that it has let come, its own counted as arrived
	arrived int64
}

// due describes the next record of a member's data, and the number of the first member
// that it is for.
type due struct {
	share
	to int
}

// share is that as the member says it, by rank.
type share struct {
	each       bool
	dst, count int
	off, size  int64
}

// shortDue returns the record in which a member of a short operation gives its part.
func shortDue(c call, root int, s *seat) due {
	members := s.comm.size
	switch c.op {
	case record.Gather:
		return due{share{dst: root, count: 1, size: c.size}, c.root}
	case record.AllGather:
		return due{share{count: members, off: int64(s.rank) * c.size, size: c.size}, 0}
	case record.Bcast:
		return due{share{count: members, size: c.size}, 0}
	}
	return due{share{each: true, count: members, size: int64(members) * c.size}, 0}
}

// askFor has a member give the data of a Pull.
func (n *Node) askFor(m *opPart, r *record.Record) {
	c, k := m.op.comm, m.op.call
	wish := *r
	wish.Dst, wish.Body = m.seat.rank, nil
	if c.dir != nil && r.Src < c.size {
		var ok bool
		if wish.Src, ok = c.parseRank(r.Body); !ok { // agents that do not keep to the protocol
			n.breakOp(m.op, "a wish of nobody")
			return
		}
	}
	d := due{share{dst: wish.Src, count: 1, off: r.Off, size: r.Size}, r.Src}
	switch k.op {
	case record.Bcast:
		d = due{share{count: c.size, off: r.Off, size: r.Size}, 0}
	case record.AllGather:
		d = due{share{count: c.size, off: max(r.Off, int64(m.seat.rank)*k.size), size: n.overlap(m.op, m.seat, r.Off, r.Off+r.Size)}, 0}
	}
	m.due = append(m.due, d)
	n.tell(m.seat.ep, &wish)
}

// op finds an operation or makes it. The node knows the calls of those that are over
// here: members that disagree say more of it.
func (n *Node) op(c *comm, seq uint64) *op {
	o := c.ops[seq]
	if o != nil {
		return o
	}
	o = &op{comm: c, seq: seq, root: -1, members: make([]*opPart, len(c.order))}
	if !slices.ContainsFunc(c.order, func(s *seat) bool { return s.next <= seq }) {
		o.finished = len(o.members)
		if x, ok := c.pastCall(seq); ok {
			o.call, o.root, o.fanned = x.call, x.root, true
		}
	}
	c.ops[seq] = o
	return o
}

// maxBytes bounds the bytes of all members of an operation together.
const maxBytes = 1 << 50

// rooted tells whether members name a root.
func rooted(o record.Op) bool {
	return o == record.Bcast || o == record.Gather || o == record.Scatter || o == record.Reduce
}

// enter takes an Enter of an endpoint. It waits where the root's number is not known.
func (n *Node) enter(in *input, s *seat, r *record.Record) (ok bool, err error) {
	ep, c := s.ep, s.comm
	switch {
	case r.Seq != s.next:
		return false, fmt.Errorf("operation %d of %s instead of %d", r.Seq, n.name(c), s.next)
	case r.Seq%record.SyncEvery == record.SyncEvery-1 && r.Op != record.Barrier:
		return false, fmt.Errorf("operation %d of %s is no barrier", r.Seq, n.name(c))
	case r.Op == record.Split && r.Size != 0:
		return false, fmt.Errorf("a split of %d bytes", r.Size)
	case !r.Op.Valid() || r.Dst < 0 || r.Dst >= c.size || r.Size > maxBytes/int64(c.size):
		return false, fmt.Errorf("%v of %d bytes from %d among %d", r.Op, r.Size, r.Dst, c.size)
	case combines(r.Op):
		if err := record.CheckFunction(r.Fn, r.Size); err != nil {
			return false, fmt.Errorf("%v: %w", r.Op, err)
		}
	}
	var color uint32
	var key int32
	if r.Op == record.Split {
		if color, key, err = record.ParseChoice(r.Body); err != nil {
			return false, err
		}
	}
	if c.dead(r.Seq) {
		s.next++
		n.failed(ep, record.FailOp, c.id, r.Seq, c.broken)
		return true, nil
	}
	want := call{op: r.Op, fn: r.Fn, root: r.Dst, size: r.Size}
	if rooted(r.Op) {
		if want.root, ok = n.numberFor(in, c, r.Dst); !ok {
			return false, nil
		}
	}
	o := n.op(c, r.Seq)
	s.next++
	if o.call.op == 0 {
		o.call = want
	}
	if o.call == want {
		o.root = r.Dst
	}
	m := &opPart{op: o, seat: s, left: expects(want, s.number, c.size), owes: owes(want, s.number, c.size)}
	if m.owes > 0 && record.Eager(r.Op, c.size, r.Size) {
		m.due = []due{shortDue(want, r.Dst, s)}
	}
	o.members[s.at] = m
	ep.active = append(ep.active, m)
	if o.call != want || !o.agrees(want.bare()) {
		n.mismatch(o, side{call: want, root: r.Dst, ranks: []int{s.rank}, count: 1})
		return true, nil
	}
	n.startTransit(o, want.bare())
	n.startFan(o)
	if pieces := n.pieces(o); pieces == 1 && combines(want.op) {
		m.given = 1 // it contributes without being asked
	}
	n.replay(m)
	switch {
	case c.ops[r.Seq] != o: // it is over
	case want.op == record.Split:
		n.choose(m, color, key)
	default:
		n.goOn(m)
	}
	return true, nil
}

// hold keeps a record for a member that has not entered.
func (n *Node) hold(s *seat, r *record.Record) {
	o := n.op(s.comm, r.Seq)
	if o.early == nil {
		o.early = make([][]byte, len(o.members))
	}
	before := len(o.early[s.at])
	o.early[s.at] = record.Append(o.early[s.at], r)
	o.waiting += len(o.early[s.at]) - before
}

// replay takes records kept for a member.
func (n *Node) replay(m *opPart) {
	o := m.op
	if o.early == nil {
		return
	}
	b := o.early[m.seat.at]
	o.early[m.seat.at] = nil
	o.waiting -= len(b)
	for len(b) > 0 {
		var r record.Record
		used, err := record.Parse(b, &r)
		if err != nil {
			panic(err) // a bug of this package
		}
		b = b[used:]
		switch {
		case r.Kind != record.Pull:
			n.arrive(m, &r)
		case o.comm.dead(o.seq):
		case o.differsFrom(m.seat, &r):
			n.disagrees(o, &r)
		default:
			n.askFor(m, &r)
		}
	}
}

// expects returns the bytes that the member of a number gets.
func expects(c call, number, members int) int64 {
	others := int64(members-1) * c.size
	atRoot := number == c.root
	switch c.op {
	case record.Barrier, record.Split:
		return 1 // of whatever size
	case record.AllGather, record.AllToAll:
		return others
	case record.Gather:
		if atRoot {
			return others
		}
	case record.Bcast, record.Scatter:
		if !atRoot {
			return c.size
		}
	case record.Reduce:
		if atRoot {
			return c.size
		}
	case record.AllReduce:
		return c.size
	}
	return 0
}

// owes returns the bytes that the member of a number sends, contributions apart.
func owes(c call, number, members int) int64 {
	eager := record.Eager(c.op, members, c.size)
	atRoot := number == c.root
	switch {
	case members == 1:
	case c.op == record.AllGather, c.op == record.Bcast && atRoot, c.op == record.Gather && !atRoot:
		return c.size
	case c.op == record.AllToAll, c.op == record.Scatter && atRoot:
		if eager { // its own part too
			return int64(members) * c.size
		}
		return int64(members-1) * c.size
	}
	return 0
}

// data takes bytes for a local member.
func (n *Node) data(s *seat, r *record.Record) {
	c := s.comm
	switch {
	case c.dead(r.Seq):
	case r.Seq >= s.next:
		n.hold(s, r)
	default:
		o := n.op(c, r.Seq)
		switch m := o.members[s.at]; {
		case m != nil:
			n.arrive(m, r)
			n.goOn(m)
		case o.call.op != 0 && o.differs(r):
			n.disagrees(o, r)
		default:
			n.settleOp(o)
		}
	}
}

// arrive passes data on to the endpoint.
func (n *Node) arrive(m *opPart, r *record.Record) {
	o := m.op
	size := int64(len(r.Body))
	collected := collects(o.call.op, o.comm.size, o.call.size)
	wide := r.Op == record.AllGather && r.Src == o.comm.size // its own part is among it
	switch {
	case o.comm.dead(o.seq):
		return
	case o.differs(r) || size > m.left && !collected && !wide:
		n.disagrees(o, r)
		return
	}
	if collected && n.compose(m, r) {
		return
	}
	if wide {
		mine := int64(m.seat.rank) * r.Size
		after := max(r.Off, mine+r.Size)
		if head := *r; mine > r.Off {
			head.Body = r.Body[:min(size, mine-r.Off)]
			n.arrived(m, &head)
		}
		if tail := *r; after < r.Off+size {
			tail.Off, tail.Body = after, r.Body[after-r.Off:]
			n.arrived(m, &tail)
		}
		return
	}
	n.arrived(m, r)
}

// arrived tells a member of bytes that it gets.
func (n *Node) arrived(m *opPart, r *record.Record) {
	size := int64(len(r.Body))
	m.left -= size
	m.arrived += size
	if r.Op == record.Barrier {
		m.seat.last = r.Seq + 1
	}
	m.outstanding -= min(size, m.outstanding)
	n.tell(m.seat.ep, &record.Record{Kind: record.Data, Op: r.Op, Comm: r.Comm, Seq: r.Seq, Src: r.Src, Dst: m.seat.rank,
		Count: 1, Off: r.Off, Size: r.Size, Body: r.Body})
}

// compose puts the result of a short AllGather or AllToAll together, so that a
// member is told once, and reports whether r was part of one.
func (n *Node) compose(m *opPart, r *record.Record) bool {
	o, c := m.op, m.op.comm
	whole, size, at := int64(c.size)*o.call.size, int64(len(r.Body)), int64(0)
	if r.Op == record.AllToAll {
		at = int64(r.Src) * o.call.size
	}
	switch {
	case at+size > whole, size > m.left && r.Op != record.AllGather, r.Op == record.AllGather && size < whole:
		n.disagrees(o, r)
	case r.Op == record.AllGather:
		m.left = 0
		n.tellResult(m, r.Body)
	case r.Op == record.AllToAll:
		if m.result == nil {
			m.result = make([]byte, whole)
			o.waiting += len(m.result)
		}
		copy(m.result[at:], r.Body)
		if m.left -= size; m.left == 0 {
			o.waiting -= len(m.result)
			n.tellResult(m, m.result)
			m.result = nil
		}
	default:
		return false
	}
	return true
}

// tellResult gives a member the parts of others, without its own.
func (n *Node) tellResult(m *opPart, all []byte) {
	k, c := m.op.call, m.op.comm
	mine := int64(m.seat.rank) * k.size
	for _, span := range [][2]int64{{0, mine}, {mine + k.size, int64(len(all))}} {
		if span[0] == span[1] {
			continue
		}
		r := record.Record{Kind: record.Data, Op: k.op, Comm: c.id, Seq: m.op.seq, Src: int(span[0] / k.size), Dst: m.seat.rank,
			Count: 1, Size: k.size, Body: all[span[0]:span[1]]}
		if k.op == record.AllGather {
			r.Off = span[0]
		}
		n.tell(m.seat.ep, &r)
	}
}

// pull takes a wish for a local member's data.
func (n *Node) pull(s *seat, r *record.Record) {
	c := s.comm
	switch {
	case c.dead(r.Seq):
	case r.Seq >= s.next:
		n.hold(s, r)
	default:
		o := n.op(c, r.Seq)
		switch m := o.members[s.at]; {
		case o.call.op != 0 && o.differsFrom(s, r):
			n.disagrees(o, r)
		case m != nil:
			n.askFor(m, r)
		default:
			n.settleOp(o)
		}
	}
}

// goOn takes all possible steps of a member's operation, and forgets a finished one.
func (n *Node) goOn(m *opPart) {
	o := m.op
	if o.fan != nil {
		n.run(o)
	} else {
		n.ask(m)
		n.settle(m)
	}
	n.settleOp(o)
}

// settle forgets a member that has everything.
func (n *Node) settle(m *opPart) {
	o := m.op
	if o.comm.dead(o.seq) || o.members[m.seat.at] != m || m.left > 0 || m.owes > 0 || o.fan != nil && m.gave < o.fan.pieces {
		return
	}
	o.members[m.seat.at] = nil
	o.finished++
	ep := m.seat.ep
	ep.active = slices.DeleteFunc(ep.active, func(x *opPart) bool { return x == m })
}

func (n *Node) settleOp(o *op) {
	if o.finished == len(o.members) && o.fan == nil && o.split == nil && o.waiting == 0 && o.transit == 0 && len(o.portions) == 0 && (o.fanned || !n.needsFan(o)) {
		delete(o.comm.ops, o.seq)
		o.comm.remember(o)
		n.keepNumbers(o.comm)
	}
}

// ask sends the requests that a member that gets its data by itself may make.
func (n *Node) ask(m *opPart) {
	o, c := m.op, m.op.comm
	k := o.call
	if k.size == 0 || record.Eager(k.op, c.size, k.size) {
		return
	}
	sources := 0
	switch {
	case k.op == record.AllToAll, k.op == record.Gather && m.seat.number == k.root:
		sources = c.size - 1
	case k.op == record.Scatter && m.seat.number != k.root:
		sources = 1
	}
	for m.asked < sources && m.outstanding+int64(m.seat.ep.backlog) < Window {
		src := k.root
		if k.op != record.Scatter {
			src = (m.seat.number + 1 + m.asked) % c.size
		}
		r := record.Record{Kind: record.Pull, Op: k.op, Comm: c.id, Seq: o.seq, Src: m.seat.number, Dst: src, Count: 1, Body: m.seat.appendRank(nil)}
		if k.size > record.Chunk/2 {
			r.Off, r.Size = m.off, min(record.Chunk, k.size-m.off)
			if m.off += r.Size; m.off == k.size {
				m.off = 0
				m.asked++
			}
			m.outstanding += r.Size
		} else {
			r.Count = min(int(record.Chunk/k.size), sources-m.asked, c.size-src)
			r.Size = k.size
			m.asked += r.Count
			m.outstanding += int64(r.Count) * k.size
		}
		n.send(&r)
	}
}

// Wrote says that an endpoint has taken bytes that were delivered.
func (n *Node) Wrote(endpoint, size int) {
	ep := n.ends[endpoint]
	if ep == nil {
		return
	}
	ep.backlog -= min(size, ep.backlog)
	for _, m := range slices.Clone(ep.active) {
		n.goOn(m)
	}
	n.askMore(ep)
}
