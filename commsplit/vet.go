package commsplit

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// limits bound the content of messages, since it may come from a process that does not
// keep to the algorithm.
type limits struct{ processes, ranks int }

func (c *Config) limits() limits {
	if c.Ranks == 0 { // unknown
		return limits{c.Processes, math.MaxUint32}
	}
	return limits{c.Processes, c.Ranks}
}

var errForm = errors.New("it has not the form of its step")

// vet checks the messages for a process, all of them awaited with one tag.
func (l limits) vet(id int, in []Message, count int) error {
	if len(in) != count {
		return fmt.Errorf("commsplit: process %d was sent %d messages for %d", id, len(in), count)
	}
	for i := range in {
		m := &in[i]
		err := l.form(m)
		if m.From < 0 || m.From >= l.processes || m.From == id || i > 0 && m.From <= in[i-1].From {
			err = errors.New("nobody awaits it")
		}
		if err != nil {
			return fmt.Errorf("commsplit: message %#x of process %d to %d (%d rows, %d words, %d ranks): %w",
				uint32(m.Tag), m.From, id, len(m.Rows), len(m.Words), len(m.Ranks), err)
		}
	}
	return nil
}

// form checks a message by the form of its step, so that its readers find all parts,
// and no number from which too much memory would be taken.
func (l limits) form(m *Message) error {
	rows, words, good := len(m.Rows), len(m.Words), false
	step := m.Tag &^ 0xffff
	if rows > l.ranks || len(m.Ranks) > l.ranks || len(m.Ranks) > 0 && step != tagAnswer {
		return errForm
	}
	for _, r := range m.Rows {
		if int64(r.Rank) >= int64(l.ranks) && r != beyond {
			return fmt.Errorf("row %v, of %d ranks", r, l.ranks)
		}
	}
	switch step {
	case tagProxy, tagFold, tagDouble, tagUnfold, tagRows:
		good = words == 0 && isTable(m.Rows)
	case tagCount:
		good = rows == 0 && words == 1 && l.counts(m.Words...)
	case tagProbe:
		good = words == 3 && l.counts(m.Words...) && rows == int(min(1, m.Words[1])+min(1, m.Words[2]))
	case tagVerdict:
		good = words == 1 && rows == 1 && m.Words[0] <= exact
	case tagAsk:
		good = words == 1 && m.Words[0] <= uint64(rows)
	case tagBounds:
		good = rows == 0 && words == 4 && l.counts(m.Words[0], m.Words[2], m.Words[3])
	case tagAnswer:
		good = rows == 0 && words%membershipWords == 1 && l.counts(m.Words[0])
	case tagGather:
		sum := uint64(0)
		for _, w := range m.Words {
			sum += min(w, uint64(l.ranks)+1)
		}
		good = words <= l.processes && sum == uint64(rows)
	case tagSurvey:
		good = rows == 0 && l.surveys(m)
	case tagToHome:
		good = rows == 0 && l.items(m.Words) && itemList(m.Words).rows() <= l.ranks
	case tagToRank:
		good = rows == 0 && l.items(m.Words)
	case tagRanges, tagPlaces:
		good = rows == 0 && words == summaryWords*m.summaries()
	case tagTell:
		good = rows == 0 && words == 1+membershipWords && l.counts(m.Words[0])
	case tagStages:
		good = l.stages(m)
	}
	if !good {
		return errForm
	}
	return nil
}

// summaries counts those that a message of a scan carries.
func (m *Message) summaries() int {
	if m.Tag&0xffff == tagBack {
		return 2
	}
	return 1
}

// surveys checks the survey behind the summaries.
func (l limits) surveys(m *Message) bool {
	w := m.Words[min(len(m.Words), summaryWords*m.summaries()):]
	if len(w) != surveyWords {
		return false
	}
	for _, t := range parseSurvey(w).frequent {
		if int64(t.items) > int64(l.ranks) {
			return false
		}
	}
	return true
}

func (l limits) stages(m *Message) bool {
	rows, words := len(m.Rows), len(m.Words)
	switch int(m.Tag&0xffff) % stageTags {
	case stepSample:
		return words == 0 && rows > 0 && rows <= pivotSample
	case stepCount:
		return rows == 0 && words == 1 && l.counts(m.Words...)
	case stepOffset:
		return rows == 0 && words == 2 && l.counts(m.Words...)
	default:
		return words == 0 && rows == 1
	}
}

func (l limits) items(words []uint64) bool {
	return len(words)%itemWords == 0 && len(words)/itemWords <= l.ranks
}

func (l limits) counts(words ...uint64) bool {
	return len(words) > 0 && slices.Max(words) <= uint64(l.ranks)
}

// isTable reports whether rows are in order, without rows of no colour.
func isTable(rows []Row) bool {
	for i := 1; i < len(rows); i++ {
		if before(&rows[i-1], &rows[i]) == 0 {
			return false
		}
	}
	return len(rows) == 0 || rows[len(rows)-1].Color != Undefined
}

// checkMemberships checks the outcome at one process: each of its rows that has a colour
// has a place in a communicator of possible size, within a table of total rows if
// that is not negative.
func (l limits) checkMemberships(own []Row, memberships []Membership, total int) error {
	for i, r := range own {
		p := memberships[i]
		if r.Color == Undefined {
			continue
		}
		if p.New >= p.Size || int64(p.Size) > int64(l.ranks) || int(p.Home) >= l.processes || p.Home < InRange ||
			total >= 0 && int64(p.Base)+int64(p.Size) > int64(total) {
			return fmt.Errorf("commsplit: rank %d got no place, or one that cannot be: %+v", r.Rank, p)
		}
	}
	return nil
}
