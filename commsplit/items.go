package commsplit

import "slices"

// items are what travels to certain processes: rows to the homes of their colours,
// and what these answer. Each has itemWords words. The first says which steps of the
// way it has yet to take, a bit each, and who sent it; the others are its content.
type items []uint64

const itemWords = 3

// home is the process that has all rows of a colour.
func home(color uint32, processes int) int { return int(mix(uint64(color)) % uint64(processes)) }

// itemsOf are those that tell homes of a process's rows, with room for some more;
// way gives the steps from here to a process.
func itemsOf(processes, process int, rows []Row, way func(to int) uint32) items {
	list := make(items, 0, itemWords*(len(rows)+len(rows)/2))
	color, steps := uint32(Undefined), uint32(0)
	for _, r := range rows {
		if r.Color == Undefined {
			continue
		}
		if r.Color != color {
			color, steps = r.Color, way(home(r.Color, processes))
		}
		list = append(list, pair(steps, uint32(process)), pair(r.Color, r.key), uint64(r.Rank))
	}
	return list
}

// part takes out those that go a step, a power of two, and appends them to words.
// There is no branch that depends on where they go: half of them would be guessed
// wrong.
func (list items) part(step uint32, words []uint64) (stay items, left []uint64) {
	bit := pair(step, 0)
	n := 0
	for i := 0; i < len(list); i += itemWords {
		n += int(min(list[i]&bit, 1))
	}
	if n == 0 {
		return list, words
	}
	left = slices.Grow(words, itemWords*(n+1)) // the last written may stay
	out := left[len(words):cap(left)]
	kept, gone := 0, 0
	for i := 0; i < len(list); i += itemWords {
		a, b, c := list[i], list[i+1], list[i+2]
		o, s := out[gone:gone+itemWords], list[kept:kept+itemWords]
		leaves := int(min(a&bit, 1))
		a &^= bit
		o[0], o[1], o[2] = a, b, c
		s[0], s[1], s[2] = a, b, c
		gone += itemWords * leaves
		kept += itemWords * (1 - leaves)
	}
	return list[:kept], left[:len(words)+gone]
}
