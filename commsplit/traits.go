package commsplit

import (
	"cmp"
	"slices"
)

// sampled is how many rows a survey carries.
const sampled = 32

// traits describe a set of ranks in constant space, whatever their order.
type traits struct {
	plural bool  // some process has another rank than its number, or more than one
	sample []Row // defined rows whose ranks have the smallest hashes
	colors sketch
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

// message is that of the summary, with the traits behind.
func (t traits) message(s summary) Message {
	m := s.message()
	m.Words[1] |= hasTraits << 32
	if t.plural {
		m.Words[1] |= isPlural << 32
	}
	m.Rows, m.Words = t.sample, append(m.Words, t.colors...)
	return m
}

func parseTraits(m Message) (t traits, ok bool) {
	flags, _ := unpair(m.Words[1])
	return traits{flags&isPlural != 0, m.Rows, m.Words[summaryWords:]}, flags&hasTraits != 0
}
