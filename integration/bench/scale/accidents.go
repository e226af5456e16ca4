package scale

import (
	"fmt"
	"strings"
	"time"
)

// accidents writes start-up with slow and dead hosts.
func accidents(page *strings.Builder, s settings) error {
	const slowBy = 2 * time.Second
	fmt.Fprintf(page, `
## Slow and dead hosts

Every 20th host is slow by %v, every 100th is dead (its connections are refused, and tried again for %v).
Seconds until the launcher knows who is up, %s per hop.

| nodes | none | slow | dead | both |
|---|---|---|---|---|
`, slowBy, refusedFor, hopName(hops[0]))
	slow := func(host int) time.Duration {
		if host%20 == 7 {
			return slowBy
		}
		return 0
	}
	dead := func(host int) bool { return host%100 == 42 }
	for _, n := range s.trial[:len(s.trial)-1] {
		k, err := degreeOf(n)
		if err != nil {
			return err
		}
		b := newBatch()
		var all []*outcome
		for _, one := range []setup{{}, {slow: slow}, {dead: dead}, {slow: slow, dead: dead}} {
			one.nodes, one.ranks, one.shape = n, 1, ranges(k)
			all = append(all, b.add(one, s.Costs.at(hops[0])))
		}
		if err := b.wait(); err != nil {
			return err
		}
		fmt.Fprintf(page, "| %d |", n)
		for _, o := range all {
			fmt.Fprintf(page, " %s |", seconds(o.up))
		}
		fmt.Fprintln(page)
	}
	return nil
}
