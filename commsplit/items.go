package commsplit

import "math/bits"

// itemList travel to certain processes: rows to the homes of their colours, and their
// answers. Each has itemWords words. The first has the steps of the way that it has yet
// to take, a bit each, and its sender; the others are its content. An item is of a
// stretch of rows: of one colour and key, of consecutive ranks, so that they are next
// to each other in the table, too.
type itemList []uint64

const itemWords = 3

// home returns the process that has all rows of a colour.
func home(color uint32, processes int) int {
	high, _ := bits.Mul64(mix(uint64(color)), uint64(processes))
	return int(high)
}

// stretch returns the end of the stretch that begins with row i.
func stretch(rows []Row, i int) int {
	first := rows[i]
	for i++; i < len(rows) && rows[i].Color == first.Color && rows[i].key == first.key && rows[i].Rank == rows[i-1].Rank+1; i++ {
	}
	return i
}

// itemsOf makes the items that tell homes of a process's rows, with room for some more.
func (h *Hash) itemsOf(rows []Row) itemList {
	list := make(itemList, 0, itemWords*(len(rows)+len(rows)/2))
	for i := 0; i < len(rows); {
		r, end := rows[i], stretch(rows, i)
		if r.Color != Undefined {
			steps := h.way(home(r.Color, h.config.Processes))
			list = append(list, pair(steps, uint32(h.id)), pair(r.Color, r.key), pair(uint32(end-i), r.Rank))
		}
		i = end
	}
	return list
}

// rows is of how many rows items are that go to a home.
func (list itemList) rows() int {
	n := 0
	for i := 0; i < len(list); i += itemWords {
		n += int(list[i+2] >> 32)
	}
	return n
}

// part takes out those that go a step, a power of two.
// There is no branch that depends on where they go: half of them would be guessed
// wrong.
func (list itemList) part(step uint32) (stay, left itemList) {
	bit := pair(step, 0)
	n := 0
	for i := 0; i < len(list); i += itemWords {
		n += int(min(list[i]&bit, 1))
	}
	if n == 0 {
		return list, nil
	}
	left = make(itemList, itemWords*(n+1)) // the last written may stay
	kept, gone := 0, 0
	for i := 0; i < len(list); i += itemWords {
		a, b, c := list[i], list[i+1], list[i+2]
		o, s := left[gone:gone+itemWords], list[kept:kept+itemWords]
		leaves := int(min(a&bit, 1))
		a &^= bit
		o[0], o[1], o[2] = a, b, c
		s[0], s[1], s[2] = a, b, c
		gone += itemWords * leaves
		kept += itemWords * (1 - leaves)
	}
	return list[:kept], left[:gone]
}
