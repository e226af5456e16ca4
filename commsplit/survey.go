package commsplit

import (
	"math"
	"slices"
)

// survey is what goes along with a scan so that no round of it is lost, whatever
// is chosen in the end: rows, merged as the sort with one sorter does it, as long
// as they are few or that sort looks best; items on their way to the homes of the
// hash algorithm; and where rows stay behind, the traits of the processes that
// were heard of. Where all looks like ranges, rows stay behind once they are many,
// and nothing is said of them: the survey is silent. Items go on while they are few;
// then they are held, and scan.homeward brings them home if they are wanted. If it
// cannot be told what is best, resume says what is left to do.
type survey struct {
	config  Config
	costs   Costs
	cube    cube
	process int
	rows    []Row // of the process
	own     summary
	free    []Row       // the other buffer
	words   [3][]uint64 // of messages, used in turn
	sent    bool        // the process's own items have gone
	holds   bool        // items do not go on in this dimension
	again   bool        // what looked like ranges is none
	homing  bool        // it was decided to hash
	// Where the survey fell silent.
	level  int     // dimensions passed before
	near   summary // of the corners heard of until then
	held   int     // traits.held then
	unsaid bool    // the process's own rows did not begin
	asks   bool    // nor those of its guest, which is told so
	// State that a process and those it has heard of share.
	table   []Row // theirs, in order, if whole
	whole   bool
	settled bool // whether rows go along was decided
	traits  traits
	items   items // whose way led here
}

// newSurvey begins one; own is the summary of rows.
func newSurvey(config Config, costs Costs, process int, rows []Row, own summary) *survey {
	s := &survey{config: config, costs: costs, cube: newCube(config.Processes), process: process, rows: rows, own: own}
	s.traits.plural, s.traits.held = isPluralAt(process, rows), s.cube.dimensions
	s.prepare()
	return s
}

// prepare begins with the process's own rows.
func (s *survey) prepare() {
	few, defined := s.costs.few(), int(s.own.defined)
	shape := Shape{Processes: s.config.Processes, Rows: s.config.Ranks}
	s.settled = s.config.Ranks > 0 && s.costs.carry(shape) <= 0.3*s.costs.rounds(shape)
	if s.own.ranged() && !s.again && (defined > s.affordable() || !s.merges(shape)) {
		s.unsaid = true
		s.fallSilent(0, s.own)
		if int(s.own.items) <= 2*s.affordableItems() || s.cube.isGuest(s.process) {
			s.sendItems()
		} else {
			s.traits.held = 0
		}
		return
	}
	s.whole = s.settled || defined <= few
	// A home must not be sent too much, and nothing if it is never asked.
	s.traits.keeps = s.traits.keeps || s.settled || 4*int(s.own.items) > len(s.rows) && crowded(s.rows)
	if !s.whole {
		s.settled = true
		if s.whole = s.carries(s.own, s.rows, log2(s.config.Processes)); !s.whole {
			s.traits = s.traits.union(characterize(s.rows))
		}
	}
	if s.whole {
		room := max(len(s.rows), min(few, s.config.Ranks))
		if s.settled && defined > few { // they go along to the end
			room = max(room, s.config.Ranks)
		}
		both := make([]Row, 2*room)
		s.table, s.free = both[:0:room], both[room:]
		for _, r := range s.rows {
			if r.Color != Undefined {
				s.table = append(s.table, r)
			}
		}
		if !slices.IsSortedFunc(s.table, Compare) {
			SortRows(s.table)
		}
	}
	if s.traits.keeps {
		s.items = nil
	} else {
		s.sendItems()
	}
}

// sendItems lets the process's own items go, unless they have gone.
func (s *survey) sendItems() {
	if s.sent {
		return
	}
	s.sent = true
	own := itemsOf(s.config.Processes, s.process, int(s.own.items), s.rows, func(to int) uint32 { return s.cube.way(s.process, to) })
	s.items = append(own, s.items...)
}

