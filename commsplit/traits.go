package commsplit

import "slices"

// sampled is how many rows a survey carries.
const sampled = 16

// traits describe a set of ranks in constant space, whatever their order.
type traits struct {
	plural bool  // some process has another rank than its number, or more than one
	silent bool  // some process said nothing but this
	keeps  bool  // some process did not send its rows to their homes
	sample []Row // defined rows whose ranks have the smallest hashes
	colors sketch
}

// characterize finds the traits of one process's rows.
func characterize(process int, rows []Row) traits {
	t := traits{plural: isPluralAt(process, rows)}
	t.sample = make([]Row, 0, min(len(rows), sampled)+1)
	var hashes [sampled + 1]uint64 // of these, in order
	for _, r := range rows {
		if r.Color == Undefined {
			continue
		}
		t.colors.add(r.Color)
		hash, at := mix(uint64(r.Rank)), len(t.sample)
		if at == sampled && hash > hashes[at-1] {
			continue
		}
		for t.sample = append(t.sample, r); at > 0 && hashes[at-1] > hash; at-- {
			hashes[at], t.sample[at] = hashes[at-1], t.sample[at-1]
		}
		hashes[at], t.sample[at] = hash, r
		t.sample = t.sample[:min(len(t.sample), sampled)]
	}
	return t
}

// crowded tells whether one colour stands out among a process's rows, so that a
// home would be sent too much.
func crowded(rows []Row) bool {
	most := max(4, len(rows)/16)
	if len(rows) <= most {
		return false
	}
	colors := make([]uint32, 0, len(rows))
	for _, r := range rows {
		if r.Color != Undefined {
			colors = append(colors, r.Color)
		}
	}
	slices.Sort(colors)
	for i := most; i < len(colors); i++ {
		if colors[i] == colors[i-most] {
			return true
		}
	}
	return false
}

func isPluralAt(process int, rows []Row) bool {
	return len(rows) > 1 || len(rows) == 1 && int(rows[0].Rank) != process
}

// union is the traits of both sets, which may overlap.
func (t traits) union(u traits) traits {
	return traits{t.plural || u.plural, t.silent || u.silent, t.keeps || u.keeps, mergeSamples(t.sample, u.sample), t.colors.union(u.colors)}
}

// largest estimates how many of the defined ranks the largest class has: exactly
// if the sample is everything; by the sample if a colour stands out in it; else
// by the number of colours, taking classes to be of about one size.
func (t traits) largest(defined uint32) float64 {
	most := 0
	for i, r := range t.sample {
		same := 1
		for _, x := range t.sample[:i] {
			if x.Color == r.Color {
				same++
			}
		}
		most = max(most, same)
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
	hash := func(rows []Row) uint64 { return mix(uint64(rows[0].Rank)) }
	var x, y uint64
	if len(a) > 0 && len(b) > 0 {
		x, y = hash(a), hash(b)
	}
	for len(out) < sampled && len(a) > 0 && len(b) > 0 {
		if x == y { // mix is one to one: the same row
			if b = b[1:]; len(b) > 0 {
				y = hash(b)
			}
			continue
		}
		if x < y {
			out, a = append(out, a[0]), a[1:]
			if len(a) > 0 {
				x = hash(a)
			}
			continue
		}
		out, b = append(out, b[0]), b[1:]
		if len(b) > 0 {
			y = hash(b)
		}
	}
	out = append(out, a[:min(len(a), sampled-len(out))]...)
	return append(out, b[:min(len(b), sampled-len(out))]...)
}

// message is that of the summary, with the traits and items behind.
func (t traits) message(s summary, items []uint64) Message {
	m := s.messageWith(len(t.colors) + len(items))
	flags := uint64(hasTraits)
	if t.plural {
		flags |= isPlural
	}
	if t.silent {
		flags |= isSilent
	}
	if t.keeps {
		flags |= isKept
	}
	if len(t.colors) > 0 {
		flags |= hasColors
	}
	m.Words[1] |= flags << 32
	m.Rows = t.sample
	m.Words = append(append(m.Words, t.colors...), items...)
	return m
}

func parseTraits(m Message) (t traits, items []uint64, ok bool) {
	flags, _ := unpair(m.Words[1])
	t.plural, t.silent, t.keeps, t.sample = flags&isPlural != 0, flags&isSilent != 0, flags&isKept != 0, m.Rows
	items = m.Words[summaryWords:]
	if flags&hasColors != 0 {
		t.colors, items = sketch(items[:registers/8]), items[registers/8:]
	}
	return t, items, flags&hasTraits != 0
}
