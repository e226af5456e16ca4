package commsplit

// run is a stretch of consecutive ranks of one colour.
type run struct {
	color      uint32
	start, end uint32 // ranks start..end-1
	key        int32  // of the stretch's outer row
}

// summary describes a stretch of ranks in constant space. Summaries of
// neighboring stretches combine, associatively, into that of both.
type summary struct {
	ranks       uint32 // in the stretch
	from, to    uint32 // the first, and one more than the last
	irregular   bool   // some class is not a run with its keys in order of rank
	rose, fell  bool   // between runs the colour rose somewhere, fell somewhere
	defined     uint32 // ranks that have a colour
	items       uint32 // in which their rows travel
	plural      bool   // some process has another rank than its number, or more than one; Auto asks
	first, last run    // among ranks that have a colour
}

// summarize describes one process's rows.
func summarize(rows []Row) summary {
	var s summary
	for i := range rows {
		r := &rows[i]
		if s.ranks == 0 {
			s.from = r.Rank
		} else if s.to != r.Rank {
			s.irregular = true
		}
		s.ranks++
		s.to = r.Rank + 1
		if r.Color == Undefined {
			continue
		}
		s.defined++
		l, key := &s.last, r.Key()
		switch {
		case s.defined > 1 && r.Color == l.color:
			if l.end != r.Rank || l.key != key {
				s.items++
				s.irregular = s.irregular || l.end != r.Rank || l.key > key
			}
			if s.first.start == l.start {
				s.first.end = r.Rank + 1
			}
			l.end, l.key = r.Rank+1, key
			continue
		case s.defined > 1:
			s.rose, s.fell = s.rose || l.color < r.Color, s.fell || l.color > r.Color
		}
		s.items++
		*l = run{color: r.Color, start: r.Rank, end: r.Rank + 1, key: key}
		if s.defined == 1 {
			s.first = *l
		}
	}
	return s
}

// plus returns the summary of s's ranks followed by t's.
func (s summary) plus(t summary) summary {
	switch {
	case s.ranks == 0:
		return t
	case t.ranks == 0:
		return s
	}
	u := s
	u.ranks += t.ranks
	u.to = t.to
	u.irregular = s.irregular || t.irregular || s.to != t.from
	u.rose, u.fell = s.rose || t.rose, s.fell || t.fell
	u.defined += t.defined
	u.items += t.items
	u.plural = s.plural || t.plural
	switch {
	case t.defined == 0:
		return u
	case s.defined == 0:
		u.first, u.last = t.first, t.last
		return u
	}
	u.last = t.last
	if s.last.color != t.first.color {
		u.rose, u.fell = u.rose || s.last.color < t.first.color, u.fell || s.last.color > t.first.color
		return u
	}
	u.irregular = u.irregular || s.last.end != t.first.start || s.last.key > t.first.key
	if s.first.start == s.last.start { // s is a single run
		u.first.end = t.first.end
	}
	if t.first.start == t.last.start {
		u.last.start = s.last.start
	}
	return u
}

// ranged reports whether every class is a range of ranks in order of keys, as far
// as constant space can tell: colours that rise or fall throughout meet no
// class again.
func (s summary) ranged() bool { return !s.irregular && !(s.rose && s.fell) }

func pair(high, low uint32) uint64 { return uint64(high)<<32 | uint64(low) }

func unpair(w uint64) (high, low uint32) { return uint32(w >> 32), uint32(w) }

// Flags in a summary's message.
const (
	isIrregular = 1 << iota
	hasRisen
	hasFallen
	isPlural
)

const summaryWords = 7

// words appends the summary.
func (s summary) words(w []uint64) []uint64 {
	flags := uint32(0)
	for i, f := range []bool{s.irregular, s.rose, s.fell, s.plural} {
		if f {
			flags |= 1 << i
		}
	}
	return append(w,
		pair(s.from, s.to), pair(flags, s.defined), pair(s.items, s.ranks),
		pair(s.first.color, s.first.start), pair(s.first.end, uint32(s.first.key)),
		pair(s.last.color, s.last.start), pair(s.last.end, uint32(s.last.key)),
	)
}

func parseSummary(w []uint64) (s summary) {
	var flags, key uint32
	s.from, s.to = unpair(w[0])
	flags, s.defined = unpair(w[1])
	s.items, s.ranks = unpair(w[2])
	s.first.color, s.first.start = unpair(w[3])
	s.first.end, key = unpair(w[4])
	s.first.key = int32(key)
	s.last.color, s.last.start = unpair(w[5])
	s.last.end, key = unpair(w[6])
	s.last.key = int32(key)
	s.irregular, s.rose, s.fell = flags&isIrregular != 0, flags&hasRisen != 0, flags&hasFallen != 0
	s.plural = flags&isPlural != 0
	return s
}
