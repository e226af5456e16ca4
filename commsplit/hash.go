package commsplit

import (
	"cmp"
	"slices"
)

const (
	tagToHome Tag = (0x210 + iota) << 16
	tagToRank
)

// Hash computes a split by sending each row to the home of its colour, a process that a
// hash of the colour names. The home sorts its classes and keeps their tables; ranks
// are told their memberships. Consecutive ranks of one process, colour and key travel
// as one. With small classes only that takes O(n/P) expected time and memory. A class
// is held by one process even if it is large, so it is the wrong choice for large ones.
// Rows and answers travel along Bruck's pattern, 2⌈lg P⌉ rounds of one message each.
type Hash struct {
	script
	config Config
	own    []Row
	items  itemList
	ranks  []uint32
	result Result
}

// NewHash returns the part of one process; Sorters and Parts of the
// configuration do not matter.
func NewHash(config Config, process int, rows []Row) (*Hash, error) {
	config.Sorters, config.Parts = 1, 1
	if err := config.check(process); err != nil {
		return nil, err
	}
	h := &Hash{config: config, own: rows}
	h.id, h.limits = process, config.limits()
	h.items = h.itemsOf(rows)
	h.next = h.route(tagToHome, 0, h.sort)
	return h, nil
}

// Result returns the outcome, once the machine is done.
func (h *Hash) Result() Result { return h.result }

// way returns the distance to a process: step k of Bruck's pattern takes its bit k.
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
		stay, leave := h.items.part(1 << round)
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

// sort does the home's work.
func (h *Hash) sort(_ []Message, _ *Outbox) stage {
	type stretch struct {
		major      uint64 // colour and key
		rank, rows uint32
		from       uint32
	}
	list := make([]stretch, 0, len(h.items)/itemWords)
	for item := range slices.Chunk(h.items, itemWords) {
		_, from := unpair(item[0])
		rows, rank := unpair(item[2])
		list = append(list, stretch{major: item[1], rank: rank, rows: rows, from: from})
	}
	total := h.items.rows()
	if total > h.limits.ranks {
		return h.fail("%d rows of %d ranks", total, h.limits.ranks)
	}
	h.holds(len(h.own) + len(h.items)/itemWords + total)
	slices.SortFunc(list, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.rank, b.rank))
	})
	h.items = h.items[:0]
	h.ranks = make([]uint32, 0, total)
	for len(list) > 0 {
		color := list[0].major >> 32
		end := slices.IndexFunc(list, func(s stretch) bool { return s.major>>32 != color })
		if end < 0 {
			end = len(list)
		}
		base, size := len(h.ranks), 0
		for _, s := range list[:end] {
			size += int(s.rows)
		}
		for _, s := range list[:end] {
			pl := Membership{Rank: s.rank, New: uint32(len(h.ranks) - base), Size: uint32(size), Base: uint32(base)}
			h.items = pl.append(append(h.items, pair(h.way(int(s.from)), uint32(h.id))))
			for k := range s.rows {
				h.ranks = append(h.ranks, s.rank+k)
			}
		}
		list = list[end:]
	}
	return h.route(tagToRank, 0, h.finish)
}

func (h *Hash) finish(_ []Message, _ *Outbox) stage {
	firsts := make(map[uint32]Membership, len(h.items)/itemWords)
	for item := range slices.Chunk(h.items, itemWords) {
		_, home := unpair(item[0])
		pl := parseMembership(item[1:])
		pl.Home = int32(home)
		firsts[pl.Rank] = pl
	}
	h.items = nil
	list := make([]Membership, 0, len(h.own))
	for len(list) < len(h.own) {
		r, end := h.own[len(list)], stretch(h.own, len(list))
		pl := Membership{Rank: r.Rank, Home: Spread}
		if r.Color != Undefined {
			pl = firsts[r.Rank]
		}
		for len(list) < end {
			list = append(list, pl)
			pl.Rank++
			if r.Color != Undefined {
				pl.New++
			}
		}
	}
	if h.err = h.limits.checkMemberships(h.own, list, -1); h.err != nil {
		return nil
	}
	h.result = Result{list, newHome(h.id, h.config.Processes, h.ranks, h.config.Cache)}
	return nil
}
