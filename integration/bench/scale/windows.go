package scale

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/tree/pacing"
)

// windows shows the gain of a larger window. The degree that fits it is as many as it
// has places.
func windows(page *strings.Builder, s settings) error {
	places := []int{pacing.WindowBegin, 32, 64}
	fmt.Fprintf(page, `
## A larger window

The same two times where an agent may connect to more at once to begin with than the %d of
package tree/pacing, and the degree is as much; with nodes of 2 processors and of %d. golaunch
does not do this.

| nodes | hop | processors |`, pacing.WindowBegin, coresOfNode)
	for _, w := range places {
		fmt.Fprintf(page, " %d places, k = %d |", w, w)
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(places)+3))
	for _, n := range s.trial[:len(s.trial)-1] {
		for _, hop := range hops {
			for _, cpus := range []int{2, coresOfNode} {
				b := newBatch()
				var all []*outcome
				for _, w := range places {
					all = append(all, b.add(setup{nodes: n, ranks: ranksOfDegrees, shape: ranges(w), window: w, cpus: cpus, exchange: exchangeBytes}, s.Costs.at(hop)))
				}
				if err := b.wait(); err != nil {
					return err
				}
				fmt.Fprintf(page, "| %d | %s | %d |", n, hopName(hop), cpus)
				for _, o := range all {
					fmt.Fprintf(page, " %s / %s |", seconds(o.started), seconds(o.settled))
				}
				fmt.Fprintln(page)
			}
		}
	}
	return nil
}
