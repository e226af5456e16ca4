package collective

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/record"
)

// A communicator that a Split made counts its members twice. Its programs know
// the ranks that the Split gave them. Among agents a member has a *number*: its
// place in the order of the tree, a node's own members first, then those below
// its first child, and so on. So members that lie in one direction have numbers
// in a row, and a node needs only a few bounds to know the way to each. The
// nodes that have members are counted in the same order, as *processes*.
//
// Ranks in the order of the tree are numbers already. Where they are not, a
// table tells the number of each rank: row r is at the home of rank r, a process
// that has the rows of n/P ranks ([Sack 2.3.2]; docs/client.md).
// An agent asks there before it sends to a member that it has not heard of
// lately, and nothing that is under way ever waits for that: only its own
// endpoints' requests do.
type directory struct {
	rows    []row                 // of the ranks whose home is here
	waits   map[int][]func(place) // questions under way, by rank
	numbers []uint32              // of all ranks, while some operation needs them
	missing map[int]int           // answers that numbers still lack: how many ranks, from which on
}

// place is a member's number, and its endpoint there.
type place struct{ number, endpoint int }

// row is a run of consecutive ranks of the table whose numbers and endpoints are
// consecutive, too.
type row struct{ rank, number, endpoint, count uint32 }

func (r *row) end() uint32 { return r.rank + r.count }

// placeOf returns the place of a rank that r tells of.
func (r *row) placeOf(rank int) place {
	after := rank - int(r.rank)
	return place{int(r.number) + after, int(r.endpoint) + after}
}

// follows tells whether r goes on where before ends.
func (r *row) follows(before *row) bool {
	return r.rank == before.end() && r.number == before.number+before.count && r.endpoint == before.endpoint+before.count
}

// find returns the row of a rank; false if rows, in order, have none.
func find(rows []row, rank int) (place, bool) {
	i := sort.Search(len(rows), func(i int) bool { return int(rows[i].end()) > rank })
	if i == len(rows) || rank < int(rows[i].rank) {
		return place{}, false
	}
	return rows[i].placeOf(rank), true
}

// cutRows cuts rows, in order, down to the ranks from lo to hi-1.
func cutRows(rows []row, lo, hi int) (cut []row) {
	for i := sort.Search(len(rows), func(i int) bool { return int(rows[i].end()) > lo }); i < len(rows) && int(rows[i].rank) < hi; i++ {
		x := rows[i]
		if first, last := max(lo, int(x.rank)), min(hi, int(x.end())); first < last {
			p := x.placeOf(first)
			cut = append(cut, row{rank: uint32(first), number: uint32(p.number), endpoint: uint32(p.endpoint), count: uint32(last - first)})
		}
	}
	return cut
}

// joinRows joins rows, in order, that go on where the one before ends.
func joinRows(rows []row) []row {
	out := rows[:0]
	for _, x := range rows {
		if last := len(out) - 1; last >= 0 && x.follows(&out[last]) {
			out[last].count += x.count
		} else {
			out = append(out, x)
		}
	}
	return slices.Clip(out)
}

// The wire form of rows is their number, then for each its distance from the end of the
// one before, that of its endpoint, and its length, as varints. Of ranks and numbers
// the one that goes up by itself is left out.

// appendRows appends rows by the number of each that what selects.
func appendRows(b []byte, rows []row, what func(*row) *uint32) []byte {
	b = binary.AppendUvarint(b, uint64(len(rows)))
	at, endpoint := int64(0), int64(0)
	for i := range rows {
		x := &rows[i]
		b = binary.AppendVarint(b, int64(*what(x))-at)
		b = binary.AppendVarint(b, int64(x.endpoint)-endpoint)
		b = binary.AppendUvarint(b, uint64(x.count))
		at, endpoint = int64(*what(x))+int64(x.count), int64(x.endpoint)+int64(x.count)
	}
	return b
}

func rankOf(x *row) *uint32   { return &x.rank }
func numberOf(x *row) *uint32 { return &x.number }

// parseRows reads rows, of size members and some endpoints; all is the number of
// members in them.
func parseRows(b []byte, size, endpoints int, what func(*row) *uint32) (rows []row, all int, rest []byte, err error) {
	n, b, err := uvarint(b)
	if err != nil || n > uint64(len(b)) {
		return nil, 0, nil, errNumbers
	}
	at, endpoint := int64(0), int64(0)
	for range n {
		var step [2]int64
		for i := range step {
			v, used := binary.Varint(b)
			if used <= 0 || v < -1<<32 || v > 1<<32 {
				return nil, 0, nil, errNumbers
			}
			step[i], b = v, b[used:]
		}
		var count uint64
		count, b, err = uvarint(b)
		at, endpoint = at+step[0], endpoint+step[1]
		if err != nil || count == 0 || count > uint64(size-all) || at < 0 || at > int64(size)-int64(count) ||
			endpoint < 0 || endpoint > int64(endpoints)-int64(count) {
			return nil, 0, nil, errNumbers
		}
		x := row{endpoint: uint32(endpoint), count: uint32(count)}
		*what(&x) = uint32(at)
		rows = append(rows, x)
		at, endpoint, all = at+int64(count), endpoint+int64(count), all+int(count)
	}
	return rows, all, b, nil
}

