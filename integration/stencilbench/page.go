package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// page renders the results.
func page(s settings, read map[string][]reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# A stencil program on two switches

	go run ./integration/stencilbench -runs %d -rounds %d -o docs/results/stencil.md

%s. A test cluster of this machine: %d leaf switches with %d nodes each, 1 Gbit/s to a
node, 100 Mbit/s between switch and core. The hosts are listed as n001, n005, n006, n002,
8 ranks each: n005 and n006 are on the other switch. 32 ranks of an MPICH program
(`+"`native/mpistencil.c`"+`) exchange faces of %d KiB with their neighbors in an open grid of
%s. One round comes before the %d that are timed. Bytes are those from
the switches to the core, by their counters, while the rounds are timed; time is that of
the slowest rank. Medians of %d runs, one of each way in turn.

| ranks | flags | MB on the uplink | beside the default | seconds | beside the default |
|---|---|---|---|---|---|
`, s.runs, s.rounds, time.Now().UTC().Format(time.DateOnly), leaves, perLeaf, face>>10, grid, s.rounds, s.runs)
	of := func(name string, value func(reading) float64) float64 {
		var values []float64
		for _, r := range read[name] {
			values = append(values, value(r))
		}
		return median(values)
	}
	bytes := func(r reading) float64 { return r.bytes / 1e6 }
	seconds := func(r reading) float64 { return r.seconds }
	base := ways[0].name
	for _, w := range ways {
		flags := "none"
		if w.more != nil {
			flags = "`" + strings.Join(w.flags("FILE"), " ") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f | %+.0f %% | %.3f | %+.0f %% |\n", w.name, flags,
			of(w.name, bytes), 100*(of(w.name, bytes)/of(base, bytes)-1),
			of(w.name, seconds), 100*(of(w.name, seconds)/of(base, seconds)-1))
	}
	return b.String()
}

// median is that of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
