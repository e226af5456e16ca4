package commsplit

import (
	"cmp"
	"slices"
)

// sampled is how many rows a survey carries.
const sampled = 32

// run is a stretch of consecutive ranks of one colour.
type run struct {
	color      uint32
	start, end uint32 // ranks start..end-1
	key        int32  // of the stretch's outer row
}

// summary describes a stretch of ranks in constant space. Summaries of
// neighbouring stretches combine, associatively, into that of both.
type summary struct {
	ranks       uint32 // in the stretch
	from, to    uint32 // the first, and one more than the last
	irregular   bool   // some class is not a run with its keys in order of rank
	rose, fell  bool   // between runs the colour rose somewhere, fell somewhere
	defined     uint32 // ranks that have a colour
	longest     uint32 // the longest run
	first, last run    // among ranks that have a colour
}

// traits describe a set of ranks in constant space, whatever their order.
type traits struct {
	plural bool  // some process has another rank than its number, or more than one
	sample []Row // defined rows whose ranks have the smallest hashes
	colors sketch
}

// summarize describes one process's rows.
func summarize(rows []Row) summary {
	var s summary
	for _, r := range rows {
		one := summary{ranks: 1, from: r.Rank, to: r.Rank + 1}
		if r.Color != Undefined {
			one.defined, one.longest = 1, 1
			one.first = run{r.Color, r.Rank, r.Rank + 1, r.Key()}
			one.last = one.first
		}
		s = s.then(one)
	}
	return s
}

// characterize finds the traits of one process's rows.
func characterize(process int, rows []Row) traits {
	t := traits{plural: len(rows) > 1 || len(rows) == 1 && int(rows[0].Rank) != process}
	for _, r := range rows {
		if r.Color != Undefined {
			t.sample = append(t.sample, r)
			t.colors.add(r.Color)
		}
	}
	slices.SortFunc(t.sample, func(a, b Row) int { return cmp.Compare(mix(uint64(a.Rank)), mix(uint64(b.Rank))) })
	t.sample = t.sample[:min(len(t.sample), sampled)]
	return t
}

// union is the traits of both sets, which may overlap.
func (t traits) union(u traits) traits {
	return traits{t.plural || u.plural, mergeSamples(t.sample, u.sample), t.colors.union(u.colors)}
}

// then is the summary of s's ranks followed by t's.
func (s summary) then(t summary) summary {
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
	u.longest = max(s.longest, t.longest)
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
	u.longest = max(u.longest, t.first.end-s.last.start)
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

// largest estimates how many of the defined ranks the largest class has: exactly
// if the sample is everything; by the sample if a colour stands out in it; else
// by the number of colours, taking classes to be of about one size.
func (t traits) largest(defined uint32) float64 {
	count := map[uint32]int{}
	most := 0
	for _, r := range t.sample {
		count[r.Color]++
		most = max(most, count[r.Color])
	}
	if len(t.sample) < sampled {
		return float64(most)
	}
	share := float64(defined) * float64(most) / sampled
	if most <= 2 {
		share = min(share, float64(defined)/t.colors.count())
	}
	return max(share, 1)
}

// mergeSamples keeps the rows of two samples whose ranks have the smallest
// hashes; samples are in the order of these, and may have rows in common.
func mergeSamples(a, b []Row) []Row {
	out := make([]Row, 0, min(len(a)+len(b), sampled))
	for len(out) < sampled && len(a)+len(b) > 0 {
		switch {
		case len(a) == 0:
			out, b = append(out, b[0]), b[1:]
		case len(b) == 0:
			out, a = append(out, a[0]), a[1:]
		case a[0] == b[0]:
			b = b[1:]
		case mix(uint64(a[0].Rank)) < mix(uint64(b[0].Rank)):
			out, a = append(out, a[0]), a[1:]
		default:
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

func pair(high, low uint32) uint64 { return uint64(high)<<32 | uint64(low) }

func unpair(w uint64) (high, low uint32) { return uint32(w >> 32), uint32(w) }

func (s summary) message(t traits) Message {
	flags := uint32(0)
	for i, f := range []bool{s.irregular, s.rose, s.fell, t.plural} {
		if f {
			flags |= 1 << i
		}
	}
	words := []uint64{
		pair(s.from, s.to), pair(flags, s.defined), pair(s.longest, s.ranks),
		pair(s.first.color, s.first.start), pair(s.first.end, uint32(s.first.key)),
		pair(s.last.color, s.last.start), pair(s.last.end, uint32(s.last.key)),
	}
	return Message{Rows: t.sample, Words: append(words, t.colors...)}
}

func parseSummary(m Message) (s summary, t traits) {
	var flags, key uint32
	w := m.Words
	s.from, s.to = unpair(w[0])
	flags, s.defined = unpair(w[1])
	s.longest, s.ranks = unpair(w[2])
	s.first.color, s.first.start = unpair(w[3])
	s.first.end, key = unpair(w[4])
	s.first.key = int32(key)
	s.last.color, s.last.start = unpair(w[5])
	s.last.end, key = unpair(w[6])
	s.last.key = int32(key)
	s.irregular, s.rose, s.fell = flags&1 != 0, flags&2 != 0, flags&4 != 0
	return s, traits{flags&8 != 0, m.Rows, w[7:]}
}

// scan tells every process the summary of all ranks before its own and that of
// all after them, and the traits of all, in ⌈lg P⌉ rounds of at most two
// messages (Hillis and Steele, in both directions).
type scan struct {
	id, processes int
	tag           Tag
	own           summary
	before, after summary // of the nearest processes on either side
	traits        traits  // of these and this one
	reach         int     // how many processes own and before cover
	then          stage
}

func (s *scan) begin(_ []Message, out *Outbox) stage {
	s.reach = max(s.reach, 1)
	if s.reach >= s.processes {
		return s.then
	}
	awaited := 0
	tell := func(to int, m Message) {
		if to >= 0 && to < s.processes {
			m.To, m.Tag = to, s.tag
			out.send(m)
			awaited++
		}
	}
	tell(s.id-s.reach, s.own.then(s.after).message(s.traits))
	tell(s.id+s.reach, s.before.then(s.own).message(s.traits))
	out.await(s.tag, awaited)
	return s.extend
}

func (s *scan) extend(in []Message, _ *Outbox) stage {
	for _, m := range in {
		sum, t := parseSummary(m)
		s.traits = s.traits.union(t)
		if m.From < s.id {
			s.before = sum.then(s.before)
		} else {
			s.after = s.after.then(sum)
		}
	}
	s.reach *= 2
	s.tag++
	return s.begin
}

// all is the summary of everything, the same at every process.
func (s *scan) all() summary { return s.before.then(s.own).then(s.after) }