// merges tells whether merging in place may be best if all processes are like this
// one, whose rows look like ranges, but classes are none.
func (s *survey) merges(shape Shape) bool {
	if shape.Rows == 0 {
		shape.Rows = int(s.own.defined) * shape.Processes
	}
	shape.Items = int(float64(shape.Rows) * float64(s.own.items) / float64(max(s.own.defined, 1)))
	shape.Largest, shape.AtHome = shape.widest(), true
	plan, _ := s.costs.Choose(shape, s.config.Sorters)
	return plan == Plan{BySort, 1}
}

// vain is the part of a survey's time that may be lost if all are ranges.
const vain = 0.06

// affordable is how many rows that look like ranges may go along with a round: all
// that did so far were as many. They are in order, so that merging is copying.
func (s *survey) affordable() int {
	budget := vain * s.costs.rounds(Shape{Processes: s.config.Processes})
	return min(int(budget/(2*RowBytes*s.costs.all()+1e-9)), s.costs.few())
}

// affordableItems is how many items a process may send along with a survey that may
// want none of them, in all.
func (s *survey) affordableItems() int {
	budget := 2 * vain * s.costs.rounds(Shape{Processes: s.config.Processes})
	return int(min(budget/(itemWords*WordBytes*s.costs.all()+1e-9), 1<<16))
}

// fallSilent leaves everything as it is in front of a dimension, but for items that
// are on their way.
func (s *survey) fallSilent(level int, near summary) {
	if !s.traits.silent {
		s.traits.silent, s.level, s.near, s.held = true, level, near, s.traits.held
	}
}

// resume goes on where the survey fell silent.
func (s *survey) resume() {
	s.again, s.traits.silent = true, false
	if s.traits.held = s.held; s.held >= s.level {
		s.traits.held = s.cube.dimensions // they go on now
	}
	if s.unsaid {
		s.prepare()
	}
}

// hold decides whether items go on: not where all looks like ranges and they are
// many, or many for one home, of a range that spans so many processes.
func (s *survey) hold(near summary, passed int) {
	mean := int(near.items) >> passed
	longest := max(near.first.end-near.first.start, near.last.end-near.last.start)
	span := int(longest) << passed / int(max(near.defined, 1))
	s.holds = !s.again && near.ranged() && ((passed+1)*mean/2 > s.affordableItems() || span > max(32, 4*mean))
	if s.holds && !s.traits.keeps {
		s.traits.held = min(s.traits.held, passed)
	}
}

// weigh decides, once they are many, whether the rows of the processes heard of
// go on with the scan, of which so many dimensions are passed and left.
func (s *survey) weigh(near summary, passed, left int) {
	s.hold(near, passed)
	if s.traits.silent {
		return
	}
	switch {
	case !s.whole:
		return
	case near.ranged() && !s.again:
		if int(near.defined) > s.affordable() {
			s.fallSilent(passed, near)
		}
		return
	case s.settled || len(s.table) <= s.costs.few():
		return
	}
	s.settled = true
	switch {
	case !s.carries(near, s.table, float64(left)):
		s.drop()
	case cap(s.free) < s.config.Ranks:
		both := make([]Row, 2*s.config.Ranks)
		s.table, s.free = append(both[:0:s.config.Ranks], s.table...), both[s.config.Ranks:]
	}
	if s.traits.keeps {
		s.items = nil
	}
}

// carries tells whether rows should go on to the end, judging by those of a
// 2^-left-th part of all. Nothing goes to homes if hashing takes clearly longer than
// what looks best.
func (s *survey) carries(near summary, rows []Row, left float64) bool {
	shape := Shape{Processes: s.config.Processes, Rows: int(float64(near.defined) * math.Exp2(left)), AtHome: !s.traits.keeps}
	if s.config.Ranks > 0 {
		shape.Rows = int(float64(s.config.Ranks) * float64(near.defined) / float64(max(near.ranks, 1)))
	}
	shape.Items = int(float64(shape.Rows) * float64(near.items) / float64(max(near.defined, 1)))
	if shape.Largest = float64(longestCluster(rows)); shape.Largest == 0 {
		shape.Largest = max(1, largestShare(rows)*float64(shape.Rows))
	}
	_, cost := s.costs.Choose(shape, s.config.Sorters)
	carry := s.costs.carry(shape) <= cost
	s.traits.keeps = s.traits.keeps || s.costs.Hash(shape)-s.costs.homeward(shape) > 1.25*cost
	return carry
}

