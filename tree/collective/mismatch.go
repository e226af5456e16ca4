package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// name returns a communicator as users know it.
func (n *Node) name(c *comm) string {
	switch {
	case c == nil:
		return "a communicator that was freed"
	case c.id == World:
		return "the world"
	case c.id == Agents:
		return "the agents"
	case c.members == nil:
		return fmt.Sprintf("the communicator of %d ranks that a split made (rank %d's %d)", c.size, creator(c.id), uint32(c.id))
	}
	members := slices.Clone(c.members)
	slices.Sort(members)
	if members[0] >= n.ranks {
		return fmt.Sprintf("the communicator of %d agents", c.size)
	}
	return "the communicator of ranks " + record.FoldNumbers(members)
}

// endpointName returns an endpoint as users know it.
func (n *Node) endpointName(id int) string {
	if id < n.ranks {
		return fmt.Sprintf("rank %d", id)
	}
	return fmt.Sprintf("agent %d", id-n.ranks)
}

// text returns a call as members know it: the root by its rank, if this node knows it.
func (n *Node) text(c *comm, k call, root int) string {
	text := k.op.String()
	switch {
	case k.op == record.Barrier || k.op == record.Split:
	case k.size < 0:
		text += fmt.Sprintf(" of at least %d bytes", -k.size)
	default:
		text += fmt.Sprintf(" of %d bytes", k.size)
	}
	if combines(k.op) && k.fn != 0 {
		text += ", " + record.FunctionName(k.fn)
	}
	switch {
	case !rooted(k.op):
		return text
	case root < 0:
		return text + ", root elsewhere"
	}
	return fmt.Sprintf("%s, root %d", text, root)
}

// rankOf returns the rank of a call's root; -1 if this node does not know it.
func (n *Node) rankOf(c *comm, k call) int {
	switch s := c.seats[k.root]; {
	case c.dir == nil:
		return k.root
	case s != nil:
		return s.rank
	}
	return -1
}

// side is one of two calls of an operation, and the members that make it as far as is
// known here: local ones by rank, and how many there are.
type side struct {
	call  call
	root  int // its rank; -1 if it is not known
	ranks []int
	count int
}

// describe words the call of a side, such as "ranks 0-2 and 4 others call barrier".
func (n *Node) describe(c *comm, x side) string {
	noun, text := "member", n.text(c, x.call, x.root)
	if c.id == World {
		noun = "rank"
	}
	slices.Sort(x.ranks)
	named := noun + " " + record.FoldNumbers(x.ranks)
	if len(x.ranks) > 1 {
		named = noun + "s " + record.FoldNumbers(x.ranks)
	}
	switch rest := x.count - len(x.ranks); {
	case x.count <= 0:
		return fmt.Sprintf("others call %s", text)
	case x.count == 1 && rest == 0:
		return fmt.Sprintf("%s calls %s", named, text)
	case rest == 0:
		return fmt.Sprintf("%s call %s", named, text)
	case x.count == 1:
		return fmt.Sprintf("1 of %d %ss, on another node, calls %s", c.size, noun, text)
	case len(x.ranks) == 0:
		return fmt.Sprintf("%d of %d %ss, on other nodes, call %s", x.count, c.size, noun, text)
	default:
		return fmt.Sprintf("%s, and %d on other nodes, call %s", named, rest, text)
	}
}

// mismatch ends a communicator whose members do different things. last is the side
// that was seen last. The side of which fewer are known comes first.
func (n *Node) mismatch(o *op, last side) {
	c := o.comm
	first := side{call: o.call, root: o.root, count: o.told}
	if o.call.op == 0 || o.call == last.call {
		first.call, first.root = o.short, n.rankOf(c, o.short)
	}
	var here []int // that have entered
	for _, s := range c.order {
		if s.next > o.seq && !slices.Contains(last.ranks, s.rank) {
			here = append(here, s.rank)
		}
	}
	with := &first
	if o.call == last.call {
		with = &last
	}
	with.ranks, with.count = append(with.ranks, here...), with.count+len(here)
	sides := []side{first, last}
	slices.SortStableFunc(sides, func(x, y side) int { return cmp.Compare(max(x.count, 1), max(y.count, 1)) })
	why := otherReason("operation %d of %s: %s; %s", o.seq, n.name(c), n.describe(c, sides[0]), n.describe(c, sides[1]))
	why.cause = record.CauseMismatch
	n.breakComm(c, why)
}

// differs tells whether data that came for a member are not of the call that it makes.
func (o *op) differs(r *record.Record) bool {
	return r.Op != o.call.op || r.Size != o.call.size || (r.Op == record.Bcast || r.Op == record.Scatter) && o.root >= 0 && r.Src != o.root
}

