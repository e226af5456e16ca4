package commsplit

// Table resolves ranks of new communicators to ranks of the old one, from the memory of
// one process: its part of the table, 4 bytes per row, and a bounded cache of others'
// answers [Sack 2.3.2]. The whole table has a row for each rank that has a colour, in
// the order of the sort, so that the ranks of one communicator stand next to each
// other, from Place.Base on.
type Table struct {
	process int
	total   int
	parts   split // processes into holders of the same part
	first   int   // position of ranks[0]
	ranks   []uint32
	cache   Cache
}

// partRange returns the range of positions that a process holds.
func partRange(total int, parts split, process int) (lo, hi int) {
	s, k := split{total, parts.parts}, parts.partOf(process)
	return s.start(k), s.start(k + 1)
}

func newTable(total int, parts split, process int, ranks []uint32, cached int) *Table {
	t := &Table{process: process, total: total, parts: parts, ranks: ranks, cache: NewCache(cached)}
	t.first, _ = partRange(total, parts, process)
	return t
}

// newHome returns the table of a process that holds whole communicators.
func newHome(process, processes int, ranks []uint32, cached int) *Table {
	return &Table{process: process, total: len(ranks), parts: split{processes, 1}, ranks: ranks, cache: NewCache(cached)}
}

// Rows counts the rows of the table that this process holds.
func (t *Table) Rows() int { return len(t.ranks) }

// Bytes returns the memory for rows and cache.
func (t *Table) Bytes() int { return RankBytes*len(t.ranks) + entryBytes*len(t.cache.entries) }

// Find returns the old rank of a new rank, 0 <= r < m.Size, if this process
// knows it: from its part of the table, or because it was told. If not, the
// process that Holder names knows.
func (t *Table) Find(m Membership, r uint32) (old uint32, ok bool) {
	if r >= m.Size {
		return 0, false
	}
	position := m.Base + r
	if m.Home == InRange {
		return position, true
	}
	if m.Home == Spread || int(m.Home) == t.process {
		if old, ok := t.Answer(position); ok {
			return old, true
		}
	}
	known, ok := t.cache.Get(keyOf(m, position))
	return uint32(known), ok
}

// Holder names a process that can answer for a new rank, and the position to ask
// it for. Processes that share a part of the table serve different askers.
func (t *Table) Holder(m Membership, r uint32) (process int, position uint32) {
	position = m.Base + r
	if m.Home >= 0 {
		return int(m.Home), position
	}
	part := split{t.total, t.parts.parts}.partOf(int(position))
	return t.parts.start(part) + t.process%t.parts.size(part), position
}

// Answer returns the old rank at a position; false if that is not in its part.
func (t *Table) Answer(position uint32) (old uint32, ok bool) {
	i := int(position) - t.first
	if i < 0 || i >= len(t.ranks) {
		return 0, false
	}
	return t.ranks[i], true
}

// Learn remembers a holder's answer, in place of one that was not used lately.
func (t *Table) Learn(m Membership, r, old uint32) {
	t.cache.Put(keyOf(m, m.Base+r), uint64(old))
}

func keyOf(m Membership, position uint32) uint64 {
	return uint64(m.Home+2)<<32 | uint64(position)
}
