package collective

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// span is a run of consecutive numbers.
type span struct{ first, count uint32 }

func (s span) end() uint32 { return s.first + s.count }

// spans is a set of numbers: runs in order, none touching the next.
type spans []span

// unite sorts runs and joins those that touch. Runs that overlap are an error.
func unite(list spans) (spans, error) {
	slices.SortFunc(list, func(a, b span) int { return int(int64(a.first) - int64(b.first)) })
	out := list[:0]
	for _, s := range list {
		switch last := len(out) - 1; {
		case last >= 0 && s.first < out[last].end():
			return nil, fmt.Errorf("number %d twice", s.first)
		case last >= 0 && s.first == out[last].end():
			out[last].count += s.count
		default:
			out = append(out, s)
		}
	}
	return out, nil
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

// append appends the set's wire form: the number of runs, then for each the
// distance from the end of the one before and its length, all unsigned varints.
func (s spans) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	end := uint32(0)
	for _, x := range s {
		b = binary.AppendUvarint(b, uint64(x.first-end))
		b = binary.AppendUvarint(b, uint64(x.count))
		end = x.end()
	}
	return b
}

var errSpans = errors.New("a malformed set of numbers")

// parseSpans reads a set of numbers below limit.
func parseSpans(b []byte, limit int) (list spans, rest []byte, err error) {
	var n uint64
	if n, b, err = uvarint(b); err != nil || n > uint64(len(b)) {
		return nil, nil, errSpans
	}
	end := uint64(0)
	for range n {
		var gap, count uint64
		gap, b, err = uvarint(b)
		if err == nil {
			count, b, err = uvarint(b)
		}
		if err != nil || gap > uint64(limit) || count == 0 || count > uint64(limit) || end+gap+count > uint64(limit) {
			return nil, nil, errSpans
		}
		list = append(list, span{uint32(end + gap), uint32(count)})
		end += gap + count
	}
	return list, b, nil
}

// uvarint cuts a number off b.
func uvarint(b []byte) (v uint64, rest []byte, err error) {
	v, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, errSpans
	}
	return v, b[used:], nil
}

// ways tells in which direction the members of a communicator are that a Split
// made: for those below a node, or on it, which way; all others are beyond the
// parent. So each node holds what is below it, a leaf its own members.
type ways struct {
	starts []uint32 // run i is of the members starts[i] to starts[i+1]-1
	hops   []Hop
}

// newWays makes the ways from runs of members, in order.
func newWays(list []way) *ways {
	w := &ways{starts: make([]uint32, 0, len(list)+1), hops: make([]Hop, 0, len(list)+1)}
	add := func(start uint32, hop Hop) {
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
	add(0, Up)
	for _, x := range list {
		add(x.first, x.hop)
		add(x.end(), Up)
	}
	return w
}

// way is a run of members in one direction.
type way struct {
	span
	hop Hop
}

func (w *ways) of(member int) Hop {
	i := sort.Search(len(w.starts), func(i int) bool { return int(w.starts[i]) > member })
	return w.hops[i-1]
}