// home returns the process that has the row of a rank.
func (c *comm) home(rank int) int { return ((rank+1)*c.processes - 1) / c.size }

// homeStart returns the first rank whose home is a process, or the one after.
func (c *comm) homeStart(process int) int { return process * c.size / c.processes }

// whereIs returns a member's place, as far as this node knows it.
func (n *Node) whereIs(c *comm, rank int) (p place, ok bool) {
	if c.ways == nil {
		return place{rank, c.endpoint(rank)}, true
	}
	if i, ok := slices.BinarySearchFunc(c.order, rank, func(s *seat, rank int) int { return s.rank - rank }); ok {
		return place{c.order[i].number, c.order[i].ep.id}, true
	}
	if c.dir != nil {
		if p, ok := find(c.dir.rows, rank); ok {
			return p, true
		}
	}
	known, ok := c.cache.Get(uint64(rank))
	return place{int(known >> 32), int(uint32(known))}, ok
}

// learned remembers a member's place for a while.
func (c *comm) learned(rank int, p place) {
	if c.cache.Empty() {
		c.cache = commsplit.NewCache(max(4, min(MaxCached, c.size)))
	}
	c.cache.Put(uint64(rank), uint64(p.number)<<32|uint64(p.endpoint))
}

// whenKnown calls then with a member's place, now or when its home has told; without
// a table only the number is known. Where the communicator is broken or freed
// before, that is never.
func (n *Node) whenKnown(c *comm, rank int, then func(place)) {
	if c.dir == nil {
		then(place{number: rank})
		return
	}
	if p, ok := n.whereIs(c, rank); ok {
		then(p)
		return
	}
	d := c.dir
	if d.waits == nil {
		d.waits = map[int][]func(place){}
	}
	d.waits[rank] = append(d.waits[rank], then)
	if len(d.waits[rank]) == 1 {
		n.inquire(c, c.home(rank), rank, 1, false)
	}
}

// inquire asks a home for the rows of some ranks, all of which are there.
func (n *Node) inquire(c *comm, home, first, count int, some bool) {
	r := record.Record{Kind: record.Where, Each: some, Comm: c.id, Src: c.process, Dst: home, Count: count, Off: int64(first)}
	n.enqueue(c.homes.find(home), record.Append(nil, &r))
}

// await is a request that waits for a member's place, or did last.
type await struct {
	comm  uint64
	rank  int
	place place
	known bool
}

// numberFor returns the number of a member that a request names, or false if the
// request has to wait until it is known: then it is made again.
func (n *Node) numberFor(in *input, c *comm, rank int) (number int, ok bool) {
	if c.dir == nil {
		return rank, true
	}
	if w := in.await; w != nil && w.comm == c.id && w.rank == rank {
		return w.place.number, w.known
	}
	w := &await{comm: c.id, rank: rank}
	n.whenKnown(c, rank, func(p place) { w.place, w.known = p, true })
	if !w.known {
		in.await = w
	}
	return w.place.number, w.known
}

// rowsAtOnce bounds the ranks of one question.
const rowsAtOnce = 4 << 10

// allNumbers returns the number of every rank; false if they have to be asked for: an
// operation that needs them has something for each, or gets it.
func (n *Node) allNumbers(c *comm) (numbers []uint32, ok bool) {
	d := c.dir
	n.unkeep(c)
	if d.numbers == nil {
		d.numbers, d.missing = make([]uint32, c.size), map[int]int{}
		for p := range c.processes {
			lo, hi := c.homeStart(p), c.homeStart(p+1)
			if p == c.process {
				d.fill(cutRows(d.rows, lo, hi))
				continue
			}
			for ; lo < hi; lo += rowsAtOnce {
				d.missing[lo] = min(rowsAtOnce, hi-lo)
				n.inquire(c, p, lo, d.missing[lo], true)
			}
		}
	}
	return d.numbers, len(d.missing) == 0
}

func (d *directory) fill(rows []row) {
	for _, x := range rows {
		for i := range x.count {
			d.numbers[x.rank+i] = x.number + i
		}
	}
}

// KeptNumbers is of how many ranks a node keeps the numbers, 4 bytes each, that no
// operation needs any more: those of the communicators used last.
const KeptNumbers = 64 << 10

