package commsplit

import "slices"

// search is one process's view of the hunt for the exact splitters, all of a
// group's at once ([Sack 2.3.1, step 2]; Saukas and Song 1998).
// Splitter k is the row that is the first of sorter k's share: as many rows as
// the shares before it hold come before it. A process keeps, per splitter, the
// range of its own table where it can still lie.
type search struct {
	table  []Row
	shares split
	at     []candidate // by splitter; 0 is not searched for

	// The contents of this round's probes, which others read during the next
	// step. That ends with a verdict, so the round after may write here again.
	words   []uint64
	medians []Row
}

type candidate struct {
	lo, hi int // the splitter is one of table[lo:hi] or on another process
	cut    int // rows of table before pivot
	above  int // first row after pivot
	pivot  Row
	found  bool
}

// maxRounds is more than any search takes: each round leaves out a quarter of the
// rows.
const maxRounds = 128

// Verdicts on a pivot.
const (
	tooHigh = iota
	tooLow
	exact
)

// beyond comes after every row, because rows of no colour are in no table.
var beyond = Row{Rank: 1<<32 - 1, key: 1<<32 - 1, Color: Undefined}

func (s *search) begin(table []Row, shares split) {
	s.table, s.shares = table, shares
	s.at = make([]candidate, shares.parts)
	for k := range s.at {
		s.at[k].hi = len(table)
	}
	s.at[0].found = true
}

// probe measures the pivot of splitter k: how many rows come before it, and the
// medians of the ranges on either side with the numbers of rows there.
func (s *search) probe(k int) Message {
	c := &s.at[k]
	c.cut = c.lo + lowerBound(s.table[c.lo:c.hi], &c.pivot)
	c.above = c.cut
	if c.cut < c.hi && s.table[c.cut] == c.pivot {
		c.above++
	}
	left, right := c.cut-c.lo, c.hi-c.above
	w, r := len(s.words), len(s.medians)
	s.words = append(s.words, uint64(c.cut), uint64(left), uint64(right))
	if left > 0 {
		s.medians = append(s.medians, s.table[c.lo+left/2])
	}
	if right > 0 {
		s.medians = append(s.medians, s.table[c.above+right/2])
	}
	return Message{Words: s.words[w:len(s.words):len(s.words)], Rows: s.medians[r:len(s.medians):len(s.medians)]}
}

// judge is done by the sorter whose share splitter k begins, with all sorters'
// probes: it says on which side of the pivot the splitter is and proposes the
// weighted median of that side's medians, which leaves out at least a quarter
// of the rows and typically half.
func (s *search) judge(k int, probes []Message) Message {
	before, want := 0, s.shares.start(k)
	for _, m := range probes {
		before += int(m.Words[0])
	}
	if before == want {
		return Message{Words: []uint64{exact}, Rows: []Row{s.at[k].pivot}}
	}
	verdict, side := tooHigh, 1
	if before < want {
		verdict, side = tooLow, 2
	}
	type median struct {
		row    Row
		weight uint64
	}
	medians := make([]median, 0, len(probes))
	total := uint64(0)
	for _, m := range probes {
		if w := m.Words[side]; w > 0 {
			row := m.Rows[0]
			if side == 2 {
				row = m.Rows[len(m.Rows)-1]
			}
			medians = append(medians, median{row, w})
			total += w
		}
	}
	if total == 0 { // there are fewer rows than sorters, and none for this one
		return Message{Words: []uint64{exact}, Rows: []Row{beyond}}
	}
	slices.SortFunc(medians, func(a, b median) int { return Compare(a.row, b.row) })
	sum := uint64(0)
	i := 0
	for ; 2*(sum+medians[i].weight) < total; i++ {
		sum += medians[i].weight
	}
	return Message{Words: []uint64{uint64(verdict)}, Rows: []Row{medians[i].row}}
}

// apply takes the verdict on splitter k.
func (s *search) apply(k int, m Message) {
	c := &s.at[k]
	c.pivot = m.Rows[0]
	switch m.Words[0] {
	case tooHigh:
		c.hi = c.cut
	case tooLow:
		c.lo = c.above
	default:
		c.found = true
		c.cut = lowerBound(s.table, &c.pivot)
	}
}

// remaining counts the splitters still searched for.
func (s *search) remaining() int {
	n := 0
	for k := range s.at {
		if !s.at[k].found {
			n++
		}
	}
	return n
}

// cuts returns the bounds of the shares within this process's table.
func (s *search) cuts() []int {
	cuts := make([]int, len(s.at)+1)
	for k := 1; k < len(s.at); k++ {
		cuts[k] = s.at[k].cut
	}
	cuts[len(s.at)] = len(s.table)
	return cuts
}

// shareOf returns the sorter in whose share a row is.
func (s *search) shareOf(x *Row) int {
	lo, hi := 0, len(s.at)-1 // the share is lo..hi
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if before(x, &s.at[mid].pivot) != 0 {
			hi = mid - 1
		} else {
			lo = mid
		}
	}
	return lo
}

// probe sends this process's share of each open splitter to the sorter that looks for
// it.
func (p *Parallel) probe(round int) stage {
	return func(_ []Message, out *Outbox) stage {
		s := &p.search
		if s.remaining() == 0 {
			return p.bring
		}
		if round == maxRounds {
			return p.fail("%d splitters are not found in %d rounds", s.remaining(), round)
		}
		tag := tagProbe + Tag(round)
		var own Message
		s.words, s.medians = slices.Grow(s.words[:0], 3*len(s.at)), slices.Grow(s.medians[:0], 2*len(s.at))
		out.Messages = slices.Grow(out.Messages, len(s.at))
		for k := range s.at {
			if s.at[k].found {
				continue
			}
			m := s.probe(k)
			if k == p.block {
				own = m
				continue
			}
			m.To, m.Tag = p.member(k, p.group), tag
			out.send(m)
		}
		if !s.at[p.block].found {
			out.await(tag, p.config.Sorters-1)
		}
		return p.judge(round, own)
	}
}

// judge tells the group the verdict on this process's own splitter.
func (p *Parallel) judge(round int, own Message) stage {
	return func(in []Message, out *Outbox) stage {
		s := &p.search
		tag := tagVerdict + Tag(round)
		expected := s.remaining()
		var verdict Message
		if !s.at[p.block].found {
			verdict = s.judge(p.block, p.insertOwn(in, own))
			p.peers(out, tag, func(int) Message { return verdict })
			expected--
		}
		out.await(tag, expected)
		return func(in []Message, _ *Outbox) stage {
			if !s.at[p.block].found {
				s.apply(p.block, verdict)
			}
			for _, m := range in {
				s.apply(p.blocks.partOf(m.From), m)
			}
			return p.probe(round + 1)
		}
	}
}
