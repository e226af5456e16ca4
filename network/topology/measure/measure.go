// Package measure turns the times of messages between hosts into latency and bandwidth
// for each level of a network, as [Sahoo, table 3.2] has them: it reads the output of
// programs that measure times, chooses the pairs of hosts to measure, and fits a line.
// It measures nothing itself.
package measure

import (
	"cmp"
	"fmt"
	"slices"
)

// Test is a kind of measurement.
type Test string

// The tests. A time is that of one message, one way.
const (
	// PingPong sends a message there and back: half of the round trip.
	PingPong Test = "ping-pong"
	// PingPing sends in both directions at once, until both have arrived.
	PingPing Test = "ping-ping"
	// Stream sends many messages at once: the time from one to the next, which
	// has little of the latency in it.
	Stream Test = "stream"
)

// Bounds of a message's size, in bytes, and of its time, in microseconds.
const (
	maxSize = 1 << 40
	minTime = 1e-6
	maxTime = 1e12
)

// Sample is the time of messages of a size between two hosts, whose names are empty if
// they are not known.
type Sample struct {
	From string  `json:"from,omitempty"`
	To   string  `json:"to,omitempty"`
	Test Test    `json:"test"`
	Size int64   `json:"bytes"`
	Time float64 `json:"us"` // microseconds, one way
}

// Check reports errors of a sample.
func (s *Sample) Check() error {
	switch {
	case s.Test != PingPong && s.Test != PingPing && s.Test != Stream:
		return fmt.Errorf("test %q: expected %s, %s or %s", s.Test, PingPong, PingPing, Stream)
	case s.Size < 0 || s.Size > maxSize:
		return fmt.Errorf("message of %d bytes: expected 0 to %d", s.Size, int64(maxSize))
	case !(s.Time >= minTime && s.Time <= maxTime): // not a number fails, too
		return fmt.Errorf("time of %v us: expected %v to %v", s.Time, minTime, maxTime)
	case (s.From == "") != (s.To == ""):
		return fmt.Errorf("from %q to %q: expected the names of both hosts, or of neither", s.From, s.To)
	}
	return nil
}

// Level sums up the samples of one test between hosts at one distance.
type Level struct {
	Hops  *int `json:"hops,omitempty"` // switches between the hosts; nil if no network tells
	Test  Test `json:"test"`
	Pairs int  `json:"pairs"` // different pairs of hosts
	Line
}

// Report is the outcome of a measurement, as JSON has it.
type Report struct {
	Network string   `json:"network,omitempty"`
	Levels  []Level  `json:"levels"`
	Samples []Sample `json:"samples"`
}

// Levels fits a line to the samples of each distance and test, in that order. Hops
// tells the switches between two hosts; nil makes one level of all.
func Levels(samples []Sample, hops func(from, to string) (int, error)) ([]Level, error) {
	type key struct {
		hops int
		test Test
	}
	groups := map[key][]Sample{}
	for _, s := range samples {
		k := key{0, s.Test}
		if hops != nil {
			var err error
			if k.hops, err = hops(s.From, s.To); err != nil {
				return nil, err
			}
		}
		groups[k] = append(groups[k], s)
	}
	var levels []Level
	for k, of := range groups {
		l := Level{Test: k.test, Pairs: pairs(of)}
		if hops != nil {
			l.Hops = &k.hops
		}
		var err error
		if l.Line, err = Fit(of); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name(), err)
		}
		levels = append(levels, l)
	}
	slices.SortFunc(levels, func(a, b Level) int {
		return cmp.Or(cmp.Compare(a.hops(), b.hops()), cmp.Compare(a.Test, b.Test))
	})
	return levels, nil
}

func (l *Level) hops() int {
	if l.Hops == nil {
		return 0
	}
	return *l.Hops
}

// Name returns the level and the test, in words.
func (l *Level) Name() string {
	switch {
	case l.Hops == nil:
		return "all, " + string(l.Test)
	case *l.Hops == 1:
		return "1 hop, " + string(l.Test)
	}
	return fmt.Sprintf("%d hops, %s", *l.Hops, l.Test)
}

// pairs counts the different pairs of hosts, whichever of the two comes first.
func pairs(samples []Sample) int {
	seen := map[[2]string]bool{}
	for _, s := range samples {
		seen[[2]string{min(s.From, s.To), max(s.From, s.To)}] = true
	}
	return len(seen)
}
