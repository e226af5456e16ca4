package collective

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/record"
)

// class is a communicator that a Split makes, as far as a node knows it before
// it is formed: the members below, or here.
type class struct {
	color uint32
	size  int         // of all of it
	id    uint64      // the communicator's number; 0 until the node of its first member is heard
	parts []classPart // in the order of the tree, once all are heard
	seats []*seat     // without a communicator
}

// classPart is the members of a class in one direction: in a child's subtree, or here.
type classPart struct {
	toward         Direction
	members, nodes int
	rows           []row // in the order of the tree, without numbers; nil once the parent has them
}

// members counts the members of a class below, or here, and their nodes.
func (cl *class) members() (members, nodes int) {
	for _, p := range cl.parts {
		members += p.members
		nodes += p.nodes
	}
	return members, nodes
}

// class finds one, or makes it.
func (s *splitting) class(color uint32, size int) *class {
	cl := s.classes[color]
	if cl == nil {
		cl = &class{color: color, size: size}
		s.classes[color] = cl
	}
	return cl
}

// placed goes on when the local members know their places.
func (n *Node) placed(o *op, places []commsplit.Membership) {
	s, c := o.split, o.comm
	s.machine = nil
	for i, old := range c.order {
		color, pl := s.rows[i].Color, places[i]
		if color == record.Undefined {
			n.tellSplit(o, old, 0, 0, 0)
			continue
		}
		cl := s.class(color, int(pl.Size))
		cl.seats = append(cl.seats, &seat{ep: old.ep, rank: int(pl.New)})
		if pl.New == 0 {
			old.ep.created++
			cl.id = uint64(old.ep.id+1)<<32 | uint64(old.ep.created)
		}
	}
	for _, cl := range s.classes {
		if len(cl.seats) == 0 {
			continue
		}
		slices.SortFunc(cl.seats, func(a, b *seat) int { return a.rank - b.rank })
		own := classPart{toward: Local, members: len(cl.seats), nodes: 1}
		for _, x := range cl.seats {
			own.rows = append(own.rows, row{rank: uint32(x.rank), endpoint: uint32(x.ep.id), count: 1})
		}
		cl.parts = append(cl.parts, own)
	}
	n.joined(o)
}

// takeBelow takes a child's word on the members below it.
func (n *Node) takeBelow(o *op, toward Direction, b []byte) error {
	s := o.split
	for len(b) > 0 {
		var head [4]uint64
		var err error
		for i := range head {
			if head[i], b, err = uvarint(b); err != nil {
				return err
			}
		}
		color, size, id, nodes := head[0], head[1], head[2], head[3]
		if color >= record.Undefined || size == 0 || size > uint64(o.comm.size) {
			return fmt.Errorf("a class of colour %d, of %d members", color, size)
		}
		if id != 0 && !n.belongs(creator(id), toward) {
			return fmt.Errorf("a class of colour %d whose first member is %s, which is elsewhere", color, n.endpointName(creator(id)))
		}
		cl := s.class(uint32(color), int(size))
		rows, all, rest, err := parseRows(b, int(size), n.endpoints, rankOf)
		if err != nil {
			return err
		}
		b = rest
		twice := slices.ContainsFunc(cl.parts, func(p classPart) bool { return p.toward == toward })
		if before, _ := cl.members(); twice || uint64(cl.size) != size || id != 0 && cl.id != 0 || before+all > cl.size || nodes < 1 || nodes > uint64(all) {
			return fmt.Errorf("a class of colour %d, of %d members, %d of them on %d nodes, and %d", color, size, all, nodes, cl.size)
		}
		for _, x := range rows {
			for i := range x.count {
				if !n.belongs(int(x.endpoint+i), toward) {
					return fmt.Errorf("a class of colour %d with %s, which is elsewhere", color, n.endpointName(int(x.endpoint+i)))
				}
			}
		}
		cl.id |= id
		cl.parts = append(cl.parts, classPart{toward: toward, members: all, nodes: int(nodes), rows: rows})
	}
	if s.heard++; s.heard > o.comm.below {
		return fmt.Errorf("operation %d: a child speaks twice", o.seq)
	}
	n.joined(o)
	return nil
}

// belongs tells whether an endpoint is in a direction, or was until it was lost.
func (n *Node) belongs(endpoint int, toward Direction) bool {
	if endpoint < 0 || endpoint >= n.endpoints {
		return false
	}
	at := n.directionTo(endpoint)
	return at == toward || at == Nowhere
}

