package commsplit

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// survey describes the colours of a set of ranks in constant space, for the choice
// of an algorithm. It counts items, the stretches of rows that travel as one.
//
// An exact number of colours would take as many words as there are colours. So the
// number is estimated by linear counting (Whang, Vander-Zanden and Taylor 1990) with
// 128 bits: within a tenth, mostly, for up to 200 colours, and never more than 621;
// where there are more, classes are taken to be larger than they are. The items of a
// large class are counted by the frequent-items summary of Misra and Gries (1982),
// merged as in Agarwal and others (2013): of N items, a colour that has x is said
// to have x at most and x - N/5 at least.
type survey struct {
	colors   [2]uint64 // bit mix(colour) mod 128 of each colour
	frequent [4]tally
}

// tally counts the items of a colour that were seen, less those that others cancelled.
type tally struct{ color, items uint32 }

const (
	colorBits   = 128
	surveyWords = 6
)

// newSurvey describes one process's rows.
func newSurvey(rows []Row) *survey {
	s := &survey{}
	for i := 0; i < len(rows); i = stretch(rows, i) {
		if color := rows[i].Color; color != Undefined {
			bit := mix(uint64(color)) % colorBits
			s.colors[bit/64] |= 1 << (bit % 64)
			s.see(color)
		}
	}
	return s
}

// see counts one item.
func (s *survey) see(color uint32) {
	free := -1
	for i := range s.frequent {
		t := &s.frequent[i]
		if t.items > 0 && t.color == color {
			t.items++
			return
		}
		if t.items == 0 {
			free = i
		}
	}
	if free >= 0 {
		s.frequent[free] = tally{color, 1}
		return
	}
	for i := range s.frequent {
		s.frequent[i].items--
	}
}

// join makes s describe the ranks of t, too, which are others. Both sides of an
// exchange come to the same: the outcome is symmetric in s and t.
func (s *survey) join(t survey) {
	s.colors[0] |= t.colors[0]
	s.colors[1] |= t.colors[1]
	all := make([]tally, 0, 2*len(s.frequent)+1)
	for _, x := range slices.Concat(s.frequent[:], t.frequent[:]) {
		switch i := slices.IndexFunc(all, func(y tally) bool { return y.color == x.color }); {
		case x.items == 0:
		case i >= 0:
			all[i].items += x.items
		default:
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y tally) int { return cmp.Or(cmp.Compare(y.items, x.items), cmp.Compare(x.color, y.color)) })
	all = all[:cap(all)] // the rest are zero
	cut := all[len(s.frequent)].items
	for i := range s.frequent {
		s.frequent[i] = tally{}
		if all[i].items > cut {
			s.frequent[i] = tally{all[i].color, all[i].items - cut}
		}
	}
}

// count estimates the number of colours, at least 1.
func (s *survey) count() float64 {
	unset := colorBits - bits.OnesCount64(s.colors[0]) - bits.OnesCount64(s.colors[1])
	return max(1, colorBits*math.Log(colorBits/float64(max(unset, 1))))
}

// largest estimates the items of the class that has most, of so many in all: those
// of a frequent colour, or the mean, if that is more.
func (s *survey) largest(items uint32) float64 {
	most := slices.MaxFunc(s.frequent[:], func(x, y tally) int { return cmp.Compare(x.items, y.items) })
	return max(1, float64(items)/s.count(), float64(most.items))
}

// words appends the survey.
func (s *survey) words(w []uint64) []uint64 {
	w = append(w, s.colors[:]...)
	for _, t := range s.frequent {
		w = append(w, pair(t.color, t.items))
	}
	return w
}

func parseSurvey(w []uint64) (s survey) {
	w = w[copy(s.colors[:], w):]
	for i := range s.frequent {
		s.frequent[i].color, s.frequent[i].items = unpair(w[i])
	}
	return s
}
