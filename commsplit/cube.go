package commsplit

import "math/bits"

// cube puts processes at the corners of a hypercube, so that all learn of all in
// ⌊lg P⌋ rounds of one message. Where P is no power of two, the first processes
// share corners in pairs, of which the second, a guest, speaks to the first only,
// before these rounds and after. Neighbors are at neighboring corners.
type cube struct {
	processes  int
	dimensions int
	guests     int // number of corners with two processes
}

func newCube(processes int) cube {
	d := bits.Len(uint(processes)) - 1
	return cube{processes, d, processes - 1<<d}
}

// corner returns the corner of a process.
func (c cube) corner(process int) int {
	if process >= 2*c.guests {
		return process - c.guests
	}
	return process / 2
}

// host returns the process that speaks for a corner.
func (c cube) host(corner int) int {
	if corner >= c.guests {
		return corner + c.guests
	}
	return 2 * corner
}

func (c cube) isGuest(process int) bool { return process%2 == 1 && process < 2*c.guests }

func (c cube) hasGuest(process int) bool { return process%2 == 0 && process < 2*c.guests }

// tagBack is added to a scan's tag for messages to a guest.
const tagBack Tag = 0xff

// scan tells every process the summary of all ranks before its own and that of
// all after them, in ⌊lg P⌋ rounds of one message each, two more for guests and
// their hosts. A survey may go along, of which everybody learns the whole.
type scan struct {
	id            int
	cube          cube
	tag           Tag
	own           summary
	before, after summary
	near          summary // of the corners heard of so far
	guest         summary
	survey        *survey // of these corners; nil if nobody wants to know
	then          stage
}

func (s *scan) begin(_ []Message, out *Outbox) stage {
	s.near = s.own
	switch {
	case s.cube.isGuest(s.id):
		s.tell(out, s.id-1, s.tag, s.own)
		out.await(s.tag+tagBack, 1)
		return s.take
	case s.cube.hasGuest(s.id):
		out.await(s.tag, 1)
		return func(in []Message, _ *Outbox) stage {
			s.guest = s.hear(in[0])
			s.near = s.own.plus(s.guest)
			return s.across(0)
		}
	}
	return s.across(0)
}

// tell sends summaries, and the survey.
func (s *scan) tell(out *Outbox, to int, tag Tag, list ...summary) {
	words := make([]uint64, 0, summaryWords*len(list)+surveyWords)
	for i := range list {
		words = list[i].words(words)
	}
	if s.survey != nil {
		words = s.survey.words(words)
	}
	out.send(Message{To: to, Tag: tag, Words: words})
}

// hear takes the summaries of other corners.
func (s *scan) hear(m Message) summary {
	if s.survey != nil {
		s.survey.join(parseSurvey(m.Words[summaryWords:]))
	}
	return parseSummary(m.Words)
}

// across exchanges summaries with the corner that differs in one bit.
func (s *scan) across(dimension int) stage {
	return func(_ []Message, out *Outbox) stage {
		if dimension == s.cube.dimensions {
			return s.tellGuest
		}
		here, bit := s.cube.corner(s.id), 1<<dimension
		tag := s.tag + 1 + Tag(dimension)
		s.tell(out, s.cube.host(here^bit), tag, s.near)
		out.await(tag, 1)
		return func(in []Message, _ *Outbox) stage {
			sum := s.hear(in[0])
			if here&bit != 0 {
				s.before, s.near = sum.plus(s.before), sum.plus(s.near)
			} else {
				s.after, s.near = s.after.plus(sum), s.near.plus(sum)
			}
			return s.across(dimension + 1)
		}
	}
}

// tellGuest hands on the summaries before and after the guest.
func (s *scan) tellGuest(_ []Message, out *Outbox) stage {
	if s.cube.hasGuest(s.id) {
		s.tell(out, s.id+1, s.tag+tagBack, s.before.plus(s.own), s.after)
		s.after = s.guest.plus(s.after)
	}
	return s.then
}

func (s *scan) take(in []Message, _ *Outbox) stage {
	w := in[0].Words
	s.before, s.after = parseSummary(w), parseSummary(w[summaryWords:])
	if s.survey != nil {
		*s.survey = parseSurvey(w[2*summaryWords:])
	}
	return s.then
}

// all returns the summary of everything, the same at every process.
func (s *scan) all() summary { return s.before.plus(s.own).plus(s.after) }
