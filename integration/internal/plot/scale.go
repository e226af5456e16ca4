package plot

import (
	"errors"
	"math"
	"slices"
)

// maxTicks bounds how many values of a logarithmic x axis are each a tick.
const maxTicks = 12

// scale maps values to pixels.
type scale struct {
	log      bool
	low      float64 // value, or its logarithm, at from
	high     float64 // at to
	from, to float64
	ticks    []float64
}

// newScale spans values. Where each is to have its tick, and they are few, the
// ticks are the values themselves: numbers of nodes, say.
func newScale(a Axis, values []float64, from, to float64, each bool) (scale, error) {
	low, high := slices.Min(values), slices.Max(values)
	s := scale{log: a.Log, from: from, to: to}
	if a.Log {
		if low <= 0 {
			return s, errors.New("a logarithmic axis takes positive values only")
		}
		s.ticks = logTicks(low, high)
		if own := slices.Compact(slices.Sorted(slices.Values(values))); each && len(own) <= maxTicks {
			s.ticks = own
		}
		s.low, s.high = math.Log(min(low, s.ticks[0])), math.Log(max(high, s.ticks[len(s.ticks)-1]))
	} else {
		s.ticks = linearTicks(min(low, 0), high)
		s.low, s.high = s.ticks[0], s.ticks[len(s.ticks)-1]
	}
	if s.low == s.high {
		s.low, s.high = s.low-1, s.high+1
	}
	return s, nil
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log(v)
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// linearTicks are round numbers, five to eleven, that span low to high.
func linearTicks(low, high float64) (ticks []float64) {
	if high <= low {
		high = low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, m := range []float64{5, 2} {
		if (high-low)/(step*m) >= 5 {
			step *= m
			break
		}
	}
	for i := math.Floor(low / step); ; i++ {
		ticks = append(ticks, i*step)
		if i*step >= high {
			return ticks
		}
	}
}

// logTicks are powers of ten that span low to high, with 2 and 5 in between
// where these are few.
func logTicks(low, high float64) (ticks []float64) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	steps := []float64{1}
	if last-first <= 3 {
		steps = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, m := range steps {
			ticks = append(ticks, m*math.Pow(10, e))
		}
	}
	// The tightest that still span it.
	for len(ticks) > 2 && ticks[1] <= low {
		ticks = ticks[1:]
	}
	for len(ticks) > 2 && ticks[len(ticks)-2] >= high {
		ticks = ticks[:len(ticks)-1]
	}
	return ticks
}
