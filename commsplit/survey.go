package commsplit

import (
	"math"
	"slices"
)

// survey is what goes along with a scan so that no round of it is lost, whatever
// is chosen in the end: rows, merged as the sort with one sorter does it, as long
// as they are few or that sort looks best; rows on their way to the homes of the
// hash algorithm; and where rows stay behind, the traits of the processes that
// were heard of.
type survey struct {
	config  Config
	costs   Costs
	process int
	free    []Row // the other buffer
	// State that a process and those it has heard of share.
	table   []Row // theirs, in order, if whole
	whole   bool
	settled bool // whether rows go along was decided
	again   bool // this is the second one: what looked like ranges is none
	traits  traits
	items   []uint64 // whose way led here
}

// newSurvey begins one; own is the summary of rows.
func newSurvey(config Config, costs Costs, process int, rows []Row, own summary, again bool) *survey {
	s := &survey{config: config, costs: costs, process: process, again: again}
	s.traits.plural = isPluralAt(process, rows)
	ranged := own.ranged() && !again
	few := costs.few()
	shape := Shape{Processes: config.Processes, Rows: config.Ranks}
	s.settled = config.Ranks > 0 && costs.carry(shape) <= 0.3*costs.rounds(shape)
	s.whole = s.settled || int(own.defined) <= few
	// A home must not be sent too much, and nothing if it is never asked.
	s.traits.keeps = s.settled || ranged && own.defined > 4 || crowded(rows)
	if !s.whole {
		s.settled = true
		switch {
		case ranged:
			s.traits.silent = true
		case s.carries(own, rows, log2(config.Processes)):
			s.whole = true
		default:
			s.traits = s.traits.union(characterize(rows))
		}
	}
	if s.whole {
		room := max(len(rows), min(few, config.Ranks))
		if int(own.defined) > few { // they go along to the end
			room = max(room, config.Ranks)
		}
		s.table, s.free = make([]Row, 0, room), make([]Row, 0, room)
		for _, r := range rows {
			if r.Color != Undefined {
				s.table = append(s.table, r)
			}
		}
		if !slices.IsSortedFunc(s.table, Compare) {
			SortRows(s.table)
		}
	}
	if !s.traits.keeps {
		s.items = slices.Grow(itemsOf(config.Processes, process, rows), itemWords*len(rows))
	}
	return s
}

// weigh decides, once they are many, whether the rows of the processes heard of
// go on with the scan, of which so many rounds are left.
func (s *survey) weigh(near summary, left int) {
	if !s.whole || len(s.table) <= s.costs.few() {
		return
	}
	switch {
	case near.ranged() && !s.again:
		s.traits.silent, s.traits.keeps = true, true
		s.drop()
	case s.settled:
	case !s.carries(near, s.table, float64(left)):
		s.drop()
	case cap(s.free) < s.config.Ranks:
		s.free = make([]Row, 0, s.config.Ranks)
	}
	s.settled = true
	if s.traits.keeps {
		s.items = nil
	}
}

// carries tells whether rows should go on to the end, judging by those of a
// 2^-left-th part of all, and whether homes will be of use.
func (s *survey) carries(near summary, rows []Row, left float64) bool {
	shape := Shape{Processes: s.config.Processes, Rows: int(float64(near.defined) * math.Exp2(left)), AtHome: !s.traits.keeps}
	if s.config.Ranks > 0 {
		shape.Rows = int(float64(s.config.Ranks) * float64(near.defined) / float64(max(near.ranks, 1)))
	}
	shape.Largest = max(1, largestShare(rows)*float64(shape.Rows))
	plan, cost := s.costs.Choose(shape, s.config.Sorters)
	carry := s.costs.carry(shape) <= cost
	s.traits.keeps = s.traits.keeps || carry || plan.Method != ByHash
	return carry
}

// drop leaves the rows behind.
func (s *survey) drop() {
	if !s.traits.silent {
		s.traits = s.traits.union(characterize(s.table))
	}
	s.whole, s.table, s.free = false, nil, nil
}

// message makes m say what is known, near being the summary of it. Items that go
// its way leave.
func (s *survey) message(m Message, near summary, way func(to int) bool) Message {
	flags := uint64(0)
	for i, f := range []bool{s.traits.plural, s.traits.silent, s.traits.keeps, s.whole, s.settled, len(s.traits.colors) > 0 && !s.whole} {
		if f {
			flags |= isPlural << i
		}
	}
	m.Words = near.words(make([]uint64, 0, summaryWords+len(s.traits.colors)+len(s.items)))
	m.Words[1] |= flags << 32
	if m.Rows = s.traits.sample; s.whole {
		m.Rows = s.table
	} else {
		m.Words = append(m.Words, s.traits.colors...)
	}
	if len(s.items) == 0 {
		return m
	}
	stay := s.items[:0]
	for i := 0; i < len(s.items); i += itemWords {
		item := s.items[i : i+itemWords]
		if to, _ := unpair(item[0]); way(int(to)) {
			m.Words = append(m.Words, item...)
		} else {
			stay = append(stay, item...)
		}
	}
	s.items = stay
	return m
}

// heard is what a message says besides the rows that go along.
func heard(m Message) (t traits, flags uint32, items []uint64) {
	flags, _ = unpair(m.Words[1])
	t.plural, t.silent, t.keeps = flags&isPlural != 0, flags&isSilent != 0, flags&isKept != 0
	items = m.Words[summaryWords:]
	if flags&isWhole == 0 {
		t.sample = m.Rows
	}
	if flags&hasColors != 0 {
		t.colors, items = sketch(items[:registers/8]), items[registers/8:]
	}
	return t, flags, items
}

// hear takes what is said of other processes.
func (s *survey) hear(m Message) {
	t, flags, items := heard(m)
	whole := flags&isWhole != 0
	s.settled = s.settled || flags&isSettled != 0
	switch {
	case s.whole && whole:
		merged := sized(s.free, len(s.table)+len(m.Rows))
		Merge(merged, s.table, m.Rows)
		s.table, s.free = merged, s.table
		s.traits.plural, s.traits.keeps = s.traits.plural || t.plural, s.traits.keeps || t.keeps
	case s.whole:
		s.traits.silent = s.traits.silent || t.silent
		s.drop()
	case whole && !s.traits.silent:
		t = t.union(characterize(m.Rows))
	}
	if !s.whole {
		s.traits = s.traits.union(t)
	}
	if s.traits.keeps {
		s.items = nil
	} else {
		s.items = append(s.items, items...)
	}
}

// told takes the outcome, at a guest.
func (s *survey) told(m Message) {
	t, flags, items := heard(m)
	s.traits, s.table, s.free = t, nil, nil
	if s.whole = flags&isWhole != 0; s.whole {
		s.table = slices.Clone(m.Rows)
	} else {
		s.traits.sample, s.traits.colors = slices.Clone(s.traits.sample), slices.Clone(s.traits.colors)
	}
	s.items = slices.Clone(items)
}
