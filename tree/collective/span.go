package collective

import (
	"encoding/binary"
	"errors"
	"sort"
)

// span is a run of consecutive numbers.
type span struct{ first, count uint32 }

func (s span) end() uint32 { return s.first + s.count }

// spans is a set of numbers: runs in order, none touching the next.
type spans []span

// newSpans returns the set of numbers in order, none of which is there twice.
func newSpans(numbers []uint32) (set spans) {
	for _, x := range numbers {
		if last := len(set) - 1; last >= 0 && set[last].end() == x {
			set[last].count++
		} else {
			set = append(set, span{x, 1})
		}
	}
	return set
}

// index returns the position of a number in the set, in order; false if it is not
// there.
func (s spans) index(number uint32) (position int, ok bool) {
	for _, x := range s {
		if number < x.first {
			break
		}
		if number < x.end() {
			return position + int(number-x.first), true
		}
		position += int(x.count)
	}
	return 0, false
}

// at returns the number at a position.
func (s spans) at(position int) uint32 {
	for _, x := range s {
		if position < int(x.count) {
			return x.first + uint32(position)
		}
		position -= int(x.count)
	}
	panic("a position beyond the set") // a bug of this package
}

// size counts the numbers.
func (s spans) size() int {
	n := 0
	for _, x := range s {
		n += int(x.count)
	}
	return n
}

var errNumbers = errors.New("a malformed list of numbers")

// uvarint cuts a number off b.
func uvarint(b []byte) (v uint64, rest []byte, err error) {
	v, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, errNumbers
	}
	return v, b[used:], nil
}

// directions tells in which direction numbers are, in runs: which child has them
// below it, or this node; others are beyond the parent. Endpoints are placed, and members of a
// communicator that a Split made are numbered, in the order of the tree, or nearly,
// so there are few runs.
type directions struct {
	starts  []uint32 // run i is of the numbers starts[i] to starts[i+1]-1
	towards []Direction
}

// add appends a run.
func (w *directions) add(start uint32, toward Direction) {
	switch last := len(w.towards) - 1; {
	case last >= 0 && w.towards[last] == toward:
	case last > 0 && w.starts[last] == start && w.towards[last-1] == toward:
		w.starts, w.towards = w.starts[:last], w.towards[:last]
	case last >= 0 && w.starts[last] == start:
		w.towards[last] = toward
	default:
		w.starts, w.towards = append(w.starts, start), append(w.towards, toward)
	}
}

// newDirections makes the ways from runs of numbers, in order; those between are up.
func newDirections(list []directedSpan) *directions {
	w := &directions{starts: make([]uint32, 0, len(list)+1), towards: make([]Direction, 0, len(list)+1)}
	w.add(0, Up)
	for _, x := range list {
		w.add(x.first, x.toward)
		w.add(x.end(), Up)
	}
	return w
}

// directedSpan is a run of numbers in one direction.
type directedSpan struct {
	span
	toward Direction
}

func (w *directions) find(number int) Direction {
	toward, _ := w.run(number, 0)
	return toward
}

// run returns the direction of a number, and the first number after it that may be
// elsewhere; size is the number of numbers.
func (w *directions) run(number, size int) (toward Direction, end int) {
	i := sort.Search(len(w.starts), func(i int) bool { return int(w.starts[i]) > number })
	if i < len(w.starts) {
		size = int(w.starts[i])
	}
	return w.towards[i-1], size
}
