package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/record"
)

// name is a communicator as users know it.
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

// endpointName is an endpoint as users know it.
func (n *Node) endpointName(id int) string {
	if id < n.ranks {
		return fmt.Sprintf("rank %d", id)
	}
	return fmt.Sprintf("agent %d", id-n.ranks)
}

// text is a call as members know it: the root by its rank, if this node knows it.
func (n *Node) text(c *comm, k call) string {
	text := k.op.String()
	if k.op != record.Barrier && k.op != record.Split {
		text += fmt.Sprintf(" of %d bytes", k.size)
	}
	if combines(k.op) {
		text += ", " + record.FunctionName(k.fn)
	}
	if !rooted(k.op) {
		return text
	}
	root := fmt.Sprint(k.root)
	if c.dir != nil {
		if root = "elsewhere"; c.seats[k.root] != nil {
			root = fmt.Sprint(c.seats[k.root].rank)
		}
	}
	return text + ", root " + root
}

// side is one of two calls of an operation, and the members that make it as far as is
// known here: local ones by rank, and how many there are.
type side struct {
	call  call
	ranks []int
	count int
}

// said is what a side does, such as "ranks 0-2 and 4 others call barrier".
func (n *Node) said(c *comm, x side) string {
	noun, text := "member", n.text(c, x.call)
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

// mismatch ends a communicator whose members do different things. Of the two sides,
// got is the one that was seen last, by some members of which ranks are local. The
// side of which fewer are known comes first.
func (n *Node) mismatch(o *op, got call, ranks []int, count int) {
	c := o.comm
	last := side{got, ranks, count}
	first := side{call: o.call, count: o.told}
	if o.call.op == 0 || o.call == got {
		first.call = o.short
	}
	var here []int // that have entered
	for _, s := range c.order {
		if s.next > o.seq && !slices.Contains(ranks, s.rank) {
			here = append(here, s.rank)
		}
	}
	with := &first
	if o.call == got {
		with = &last
	}
	with.ranks, with.count = append(with.ranks, here...), with.count+len(here)
	sides := []side{first, last}
	slices.SortStableFunc(sides, func(x, y side) int { return cmp.Compare(max(x.count, 1), max(y.count, 1)) })
	why := other("operation %d of %s: %s; %s", o.seq, n.name(c), n.said(c, sides[0]), n.said(c, sides[1]))
	why.cause = record.CauseMismatch
	n.breakComm(c, why)
}

// disagrees is mismatch for what a record of another node says.
func (n *Node) disagrees(o *op, r *record.Record, got call) {
	var ranks []int
	if o.comm.dir == nil && r.Src < o.comm.size {
		ranks = []int{r.Src}
	}
	n.mismatch(o, got, ranks, len(ranks))
}

// breakComm says everywhere that no operation of c can succeed any more.
func (n *Node) breakComm(c *comm, why reason) {
	if n.broken(c, why, 0, true) {
		n.tellComm(c, &record.Record{Kind: record.Lost, Comm: c.id, Each: true, Fn: uint8(why.cause), Body: []byte(why.text)})
	}
}

// breakOp is breakComm for a reason that one of its operations shows.
func (n *Node) breakOp(o *op, format string, args ...any) {
	n.breakComm(o.comm, other("operation %d of %s: %s", o.seq, n.name(o.comm), fmt.Sprintf(format, args...)))
}
