package page

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// amount adds up messages, bytes, and nanoseconds in the calls that sent them.
type amount [3]int64

// The numbers of an amount.
const (
	messages = iota
	volume
	duration
)

// maxAmount bounds a number of an amount, so that sums of files' numbers do not
// overflow. It is that of profile.Counts.
const maxAmount = 1 << 61

func (a *amount) add(b amount) {
	for i := range a {
		a[i] = min(a[i]+b[i], maxAmount)
	}
}

// cell holds the messages between two groups of ranks at one distance.
type cell struct {
	from, to int32
	class    uint8
	amount
}

func (c *cell) key() uint64 { return uint64(c.from)<<34 | uint64(c.to)<<8 | uint64(c.class) }

// gather adds cells up that have the same place and class.
type gather struct {
	index map[uint64]int32
	cells []cell
}

func newGather() *gather { return &gather{index: map[uint64]int32{}} }

func (g *gather) add(c cell) {
	key := c.key()
	i, ok := g.index[key]
	if !ok {
		g.index[key] = int32(len(g.cells))
		g.cells = append(g.cells, c)
		return
	}
	g.cells[i].add(c.amount)
}

// sorted returns the cells by sender, receiver and class.
func (g *gather) sorted() []cell {
	slices.SortFunc(g.cells, func(a, b cell) int { return cmp.Compare(a.key(), b.key()) })
	return g.cells
}

// halved returns cells of twice as many senders and receivers each.
func halved(cells []cell) []cell {
	g := newGather()
	for _, c := range cells {
		c.from, c.to = c.from/2, c.to/2
		g.add(c)
	}
	return g.sorted()
}

// rounded returns a length of time with three digits: more would say nothing, and take
// most of the page.
func rounded(ns int64) int64 {
	unit := int64(1)
	for ns/unit >= 1000 {
		unit *= 10
	}
	return (ns + unit/2) / unit * unit
}

// kindOfCell holds the common properties of many cells.
type kindOfCell struct {
	class uint8
	amount
}

// encode writes sorted cells of so many senders for the script (assets/data.js): the kinds of cells, the most frequent
// first; how many cells each sender has; of each cell the receiver, as the step from the one before; of each its kind.
// All numbers are varints, as in package encoding/binary.
func encode(cells []cell, senders int) []byte {
	number := map[kindOfCell]uint64{} // their count, and then their index
	for _, c := range cells {
		number[kindOfCell{c.class, c.amount}]++
	}
	type counted struct {
		kindOfCell
		n uint64
	}
	kinds := make([]counted, 0, len(number))
	for k, n := range number {
		kinds = append(kinds, counted{k, n})
	}
	slices.SortFunc(kinds, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.class, b.class), slices.Compare(a.amount[:], b.amount[:]))
	})
	out := binary.AppendUvarint(nil, uint64(len(kinds)))
	for i, k := range kinds {
		number[k.kindOfCell] = uint64(i)
		out = binary.AppendUvarint(out, uint64(k.class))
		for _, n := range k.amount {
			out = binary.AppendUvarint(out, uint64(n))
		}
	}
	of := make([]uint64, senders)
	for _, c := range cells {
		of[c.from]++
	}
	for _, n := range of {
		out = binary.AppendUvarint(out, n)
	}
	for i, c := range cells {
		before := c.from
		if i > 0 && cells[i-1].from == c.from {
			before = cells[i-1].to
		}
		out = binary.AppendVarint(out, int64(c.to)-int64(before))
	}
	for _, c := range cells {
		out = binary.AppendUvarint(out, number[kindOfCell{c.class, c.amount}])
	}
	return out
}
