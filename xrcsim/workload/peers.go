package workload

import (
	"cmp"
	"slices"
)

// MaxRanks is the most ranks that a program may have.
const MaxRanks = 1 << 20

// Peers adds to a set the ranks with which a rank exchanges messages, in both
// directions: where a is a peer of b, b is one of a. It may add some of them
// twice, and the rank itself, which is no peer.
type Peers func(s *Set, rank int)

// Set is some ranks: runs of consecutive ones, and single ones. All with all is
// one run, so that it is counted without a look at each.
type Set struct {
	runs   [][2]int32 // the first, and the one after the last
	single []int32
}

// Reset empties the set and keeps its memory.
func (s *Set) Reset() { s.runs, s.single = s.runs[:0], s.single[:0] }

// Add adds a rank.
func (s *Set) Add(rank int) { s.single = append(s.single, int32(rank)) }

// AddRun adds the ranks from first up to, but not with, end.
func (s *Set) AddRun(first, end int) {
	if first < end {
		s.runs = append(s.runs, [2]int32{int32(first), int32(end)})
	}
}

// Single returns the ranks that Add has added, in that order. They belong to the set.
func (s *Set) Single() []int32 { return s.single }

// Runs returns the runs, joined where they overlap or touch, and ascending. They
// belong to the set.
func (s *Set) Runs() [][2]int32 {
	slices.SortFunc(s.runs, func(a, b [2]int32) int { return cmp.Compare(a[0], b[0]) })
	out := s.runs[:0]
	for _, r := range s.runs {
		if last := len(out) - 1; last >= 0 && r[0] <= out[last][1] {
			out[last][1] = max(out[last][1], r[1])
		} else {
			out = append(out, r)
		}
	}
	s.runs = out
	return out
}

// List is every rank of the set but one, each once, ascending: for few ranks.
func (s *Set) List(but int) []int32 {
	list := append([]int32{}, s.single...)
	for _, r := range s.runs {
		for x := r[0]; x < r[1]; x++ {
			list = append(list, x)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(x int32) bool { return x == int32(but) })
}

// Both returns the peers of two patterns together.
func Both(a, b Peers) Peers {
	return func(s *Set, rank int) {
		a(s, rank)
		b(s, rank)
	}
}

// Nobody is the pattern of processes that do not communicate.
func Nobody(*Set, int) {}

// All returns the pattern in which all exchange with all.
func All(ranks int) Peers {
	return func(s *Set, _ int) { s.AddRun(0, ranks) }
}
