package commsplit

import "math/bits"

// cube puts processes at the corners of a hypercube, so that all learn of all in
// ⌊lg P⌋ rounds of one message. Where P is no power of two, the first processes
// share corners in pairs, of which the second, a guest, speaks to the first only,
// before these rounds and after. Neighbours are at neighbouring corners.
type cube struct {
	processes  int
	dimensions int
	guests     int // how many corners have two processes
}

func newCube(processes int) cube {
	d := bits.Len(uint(processes)) - 1
	return cube{processes, d, processes - 1<<d}
}

// corner is where a process is.
func (c cube) corner(process int) int {
	if process >= 2*c.guests {
		return process - c.guests
	}
	return process / 2
}

// host is the process that speaks for a corner.
func (c cube) host(corner int) int {
	if corner >= c.guests {
		return corner + c.guests
	}
	return 2 * corner
}

func (c cube) isGuest(process int) bool { return process%2 == 1 && process < 2*c.guests }

func (c cube) hasGuest(process int) bool { return process%2 == 0 && process < 2*c.guests }

// Steps of an item's way besides the bits in which corners differ.
const (
	toHost  = 1 << 30
	toGuest = 1 << 31
)

// way is the steps from one process to another.
func (c cube) way(from, to int) uint32 {
	steps := uint32(c.corner(from) ^ c.corner(to))
	if c.isGuest(from) {
		steps |= toHost
	}
	if c.isGuest(to) {
		steps |= toGuest
	}
	return steps
}

// tagBack is added to a scan's tag for what a guest is told.
const tagBack Tag = 0xff

// scan tells every process the summary of all ranks before its own and that of
// all after them, in ⌊lg P⌋ rounds of one message each, two more for guests and
// their hosts. A survey may go along.
type scan struct {
	id            int
	cube          cube
	tag           Tag
	own           summary
	before, after summary
	near          summary // of the corners heard of so far
	guest         summary
	survey        *survey // nil if there is none
	then          stage
}

func (s *scan) begin(_ []Message, out *Outbox) stage {
	s.near = s.own
	switch {
	case s.cube.isGuest(s.id):
		s.tell(out, s.id-1, s.tag, toHost)
		out.await(s.tag+tagBack, 1)
		return s.told
	case s.cube.hasGuest(s.id):
		out.await(s.tag, 1)
		return func(in []Message, _ *Outbox) stage {
			s.guest = parseSummary(in[0].Words)
			s.near = s.own.then(s.guest)
			if s.survey != nil {
				s.survey.hearGuest(in[0])
			}
			return s.across(0)
		}
	}
	return s.across(0)
}

// again goes on where the survey fell silent, now that it is known what is before
// this process and after it.
func (s *scan) again(tag Tag) stage {
	s.tag = tag
	v := s.survey
	asked := v.asks
	v.resume()
	switch {
	case s.cube.isGuest(s.id) && !asked:
		return func(_ []Message, out *Outbox) stage {
			out.await(s.tag+tagBack, 1)
			return s.told
		}
	case s.cube.isGuest(s.id), s.cube.hasGuest(s.id) && asked:
		return s.begin
	}
	s.near = v.near
	return s.across(v.level)
}

// homeward lets the items go on that were held, whatever else is known.
func (s *scan) homeward(tag Tag) stage {
	s.tag = tag
	v := s.survey
	v.again, v.traits.silent, v.whole, v.holds = true, true, false, false
	if !v.sent {
		v.sendItems()
	}
	if s.cube.isGuest(s.id) {
		return func(_ []Message, out *Outbox) stage {
			out.await(s.tag+tagBack, 1)
			return s.told
		}
	}
	from := v.traits.held
	v.traits.held = s.cube.dimensions
	return s.across(from)
}

// tell sends what is known of the corners heard of so far; with a survey, items
// that go that step.
func (s *scan) tell(out *Outbox, to int, tag Tag, step uint32) {
	m := Message{To: to, Tag: tag}
	if s.survey != nil {
		m = s.survey.message(m, s.near, step)
	} else {
		m.Words = s.near.words(make([]uint64, 0, summaryWords))
	}
	out.send(m)
}

// across exchanges summaries with the corner that differs in one bit.
func (s *scan) across(dimension int) stage {
	return func(_ []Message, out *Outbox) stage {
		if dimension == s.cube.dimensions {
			return s.tellGuest
		}
		if s.survey != nil {
			s.survey.weigh(s.near, dimension, s.cube.dimensions-dimension)
		}
		here, bit := s.cube.corner(s.id), 1<<dimension
		tag := s.tag + 1 + Tag(dimension)
		s.tell(out, s.cube.host(here^bit), tag, uint32(bit))
		out.await(tag, 1)
		return func(in []Message, _ *Outbox) stage {
			if s.survey != nil {
				s.survey.hear(in[0], dimension, s.near)
			}
			sum := parseSummary(in[0].Words)
			if here&bit != 0 {
				s.before, s.near = sum.then(s.before), sum.then(s.near)
			} else {
				s.after, s.near = s.after.then(sum), s.near.then(sum)
			}
			return s.across(dimension + 1)
		}
	}
}

// tellGuest hands on what is before the guest; behind it, what is after it.
func (s *scan) tellGuest(_ []Message, out *Outbox) stage {
	if s.cube.hasGuest(s.id) {
		m := Message{To: s.id + 1, Tag: s.tag + tagBack}
		if s.survey != nil {
			m = s.survey.message(m, s.before.then(s.own), toGuest)
		} else {
			m.Words = s.before.then(s.own).words(nil)
		}
		m.Words = s.after.words(m.Words)
		out.send(m)
		s.after = s.guest.then(s.after)
	}
	return s.then
}

func (s *scan) told(in []Message, _ *Outbox) stage {
	m := in[0]
	last := len(m.Words) - summaryWords
	s.before, s.after = parseSummary(m.Words), parseSummary(m.Words[last:])
	if s.survey != nil {
		m.Words = m.Words[:last]
		s.survey.told(m)
	}
	return s.then
}

// all is the summary of everything, the same at every process.
func (s *scan) all() summary { return s.before.then(s.own).then(s.after) }
