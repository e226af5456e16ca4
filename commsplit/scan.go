package commsplit

import "slices"

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
	plural      bool   // some process has another rank than its number, or more than one
	sample      []Row  // defined rows whose ranks have the smallest hashes
	colors      sketch
}

// summarize describes one process's rows.
func summarize(process int, rows []Row) summary {
	var s summary
	for _, r := range rows {
		one := summary{ranks: 1, from: r.Rank, to: r.Rank + 1}
		if r.Color != Undefined {
			one.defined, one.longest = 1, 1
			one.first = run{r.Color, r.Rank, r.Rank + 1, r.Key()}
			one.last, one.sample = one.first, []Row{r}
		}
		s = s.then(one)
	}
	s.plural = len(rows) > 1 || len(rows) == 1 && int(rows[0].Rank) != process
	for i := 0; len(s.sample) > 0 && i < len(rows); i++ {
		s.colors.add(rows[i].Color)
	}
	return s
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
	u.plural = s.plural || t.plural
	u.sample = mergeSamples(s.sample, t.sample)
	u.colors = s.colors.union(t.colors)
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

// largest estimates how many ranks the largest class has: exactly if the sample
// is everything; by the sample if a colour stands out in it; else by the number
// of colours, taking classes to be of about one size.
func (s summary) largest() float64 {
	count := map[uint32]int{}
	most := 0
	for _, r := range s.sample {
		count[r.Color]++
		most = max(most, count[r.Color])
	}
	if len(s.sample) < sampled {
		return float64(most)
	}
	share := float64(s.defined) * float64(most) / sampled
	if most <= 2 {
		share = min(share, float64(s.defined)/s.colors.count())
	}
	return max(share, 1)
}

// mergeSamples keeps the rows of two samples whose ranks have the smallest
// hashes; samples are in the order of these.
func mergeSamples(a, b []Row) []Row {
	var out []Row
	for len(out) < sampled && len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && mix(uint64(a[0].Rank)) < mix(uint64(b[0].Rank)) {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

func pair(high, low uint32) uint64 { return uint64(high)<<32 | uint64(low) }

func unpair(w uint64) (high, low uint32) { return uint32(w >> 32), uint32(w) }

func (s summary) message() Message {
	flags := uint32(0)
	for i, f := range []bool{s.irregular, s.rose, s.fell, s.plural} {
		if f {
			flags |= 1 << i
		}
	}
	words := []uint64{
		pair(s.from, s.to), pair(flags, s.defined), pair(s.longest, s.ranks),
		pair(s.first.color, s.first.start), pair(s.first.end, uint32(s.first.key)),
		pair(s.last.color, s.last.start), pair(s.last.end, uint32(s.last.key)),
	}
	return Message{Rows: s.sample, Words: append(words, s.colors...)}
}

func parseSummary(m Message) (s summary) {
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
	s.plural = flags&8 != 0
	s.sample, s.colors = m.Rows, w[7:]
	return s
}

// scan tells every process the summary of all ranks before its own and that of
// all after them, in ⌈log_r P⌉ rounds of at most 2(r-1) messages.
type scan struct {
	id, processes int
	tag           Tag
	own           summary
	before, after summary // of the nearest processes on either side
	reach         int     // how many processes own and before cover
	then          stage
}

// radix trades rounds for messages.
const radix = 8

func (s *scan) begin(_ []Message, out *Outbox) stage {
	if s.reach == 0 {
		s.reach = 1
	}
	if s.reach >= s.processes {
		return s.then
	}
	left, right := s.before.then(s.own).message(), s.own.then(s.after).message()
	awaited := 0
	for j := s.reach; j < radix*s.reach && j < s.processes; j += s.reach {
		if to := s.id + j; to < s.processes {
			m := left
			m.To, m.Tag = to, s.tag
			out.send(m)
			awaited++
		}
		if to := s.id - j; to >= 0 {
			m := right
			m.To, m.Tag = to, s.tag
			out.send(m)
			awaited++
		}
	}
	out.await(s.tag, awaited)
	return s.extend
}

func (s *scan) extend(in []Message, _ *Outbox) stage {
	for _, m := range slices.Backward(in) {
		if m.From < s.id {
			s.before = parseSummary(m).then(s.before)
		}
	}
	for _, m := range in {
		if m.From > s.id {
			s.after = s.after.then(parseSummary(m))
		}
	}
	s.reach *= radix
	s.tag++
	return s.begin
}

// all is the summary of everything, the same at every process.
func (s *scan) all() summary { return s.before.then(s.own).then(s.after) }