// differsFrom is differs for a wish for the data of a member.
func (o *op) differsFrom(s *seat, r *record.Record) bool {
	k, c, most := o.call, o.comm, o.call.size
	switch {
	case r.Op != k.op || record.Eager(k.op, c.size, k.size):
		return true
	case k.op == record.Bcast || k.op == record.Scatter:
		if s.number != k.root {
			return true
		}
	case k.op == record.Gather:
		if r.Src != k.root {
			return true
		}
	case k.op == record.AllGather:
		most *= int64(c.size)
	}
	return r.Off+r.Size > most
}

// disagrees is mismatch for a record that came for a local member: data, or a wish,
// which says no more of the size than how much there is at least.
func (n *Node) disagrees(o *op, r *record.Record) {
	c := o.comm
	got := side{call: call{op: r.Op, size: r.Size, root: r.Dst}, root: -1}
	from := r.Src // a rank
	if r.Kind == record.Pull {
		if got.call.size = -(r.Off + r.Size); r.Op == record.Gather {
			got.call.root = r.Src
		}
		if rank, ok := c.parseRank(r.Body); c.dir != nil && ok && r.Src < c.size {
			from = rank
		}
	}
	got.root = n.rankOf(c, got.call)
	switch {
	case r.Kind == record.Data && (r.Op == record.Bcast || r.Op == record.Scatter):
		got.root = from
		if got.call.root = from; c.dir != nil {
			got.call.root = -1 // elsewhere
		}
	case r.Kind == record.Pull && r.Op == record.Gather:
		got.root = from
	}
	if from < c.size {
		got.ranks, got.count = []int{from}, 1
	}
	n.mismatch(o, got)
}

// past is an operation that is over at a node.
type past struct {
	seq  uint64
	call call
	root int // its rank
}

// pastCalls bounds the past operations that a node remembers of a communicator: no
// member is further behind another.
const pastCalls = 2 * record.SyncEvery

// remember keeps the call of an operation that is over here.
func (c *comm) remember(o *op) {
	if o.call.op == 0 {
		return
	}
	if c.past == nil {
		c.past = make([]past, pastCalls)
	}
	c.past[o.seq%pastCalls] = past{o.seq, o.call, o.root}
}

// pastCall returns the call of an operation that is over here, if it is known.
func (c *comm) pastCall(seq uint64) (x past, ok bool) {
	if c.past != nil {
		x = c.past[seq%pastCalls]
	}
	return x, x.call.op != 0 && x.seq == seq
}

// wasOther tells whether an operation is known to have been another here.
func (c *comm) wasOther(seq uint64, o record.Op) bool {
	x, ok := c.pastCall(seq)
	return ok && x.call.op != o
}

// Doubt has the agents of all members told the calls of local ranks that wait in an
// operation for long. Members may disagree, so that none of their messages ever meet:
// ranks that gather among themselves, and others in a barrier.
func (n *Node) Doubt(comm, seq uint64) {
	c := n.comms[comm]
	if c == nil || c.ops[seq] == nil || c.ops[seq].call.op == 0 {
		return
	}
	o := c.ops[seq]
	var here []int
	for _, s := range c.order {
		if s.next > seq {
			here = append(here, s.rank)
		}
	}
	slices.Sort(here)
	if x := (past{seq, o.call, o.root}); c.doubted != x && len(here) > 0 {
		c.doubted = x
		n.tellComm(c, &record.Record{Kind: record.Called, Op: o.call.op, Fn: o.call.fn, Comm: comm, Seq: seq,
			Src: o.root, Dst: o.call.root, Size: o.call.size, Body: record.AppendRuns(nil, here)})
	}
}

// called takes such a word from a neighbor, and reports whether those beyond this node
// are to hear it: not if they have, or if it ends the communicator.
func (n *Node) called(c *comm, r *record.Record) (news bool, err error) {
	if c == nil || c.dead(r.Seq) {
		return false, nil
	}
	ranks, err := record.ParseRuns(r.Body, c.size)
	if err != nil {
		return false, err
	}
	x := past{r.Seq, call{op: r.Op, fn: r.Fn, root: r.Dst, size: r.Size}, r.Src}
	_, over := c.pastCall(r.Seq)
	if c.ops[r.Seq] != nil || over {
		o := n.op(c, r.Seq)
		if o.call.op != 0 && o.call != x.call || !o.agrees(x.call.bare()) {
			n.mismatch(o, side{call: x.call, root: x.root, ranks: ranks, count: len(ranks)})
			return false, nil
		}
		n.settleOp(o)
	}
	news = c.doubted != x
	c.doubted = x
	return news, nil
}

// breakComm says everywhere that no operation of c can succeed any more.
func (n *Node) breakComm(c *comm, why reason) {
	if n.broken(c, why, 0, true) {
		n.tellComm(c, &record.Record{Kind: record.Lost, Comm: c.id, Each: true, Fn: uint8(why.cause), Body: []byte(why.text)})
	}
}

// breakOp is breakComm for a reason that one of its operations shows.
func (n *Node) breakOp(o *op, format string, args ...any) {
	n.breakComm(o.comm, otherReason("operation %d of %s: %s", o.seq, n.name(o.comm), fmt.Sprintf(format, args...)))
}