// drop leaves the rows behind.
func (s *survey) drop() {
	s.traits = s.traits.union(characterize(s.table))
	s.whole, s.table, s.free = false, nil, nil
}

// message makes m say what is known, near being the summary of it. Items that go
// a step leave. The words are written again in the third message from here: two go
// out at most, the guest's and the next, before whoever was sent them has read them.
func (s *survey) message(m Message, near summary, step uint32) Message {
	silent := s.traits.silent
	whole := s.whole && !silent
	colors := !silent && !whole && len(s.traits.colors) > 0
	flags := uint64(0)
	for i, f := range []bool{s.traits.plural, silent, s.traits.keeps, whole, s.settled, colors, s.asks} {
		if f {
			flags |= isPlural << i
		}
	}
	if s.words[0] == nil {
		s.words[0] = make([]uint64, 0, summaryWords+registers/8+len(s.items)*5/8+itemWords)
	}
	m.Words = near.words(s.words[0][:0])
	m.Words[1] |= (flags | uint64(s.traits.held)<<heldShift) << 32
	switch {
	case silent:
	case whole:
		m.Rows = s.table
	default:
		m.Rows = s.traits.sample
	}
	if colors {
		m.Words = append(m.Words, s.traits.colors...)
	}
	// Before it goes to a guest, an item must have been everywhere else.
	if step == toHost || step == toGuest && s.traits.held == s.cube.dimensions || step < toHost && !s.holds {
		s.items, m.Words = s.items.part(step, m.Words)
	}
	s.words[0], s.words[1], s.words[2] = s.words[1], s.words[2], m.Words
	return m
}

// heard is what a message says besides the rows that go along.
func heard(m Message) (t traits, flags uint32, items []uint64) {
	flags, _ = unpair(m.Words[1])
	t.plural, t.silent, t.keeps = flags&isPlural != 0, flags&isSilent != 0, flags&isKept != 0
	t.held = int(flags >> heldShift)
	items = m.Words[summaryWords:]
	if flags&isWhole == 0 {
		t.sample = m.Rows
	}
	if flags&hasColors != 0 {
		t.colors, items = slices.Clone(sketch(items[:registers/8])), items[registers/8:] // kept
	}
	return t, flags, items
}

// hear takes what is said of other processes, in a dimension, near being known
// before.
func (s *survey) hear(m Message, level int, near summary) {
	t, flags, items := heard(m)
	whole := flags&isWhole != 0
	s.traits.plural, s.traits.keeps = s.traits.plural || t.plural, s.traits.keeps || t.keeps
	s.traits.held = min(s.traits.held, t.held)
	if t.silent {
		s.fallSilent(level, near)
	}
	switch {
	case s.traits.silent: // both have their rows yet, but items have left
	case s.whole && whole:
		merged := sized(s.free, len(s.table)+len(m.Rows))
		Merge(merged, s.table, m.Rows)
		s.table, s.free = merged, s.table
	case whole:
		s.traits = s.traits.union(characterize(m.Rows))
	default:
		if s.whole {
			s.drop()
		}
		s.traits = s.traits.union(t)
	}
	if !s.traits.silent {
		s.settled = s.settled || flags&isSettled != 0
	}
	if s.traits.keeps {
		s.items = nil
	} else {
		s.items = append(s.items, items...)
	}
}

// hearGuest takes what the process's guest says, if there is something.
func (s *survey) hearGuest(m Message) {
	s.hear(m, 0, s.own)
	s.asks = s.traits.silent
}

// told takes the outcome, at a guest.
func (s *survey) told(m Message) {
	t, flags, items := heard(m)
	s.items = append(s.items, items...)
	if s.asks = flags&isAsked != 0; t.silent {
		s.traits.plural, s.traits.silent, s.traits.keeps = t.plural, true, t.keeps
		s.traits.held = t.held
		return
	}
	s.traits, s.table, s.free = t, nil, nil
	if s.whole = flags&isWhole != 0; s.whole {
		s.table = slices.Clone(m.Rows)
	} else {
		s.traits.sample = slices.Clone(s.traits.sample)
	}
}
