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

// newSpans is the set of numbers in order, none of which is there twice.
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

// index is the position of a number in the set, in order; false if it is not
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

// at is the number at a position.
func (s spans) at(position int) uint32 {
	for _, x := range s {
		if position < int(x.count) {
			return x.first + uint32(position)
		}
		position -= int(x.count)
	}
	panic("a position beyond the set") // a bug of this package
}

// size is how many numbers there are.
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

// ways tells in which direction numbers are, in runs: which child has them
// below it, or this node; others are beyond the parent. Endpoints are placed, and members of a
// communicator that a Split made are numbered, in the order of the tree, or nearly,
// so there are few runs.
type ways struct {
	starts []uint32 // run i is of the numbers starts[i] to starts[i+1]-1
	hops   []Hop
}

// add appends a run.
func (w *ways) add(start uint32, hop Hop) {
	switch last := len(w.hops) - 1; {
	case last >= 0 && w.hops[last] == hop:
	case last > 0 && w.starts[last] == start && w.hops[last-1] == hop:
		w.starts, w.hops = w.starts[:last], w.hops[:last]
	case last >= 0 && w.starts[last] == start:
		w.hops[last] = hop
	default:
		w.starts, w.hops = append(w.starts, start), append(w.hops, hop)
	}
}

// newWays makes the ways from runs of numbers, in order; those between are up.
func newWays(list []way) *ways {
	w := &ways{starts: make([]uint32, 0, len(list)+1), hops: make([]Hop, 0, len(list)+1)}
	w.add(0, Up)
	for _, x := range list {
		w.add(x.first, x.hop)
		w.add(x.end(), Up)
	}
	return w
}

// way is a run of numbers in one direction.
type way struct {
	span
	hop Hop
}

func (w *ways) of(number int) Hop {
	hop, _ := w.run(number, 0)
	return hop
}

// run is where a number is, and the first number after it that may be elsewhere;
// size is how many there are.
func (w *ways) run(number, size int) (hop Hop, end int) {
	i := sort.Search(len(w.starts), func(i int) bool { return int(w.starts[i]) > number })
	if i < len(w.starts) {
		size = int(w.starts[i])
	}
	return w.hops[i-1], size
}
