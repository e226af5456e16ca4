package commsplit

import "slices"

const (
	tagToHome Tag = (0x210 + iota) << 16
	tagToRank
)

// Hash computes a split by sending each row to the home of its colour, a process
// that a hash of the colour names. The home sorts its classes and keeps their
// tables; ranks are told their places. Where all classes are small that takes
// O(n/P) expected time and memory. A class is held by one process whatever its
// size, so it is the wrong choice for large ones. Rows and answers travel along
// Bruck's pattern, 2⌈lg P⌉ rounds of one message each.
type Hash struct {
	script
	config Config
	own    []Row
	items  items
	ranks  []uint32
	result Result
}

// NewHash returns the part of one process; Sorters and Parts of the
// configuration do not matter.
func NewHash(config Config, process int, rows []Row) (*Hash, error) {
	h, err := newHash(config, process, rows)
	if err != nil {
		return nil, err
	}
	h.items = itemsOf(config.Processes, process, rows, h.way)
	h.next = h.route(tagToHome, 0, h.sort)
	return h, nil
}

// newHashAtHome returns a part that goes on where a survey has brought the items
// to their homes.
func newHashAtHome(config Config, process int, rows []Row, list items) (*Hash, error) {
	h, err := newHash(config, process, rows)
	if err != nil {
		return nil, err
	}
	h.items = list
	h.next = h.sort
	return h, nil
}

func newHash(config Config, process int, rows []Row) (*Hash, error) {
	config.Sorters, config.Parts = 1, 1
	if err := config.check(process); err != nil {
		return nil, err
	}
	h := &Hash{config: config, own: rows}
	h.id, h.limits = process, config.limits()
	return h, nil
}

// Result is the outcome, once the machine is done.
func (h *Hash) Result() Result { return h.result }

// way is the distance to a process: step k of Bruck's pattern takes its bit k.
func (h *Hash) way(to int) uint32 {
	n := h.config.Processes
	return uint32((to%n + n - h.id) % n)
}

// route carries items to the processes that they are for: round k moves those
// whose distance has bit k by 2^k.
func (h *Hash) route(tag Tag, round int, then stage) stage {
	return func(_ []Message, out *Outbox) stage {
		n := h.config.Processes
		if 1<<round >= n {
			return then
		}
		stay, leave := h.items.part(1<<round, nil)
		out.send(Message{To: (h.id + 1<<round) % n, Tag: tag + Tag(round), Words: leave})
		out.await(tag+Tag(round), 1)
		return func(in []Message, _ *Outbox) stage {
			h.items = append(stay, in[0].Words...)
			if !h.limits.items(h.items) {
				return h.fail("%d rows on their way, of %d ranks", len(h.items)/itemWords, h.limits.ranks)
			}
			h.holds(len(h.own) + (len(h.items)+len(in[0].Words))/itemWords)
			return h.route(tag, round+1, then)
		}
	}
}

// sort is the home's work.
func (h *Hash) sort(_ []Message, _ *Outbox) stage {
	table := make([]Row, 0, len(h.items)/itemWords)
	origin := make(map[uint32]uint32, cap(table))
	for item := range slices.Chunk(h.items, itemWords) {
		_, from := unpair(item[0])
		color, key := unpair(item[1])
		r := Row{Rank: uint32(item[2]), key: key, Color: color}
		table = append(table, r)
		origin[r.Rank] = from
	}
	h.holds(len(h.own) + len(h.items)/itemWords + len(table))
	SortRows(table)
	h.items = h.items[:0]
	h.ranks = make([]uint32, len(table))
	start := 0
	for i, r := range table {
		h.ranks[i] = r.Rank
		if r.Color != table[start].Color {
			start = i
		}
		if i+1 < len(table) && table[i+1].Color == r.Color {
			continue
		}
		for j := start; j <= i; j++ {
			pl := Place{Rank: table[j].Rank, New: uint32(j - start), Size: uint32(i + 1 - start), Base: uint32(start)}
			h.items = pl.append(append(h.items, pair(h.way(int(origin[pl.Rank])), uint32(h.id))))
		}
	}
	return h.route(tagToRank, 0, h.finish)
}

func (h *Hash) finish(_ []Message, _ *Outbox) stage {
	places := make(map[uint32]Place, len(h.own))
	for item := range slices.Chunk(h.items, itemWords) {
		_, home := unpair(item[0])
		pl := parsePlace(item[1:])
		pl.Home = int32(home)
		places[pl.Rank] = pl
	}
	h.items = nil
	list := inOrder(h.own, places)
	if h.err = h.limits.checkPlaces(h.own, list, -1); h.err != nil {
		return nil
	}
	h.result = Result{list, newHome(h.id, h.config.Processes, h.ranks, h.config.Cache)}
	return nil
}