// joined forms communicators with all members below this node, and tells the parent of
// the rest, once all below and here are heard.
func (n *Node) joined(o *op) {
	s, c := o.split, o.comm
	if s.told || s.heard < c.below || !s.sorted && len(c.order) > 0 {
		return
	}
	s.told = true
	var up []byte
	for _, color := range slices.Sorted(maps.Keys(s.classes)) {
		cl := s.classes[color]
		slices.SortFunc(cl.parts, func(a, b classPart) int { return cmp.Compare(a.toward, b.toward) })
		var rows []row
		for i := range cl.parts {
			rows = append(rows, cl.parts[i].rows...)
			cl.parts[i].rows = nil
		}
		var err error
		switch members, nodes := cl.members(); {
		case members < cl.size && !c.above || members == cl.size && cl.id == 0 || members > cl.size:
			err = fmt.Errorf("%d of %d members", members, cl.size)
		case members == cl.size:
			err = n.form(o, cl, rows, nodes)
		default:
			up = binary.AppendUvarint(up, uint64(cl.color))
			up = binary.AppendUvarint(up, uint64(cl.size))
			up = binary.AppendUvarint(up, cl.id)
			up = binary.AppendUvarint(up, uint64(nodes))
			up = appendRows(up, joinRanks(rows), rankOf)
		}
		if err != nil { // agents that do not keep to the protocol
			n.breakOp(o, "colour %d: %v", color, err)
			return
		}
	}
	if c.above {
		pieces(o, pieceBelow, 0, up, func(r *record.Record) { n.enqueue(Up, record.Append(nil, r)) })
	}
	n.splitOver(o)
}

// joinRanks joins rows without numbers.
func joinRanks(rows []row) []row {
	number(rows)
	return joinRows(rows)
}

// number gives the members that rows tell of, in the order of the tree, their numbers.
func number(rows []row) {
	next := uint32(0)
	for i := range rows {
		rows[i].number = next
		next += rows[i].count
	}
}

// formed is the word that a communicator was formed, as it is for one node and
// those below.
type formed struct {
	color     uint32
	id        uint64 // 0: it cannot be
	why       []byte // not
	processes int    // of all
	number    int    // of the first member at the node or below it
	process   int    // the first there
	straight  bool   // numbers are ranks
	table     []row  // of the ranks whose homes are there
}

// form makes a communicator known to the nodes of its members and those
// between.
func (n *Node) form(o *op, cl *class, rows []row, nodes int) error {
	f := formed{color: cl.color, id: cl.id, processes: nodes, straight: true}
	if len(n.comms) >= MaxCommunicators {
		f.id, f.why = 0, fmt.Appendf(nil, "%d communicators exist already; free some", len(n.comms))
		return n.formed(o, &f)
	}
	number(rows)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.rank, b.rank) })
	next := uint32(0)
	for i := range rows {
		if rows[i].rank != next {
			return fmt.Errorf("member %d twice, or %d not at all", rows[i].rank, next)
		}
		next = rows[i].end()
		f.straight = f.straight && rows[i].rank == rows[i].number
	}
	if !f.straight {
		f.table = joinRows(rows)
	}
	return n.formed(o, &f)
}

func (f *formed) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(f.color))
	b = binary.AppendUvarint(b, f.id)
	if f.id == 0 {
		return append(b, f.why...)
	}
	for _, v := range []int{f.processes, f.number, f.process} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	if !f.straight {
		b = appendRows(b, f.table, numberOf)
	}
	return b
}

// parseFormedHead reads the part that tells which communicator it is.
func (n *Node) parseFormedHead(b []byte) (f formed, rest []byte, err error) {
	color, b, err := uvarint(b)
	if err == nil {
		f.id, b, err = uvarint(b)
	}
	if first := creator(f.id); err == nil && f.id != 0 && (first < 0 || first >= n.endpoints) {
		err = fmt.Errorf("communicator %d, of nobody's", f.id)
	}
	f.color = uint32(color)
	return f, b, err
}

// parseFormed reads the word for this node, where the class has so many nodes.
func (n *Node) parseFormed(o *op, b []byte) (*formed, error) {
	f, b, err := n.parseFormedHead(b)
	cl := o.split.classes[f.color]
	switch {
	case err != nil:
		return nil, err
	case cl == nil || !o.split.told:
		return nil, fmt.Errorf("a communicator for colour %d, which nobody here waits for", f.color)
	case f.id == 0:
		f.why, f.straight = b, true
		return &f, nil
	case cl.id != 0 && cl.id != f.id:
		return nil, fmt.Errorf("communicator %d for colour %d, whose first member's is %d", f.id, f.color, cl.id)
	}
	for _, v := range []*int{&f.processes, &f.number, &f.process} {
		var x uint64
		if x, b, err = uvarint(b); err != nil || x > uint64(cl.size) {
			return nil, errNumbers
		}
		*v = int(x)
	}
	members, nodes := cl.members()
	if f.number+members > cl.size || f.process+nodes > f.processes {
		return nil, fmt.Errorf("members from %d on, processes from %d on of %d, of a communicator of %d", f.number, f.process, f.processes, cl.size)
	}
	if f.straight = len(b) == 0; f.straight {
		return &f, nil
	}
	var all int
	if f.table, all, b, err = parseRows(b, cl.size, n.endpoints, numberOf); err != nil {
		return nil, err
	}
	c := comm{size: cl.size, processes: f.processes}
	lo, hi := c.homeStart(f.process), c.homeStart(f.process+nodes)
	if all != hi-lo || len(b) > 0 {
		return nil, fmt.Errorf("%d rows of a table for %d ranks", all, hi-lo)
	}
	for i := range f.table {
		f.table[i].rank = uint32(lo)
		lo += int(f.table[i].count)
	}
	return &f, nil
}

