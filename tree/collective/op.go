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

	members  []*member // by seat; nil: not entered, or finished
	finished int
	early    [][]byte           // by seat: records for members that have not entered
	waiting  int                // bytes of early, batches and members' results
	short    call               // what is collected; zero if nothing is
	batches  []batch            // by comm.slot
	transit  int64              // bytes yet to be collected
	portions map[int64]*portion // of a long AllGather, by piece
	fan      *fan               // nil if nothing is combined, or all is
	fanned   bool               // fan was made
	split    *splitting         // of a Split that is not over here
}

// call is what all members must agree on.
type call struct {
	op   record.Op
	fn   uint8
	root int
	size int64
}

func (c call) String() string {
	return fmt.Sprintf("%v of %d bytes, root %d, function %#x", c.op, c.size, c.root, c.fn)
}

// bare is what every record of short data tells of a call.
func (c call) bare() call {
	if c.op != record.Gather {
		c.root = 0
	}
	c.fn = 0
	return c
}

// agrees tells whether a bare call is what others make, as far as is known here.
func (o *op) agrees(k call) bool {
	return (o.call.op == 0 || o.call.bare() == k) && (o.short.op == 0 || o.short == k)
}

// member is a local endpoint's part in an operation.
type member struct {
	op   *op
	seat *seat
	left int64  // bytes still to come
	owes int64  // bytes it has yet to send; contributions are counted apart
	due  []part // of these, what it may send now, in this order

	// Asking for data itself: Gather, Scatter, AllToAll.
	asked       int   // sources asked in full
	off         int64 // how far into the next
	outstanding int64 // bytes asked for that did not come

	result []byte // of a short AllToAll, while it comes

	// Taking part in what is combined.
	given   int64 // pieces given, or asked of the endpoint
	gave    int64 // pieces that the endpoint contributed
	promise int64 // bytes of the result that it has let come, its own counted as arrived
	arrived int64
}

// part is what one record of a member's data must be.
type part struct {
	each       bool
	dst, count int
	off, size  int64
}

// atOnce is what a member of a short operation gives.
func atOnce(c call, rank, members int) part {
	switch c.op {
	case record.Gather:
		return part{false, c.root, 1, 0, c.size}
	case record.AllGather:
		return part{false, 0, members, int64(rank) * c.size, c.size}
	case record.Bcast:
		return part{false, 0, members, 0, c.size}
	}
	return part{true, 0, members, 0, int64(members) * c.size}
}

// askFor has a member give what a Pull says.
func (n *Node) askFor(m *member, r *record.Record) {
	c, k := m.op.comm, m.op.call
	p := part{false, r.Src, 1, r.Off, r.Size}
	switch k.op {
	case record.Bcast:
		p.dst, p.count = 0, c.size
	case record.AllGather:
		p.dst, p.count = 0, c.size
		p.size = n.overlap(m.op, m.seat.rank, r.Off, r.Off+r.Size)
		p.off = max(r.Off, int64(m.seat.rank)*k.size)
	}
	m.due = append(m.due, p)
	n.tell(m.seat.ep, r)
}

// op finds an operation or makes it.
func (n *Node) op(c *comm, seq uint64) *op {
	o := c.ops[seq]
	if o == nil {
		o = &op{comm: c, seq: seq, members: make([]*member, len(c.order))}
		c.ops[seq] = o
	}
	return o
}

// maxBytes bounds what all members of an operation have together.
const maxBytes = 1 << 50