// keepNumbers keeps the numbers of a communicator's ranks as long as there is room, once
// no operation needs them.
func (n *Node) keepNumbers(c *comm) {
	d := c.dir
	if d == nil || d.numbers == nil || len(d.missing) > 0 {
		return
	}
	for _, o := range c.ops {
		if o.call.op == record.AllToAll || o.call.op == record.Scatter {
			return
		}
	}
	n.unkeep(c)
	n.kept = append(n.kept, c)
	ranks := 0
	for _, x := range n.kept {
		ranks += x.size
	}
	for ranks > n.keep {
		oldest := n.kept[0]
		n.kept = n.kept[1:]
		ranks -= oldest.size
		oldest.dir.numbers = nil
	}
}

// unkeep takes a communicator from those whose numbers no operation needs.
func (n *Node) unkeep(c *comm) {
	n.kept = slices.DeleteFunc(n.kept, func(x *comm) bool { return x == c })
}

// forgetLocations lets go of a communicator's answers and questions about members, once
// nothing of it can succeed. The rows stay: others may ask that have not heard of that.
func (n *Node) forgetLocations(c *comm) {
	n.unkeep(c)
	c.cache = commsplit.Cache{}
	if c.dir != nil {
		c.dir = &directory{rows: c.dir.rows}
	}
}

// passOn takes a question or an answer one step on its way between processes.
func (n *Node) passOn(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	c := n.comms[r.Comm]
	if c == nil && n.existed(r.Comm) {
		return true, nil
	}
	home := r.Dst
	if r.Kind == record.There {
		home = r.Src
	}
	if c == nil || c.dir == nil || r.Src < 0 || r.Src >= c.processes || r.Dst >= c.processes || r.Count < 1 || r.Count > rowsAtOnce ||
		r.Off < int64(c.homeStart(home)) || r.Off > int64(c.homeStart(home+1)-r.Count) || c.homes.find(r.Src) != in.toward {
		return false, fmt.Errorf("a record of kind %d from process %d to %d, for %d ranks from %d on of communicator %d", r.Kind, r.Src, r.Dst, r.Count, r.Off, r.Comm)
	}
	switch toward := c.homes.find(r.Dst); {
	case toward == in.toward:
		return false, fmt.Errorf("a record of kind %d for process %d of communicator %d, which is not here", r.Kind, r.Dst, r.Comm)
	case toward != Local && n.full(toward):
		return false, nil
	case toward != Local:
		n.enqueue(toward, raw)
		return true, nil
	case r.Kind == record.Where:
		n.tellLocations(c, r)
	default:
		n.takeLocations(c, r)
	}
	return true, nil
}

// tellLocations answers a question.
func (n *Node) tellLocations(c *comm, r *record.Record) {
	answer := *r
	answer.Kind, answer.Src, answer.Dst = record.There, r.Dst, r.Src
	answer.Body = appendRows(nil, cutRows(c.dir.rows, int(r.Off), int(r.Off)+r.Count), numberOf)
	n.enqueue(c.homes.find(answer.Dst), record.Append(nil, &answer))
}

// takeLocations takes an answer.
func (n *Node) takeLocations(c *comm, r *record.Record) {
	rows, all, rest, err := parseRows(r.Body, c.size, n.endpoints, numberOf)
	if err != nil || all != r.Count || len(rest) > 0 { // an agent that does not keep to the protocol, maybe far
		n.breakComm(c, otherReason("a look-up in %s: process %d tells %d places for %d ranks", n.name(c), r.Src, all, r.Count))
		return
	}
	rank := uint32(r.Off)
	for i := range rows {
		rows[i].rank = rank
		rank += rows[i].count
	}
	d := c.dir
	if r.Each {
		if d.missing[int(r.Off)] == r.Count {
			delete(d.missing, int(r.Off))
			d.fill(rows)
			n.keepNumbers(c) // operations that needed them may have failed meanwhile
		}
		return
	}
	for i := range rows {
		for j := range rows[i].count {
			rank := int(rows[i].rank + j)
			p, waits := rows[i].placeOf(rank), d.waits[rank]
			if len(waits) == 0 {
				continue // nobody here has asked
			}
			c.learned(rank, p)
			delete(d.waits, rank)
			for _, then := range waits {
				then(p)
			}
		}
	}
}

// Data of operations name their sender by rank; all other records between agents by
// number, to which an answer finds its way. Where the receiver's program must know the
// rank, too, of a wish and of a message, it ends the body.
const rankBytes = 4

// appendRank appends a member's rank, where there is a table.
func (s *seat) appendRank(b []byte) []byte {
	if s.comm.dir == nil {
		return b
	}
	return binary.LittleEndian.AppendUint32(b, uint32(s.rank))
}

// parseRank reads a rank at the end of b.
func (c *comm) parseRank(b []byte) (rank int, ok bool) {
	if len(b) < rankBytes {
		return 0, false
	}
	rank = int(binary.LittleEndian.Uint32(b[len(b)-rankBytes:]))
	return rank, rank < c.size
}

// isSender tells whether a record comes from the member of a seat.
func (s *seat) isSender(r *record.Record) bool {
	if r.Kind == record.Data {
		return s.rank == r.Src
	}
	return s.number == r.Src
}