// formed obeys the word, and passes it on.
func (n *Node) formed(o *op, f *formed) error {
	if f.id != 0 && n.comms[f.id] != nil { // a lower number may be new: that of a split that began before another
		return fmt.Errorf("communicator %d, which is there already", f.id)
	}
	s := o.split
	cl := s.classes[f.color]
	c := &comm{id: f.id, size: cl.size, processes: f.processes, process: -1}
	here := *f
	for _, p := range cl.parts {
		if p.toward != Local {
			word := here
			if len(f.table) > 0 {
				word.table = cutRows(f.table, c.homeStart(here.process), c.homeStart(here.process+p.nodes))
			}
			pieces(o, pieceFormed, 0, word.append(nil), func(r *record.Record) { n.enqueue(p.toward, record.Append(nil, r)) })
		}
		here.number += p.members
		here.process += p.nodes
	}
	delete(s.classes, f.color)
	if f.id == 0 {
		for _, x := range cl.seats {
			n.failed(x.ep, record.FailOp, o.comm.id, o.seq, otherReason("%s", f.why))
			n.leave(o, x.ep)
		}
		n.splitOver(o)
		return nil
	}
	n.defineSplit(c, cl, f)
	for _, x := range cl.seats {
		n.tellSplit(o, x.ep.seats[o.comm.id], f.id, x.rank, cl.size)
	}
	n.splitOver(o)
	return nil
}

// tellSplit tells a member its communicator; id 0 is no communicator.
func (n *Node) tellSplit(o *op, s *seat, id uint64, rank, size int) {
	n.tell(s.ep, &record.Record{Kind: record.Data, Op: record.Split, Comm: o.comm.id, Seq: o.seq, Src: s.rank, Dst: rank,
		Count: 1, Size: int64(size), Body: binary.AppendUvarint(nil, id)})
	n.leave(o, s.ep)
}

// leave ends a local member's part in a Split.
func (n *Node) leave(o *op, ep *endpointState) {
	if m := o.members[ep.seats[o.comm.id].at]; m != nil {
		m.left = 0
		n.settle(m)
	}
}

// splitOver forgets a Split when nothing of it is left to do here.
func (n *Node) splitOver(o *op) {
	if s := o.split; s != nil && s.told && len(s.classes) == 0 {
		o.split = nil
		n.settleOp(o)
	}
}

// defineSplit makes a communicator of a Split known here. Its links are live: where a
// member is lost, so is the operation that would have made it.
func (n *Node) defineSplit(c *comm, cl *class, f *formed) {
	c.seats, c.ops = map[int]*seat{}, map[uint64]*op{}
	counts := make([]int, len(n.links))
	var members, processes []directedSpan
	number, process := f.number, f.process
	for _, p := range cl.parts {
		members = append(members, directedSpan{span{uint32(number), uint32(p.members)}, p.toward})
		processes = append(processes, directedSpan{span{uint32(process), uint32(p.nodes)}, p.toward})
		if p.toward == Local {
			c.process = process
		} else {
			counts[p.toward+1] = p.members
		}
		number, process = number+p.members, process+p.nodes
	}
	c.ways, c.homes = newDirections(members), newDirections(processes)
	c.inside = number - f.number
	counts[0] = c.size - c.inside
	for i, s := range cl.seats {
		s.comm, s.at, s.number = c, i, f.number+i
		c.seats[s.number] = s
		c.order = append(c.order, s)
		s.ep.seats[c.id] = s
	}
	if !f.straight {
		c.dir = &directory{}
		if c.process >= 0 {
			c.dir.rows = cutRows(f.table, c.homeStart(c.process), c.homeStart(c.process+1))
		}
	}
	for i, count := range counts {
		if count > 0 {
			c.towards = append(c.towards, Direction(i-1))
		}
	}
	c.lead(counts)
	n.know(c)
	n.leaveFormer(c)
}

// forgetSplit ends a Split that fails here. Of a communicator that was formed the parent may
// have told a part, the rest of which says nothing more.
func (n *Node) forgetSplit(s *splitting, why string) {
	if word := s.parts[origin{what: pieceFormed, toward: Up}]; len(word) > 0 {
		_ = n.unborn(why, word) // where it is malformed, there is no communicator
	}
}

// unborn takes the beginning of the parent's word that a communicator was formed of one
// that is broken here or was freed: members here know of no communicator, so the others
// must not use it. Its records are dropped, as if it had been freed.
func (n *Node) unborn(why string, word []byte) error {
	f, _, err := n.parseFormedHead(word)
	if err != nil || f.id == 0 || n.comms[f.id] != nil {
		return err
	}
	n.noteNewest(f.id)
	n.enqueue(Up, record.Append(nil, &record.Record{Kind: record.Lost, Comm: f.id, Each: true, Body: []byte(why)})) // below, nobody knows it
	return nil
}