// enter takes an Enter of an endpoint.
func (n *Node) enter(ep *endpoint, r *record.Record) error {
	s := ep.seats[r.Comm]
	c := s.comm
	switch fn := record.ElementSize(r.Fn); {
	case r.Seq != s.next:
		return fmt.Errorf("operation %d of communicator %d instead of %d", r.Seq, r.Comm, s.next)
	case r.Seq%record.SyncEvery == record.SyncEvery-1 && r.Op != record.Barrier:
		return fmt.Errorf("operation %d of communicator %d is no barrier", r.Seq, r.Comm)
	case r.Op == record.Split && r.Size != 0:
		return fmt.Errorf("a split of %d bytes", r.Size)
	case !r.Op.Valid() || r.Dst < 0 || r.Dst >= c.size || r.Size > maxBytes/int64(c.size):
		return fmt.Errorf("a %v of %d bytes from %d among %d", r.Op, r.Size, r.Dst, c.size)
	case (r.Op == record.Reduce || r.Op == record.AllReduce) && (fn == 0 || r.Size%int64(fn) != 0):
		return fmt.Errorf("a %v of %d bytes by function %#x", r.Op, r.Size, r.Fn)
	}
	var color uint32
	var key int32
	if r.Op == record.Split {
		var err error
		if color, key, err = record.ParseChoice(r.Body); err != nil {
			return err
		}
	}
	s.next++
	if c.dead(r.Seq) {
		n.failed(ep, record.FailOp, c.id, r.Seq, c.broken)
		return nil
	}
	want := call{r.Op, r.Fn, r.Dst, r.Size}
	o := n.op(c, r.Seq)
	if o.call.op == 0 {
		o.call = want
	}
	m := &member{op: o, seat: s, left: expects(want, s.rank, c.size), owes: owes(want, s.rank, c.size)}
	if m.owes > 0 && record.Eager(r.Op, c.size, r.Size) {
		m.due = []part{atOnce(want, s.rank, c.size)}
	}
	o.members[s.at] = m
	ep.active = append(ep.active, m)
	if o.call != want || !o.agrees(want.bare()) {
		n.mismatch(o, s.rank, want)
		return nil
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
	return nil
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

// replay takes what was kept for a member.
func (n *Node) replay(m *member) {
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
		if r.Kind == record.Pull {
			n.askFor(m, &r)
		} else {
			n.arrive(m, &r)
		}
	}
}

// expects is how many bytes a member gets.
func expects(c call, rank, members int) int64 {
	others := int64(members-1) * c.size
	atRoot := rank == c.root
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

// owes is how many bytes a member sends, contributions apart.
func owes(c call, rank, members int) int64 {
	eager := record.Eager(c.op, members, c.size)
	atRoot := rank == c.root
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

// mismatch ends a communicator whose members do different things.
func (n *Node) mismatch(o *op, rank int, got call) {
	others := o.call
	if others.op == 0 || others == got {
		others = o.short
	}
	n.breakComm(o.comm, fmt.Sprintf("operation %d of the communicator: member %d calls %v, others %v", o.seq, rank, got, others))
}

// breakComm says everywhere that no operation of c can succeed any more.
func (n *Node) breakComm(c *comm, why string) {
	if n.broken(c, why, 0, true) {
		n.send2all(&record.Record{Kind: record.Lost, Comm: c.id, Each: true, Body: []byte(why)})
	}
}

// data takes bytes for a local member.
func (n *Node) data(s *seat, r *record.Record) {
	c := s.comm
	switch {
	case c.dead(r.Seq):
	case r.Seq >= s.next:
		n.hold(s, r)
	default:
		if o := c.ops[r.Seq]; o != nil && o.members[s.at] != nil {
			m := o.members[s.at]
			n.arrive(m, r)
			n.goOn(m)
		}
	}
}

// arrive passes data on to the endpoint.
func (n *Node) arrive(m *member, r *record.Record) {
	o := m.op
	size := int64(len(r.Body))
	collected := collects(o.call.op, o.comm.size, o.call.size)
	wide := r.Op == record.AllGather && r.Src == o.comm.size // its own part is among it
	switch {
	case o.comm.dead(o.seq):
		return
	case r.Op != o.call.op || r.Size != o.call.size || size > m.left && !collected && !wide:
		n.mismatch(o, r.Src, call{op: r.Op, size: r.Size, root: o.call.root, fn: o.call.fn})
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
func (n *Node) arrived(m *member, r *record.Record) {
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
func (n *Node) compose(m *member, r *record.Record) bool {
	o, c := m.op, m.op.comm
	whole, size, at := int64(c.size)*o.call.size, int64(len(r.Body)), int64(0)
	if r.Op == record.AllToAll {
		at = int64(r.Src) * o.call.size
	}
	switch {
	case at+size > whole, size > m.left && r.Op != record.AllGather, r.Op == record.AllGather && size < whole:
		n.mismatch(o, r.Src, call{op: r.Op, size: size, root: r.Dst})
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

// tellResult gives a member what others gave, without its own part.
func (n *Node) tellResult(m *member, all []byte) {
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
	switch {
	case s.comm.dead(r.Seq):
	case r.Seq >= s.next:
		n.hold(s, r)
	default:
		if o := s.comm.ops[r.Seq]; o != nil && o.members[s.at] != nil {
			n.askFor(o.members[s.at], r)
		}
	}
}

// goOn does what a member's operation can do now, and forgets what is finished.
func (n *Node) goOn(m *member) {
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
func (n *Node) settle(m *member) {
	o := m.op
	if o.comm.dead(o.seq) || o.members[m.seat.at] != m || m.left > 0 || m.owes > 0 || o.fan != nil && m.gave < o.fan.pieces {
		return
	}
	o.members[m.seat.at] = nil
	o.finished++
	ep := m.seat.ep
	ep.active = slices.DeleteFunc(ep.active, func(x *member) bool { return x == m })
}

func (n *Node) settleOp(o *op) {
	if o.finished == len(o.members) && o.fan == nil && o.split == nil && o.waiting == 0 && o.transit == 0 && (o.fanned || !n.needsFan(o)) {
		delete(o.comm.ops, o.seq)
	}
}

// ask sends what a member that gets its data by itself may ask for.
func (n *Node) ask(m *member) {
	o, c := m.op, m.op.comm
	k := o.call
	if k.size == 0 || record.Eager(k.op, c.size, k.size) {
		return
	}
	sources := 0
	switch {
	case k.op == record.AllToAll, k.op == record.Gather && m.seat.rank == k.root:
		sources = c.size - 1
	case k.op == record.Scatter && m.seat.rank != k.root:
		sources = 1
	}
	for m.asked < sources && m.outstanding+int64(m.seat.ep.backlog) < Window {
		src := k.root
		if k.op != record.Scatter {
			src = (m.seat.rank + 1 + m.asked) % c.size
		}
		r := record.Record{Kind: record.Pull, Op: k.op, Comm: c.id, Seq: o.seq, Src: m.seat.rank, Dst: src, Count: 1}
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
	for _, f := range ep.flows {
		n.askMessage(ep, f)
	}
}
