package commsplit

import (
	"math"
	"slices"
)

// sampled is how many rows a survey carries.
const sampled = 16

// traits describe a set of ranks in constant space, whatever their order.
type traits struct {
	plural bool  // some process has another rank than its number, or more than one
	silent bool  // some process said nothing of its rows: they look like ranges
	keeps  bool  // some process did not send its rows to their homes, or should not have
	held   int   // some process held its items in this dimension, none before
	sample []Row // defined rows whose ranks have the smallest hashes
	colors sketch
}

// characterize finds sample and colours of rows.
func characterize(rows []Row) traits {
	t := traits{held: math.MaxInt}
	t.sample = make([]Row, 0, min(len(rows), sampled)+1)
	var hashes [sampled + 1]uint64 // of these, in order
	for i, r := range rows {
		if r.Color == Undefined {
			continue
		}
		if i == 0 || r.Color != rows[i-1].Color {
			t.colors.add(r.Color)
		}
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

// crowded tells whether one colour stands out among a process's items, so that a
// home would be sent too much. Colours are counted by their hashes.
func crowded(rows []Row) bool {
	most := max(8, len(rows)/16)
	if len(rows) <= most {
		return false
	}
	var count [256]int
	for i := 0; i < len(rows); i = stretch(rows, i) {
		if rows[i].Color == Undefined {
			continue
		}
		n := &count[mix(uint64(rows[i].Color))%uint64(len(count))]
		if *n++; *n > most {
			return true
		}
	}
	return false
}

// stretches are, in order, the colours of the stretches of rows next to each other
// of one colour.
func stretches(rows []Row) []uint32 {
	colors := make([]uint32, 0, len(rows))
	for i, r := range rows {
		if r.Color != Undefined && (i == 0 || r.Color != rows[i-1].Color || r.Rank != rows[i-1].Rank+1) {
			colors = append(colors, r.Color)
		}
	}
	slices.Sort(colors)
	return colors
}

// longestCluster is the size of the largest class among some rows, if it seems that
// members of a class have neighbouring ranks, so that these are all; 0 if not.
func longestCluster(rows []Row) int {
	longest := 0
	for i, start := 0, 0; i < len(rows); i++ {
		if rows[i].Color != rows[start].Color {
			start = i
		}
		longest = max(longest, i-start+1)
	}
	if 2*longest > len(rows) {
		return 0
	}
	some := rows[:min(len(rows), looked)]
	colors := stretches(some)
	if all := len(colors); all-len(slices.Compact(colors)) > len(some)/16 {
		return 0
	}
	return longest
}

func isPluralAt(process int, rows []Row) bool {
	return len(rows) > 1 || len(rows) == 1 && int(rows[0].Rank) != process
}

// union is the traits of both sets, which may overlap.
func (t traits) union(u traits) traits {
	return traits{t.plural || u.plural, t.silent || u.silent, t.keeps || u.keeps, min(t.held, u.held),
		mergeSamples(t.sample, u.sample), t.colors.union(u.colors)}
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

// looked is at how many rows a process looks to estimate the size of classes.
const looked = 64

// largestShare estimates the share that the largest class has among all rows from
// some of them, in any order: by the largest class here less what may be chance,
// or by how often two are of one colour, which tells classes of about one size.
func largestShare(rows []Row) float64 {
	colors := make([]uint32, 0, looked)
	if len(rows) <= looked {
		for i := range rows {
			colors = append(colors, rows[i].Color)
		}
	} else {
		for i := range uint64(looked) {
			colors = append(colors, rows[mix(i)%uint64(len(rows))].Color)
		}
	}
	slices.Sort(colors)
	n, pairs, most := len(colors), 0, 0
	for i := 0; i < n; {
		start := i
		for i < n && colors[i] == colors[start] {
			i++
		}
		pairs += (i - start) * (i - start - 1)
		most = max(most, i-start)
	}
	if n < 2 {
		return 1
	}
	return max(float64(pairs)/float64(n*(n-1)), (float64(most)-2*math.Sqrt(float64(most)))/float64(n))
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
