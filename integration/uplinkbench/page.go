package main

import (
	"fmt"
	"slices"
	"strings"
)

// page is the page of results.
func page(runs int, all []reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The tree over two switches

	go run ./integration/uplinkbench -runs %d

Eight hosts of a test cluster, four on each of two leaf switches; their links carry
%d Mbit/s, those between leaf and core switch %d Mbit/s, each way. Hosts are listed
alternately from both switches. Operations of the tree's service, from rank 0 or to it;
the size is that of the whole in a broadcast, of a rank's part in a gather, of what a rank
has for each other in an all-to-all. Bytes are what leaf switches send to the core for one
operation, by the counters of their interfaces, with all headers; times are those of the
slowest rank. Medians of %d runs, with and without --topology in turn.

| operation | size | ranks on a host | degree | kB without | kB with | | ms without | ms with | |
|---|---|---|---|---|---|---|---|---|---|
`, runs, shape.Edge/1e6, shape.Uplink/1e6, runs)
	for _, o := range operations() {
		for _, s := range settings() {
			kb := func(network bool) float64 {
				return medianOf(all, s, o, network, func(r reading) float64 { return r.bytes / 1e3 })
			}
			ms := func(network bool) float64 {
				return medianOf(all, s, o, network, func(r reading) float64 { return r.seconds * 1e3 })
			}
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f | %.1f | %s | %.2f | %.2f | %s |\n", o.name, o.size, s.each, s.degree,
				kb(false), kb(true), change(kb(false), kb(true)), ms(false), ms(true), change(ms(false), ms(true)))
		}
	}
	b.WriteString(`
Without a network the tree of degree 8 is a star, four of whose edges cross the core; with
it one edge does, and the tree is a level deeper. A gather brings the parts of four hosts
over the core in any tree, so a star has nothing to save there but headers. Short
operations differ by no more than the machine's own noise: all nodes share its processors,
and its links delay nothing.
`)
	return b.String()
}

// change is by how much something is more or less.
func change(from, to float64) string { return fmt.Sprintf("%+.0f %%", 100*(to/from-1)) }

// medianOf is the median of a value of readings over the runs.
func medianOf(all []reading, s setting, o operation, network bool, value func(reading) float64) float64 {
	var values []float64
	for _, r := range all {
		if r.setting == s && r.network == network && r.what.name == o.name && r.what.size == o.size {
			values = append(values, value(r))
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
