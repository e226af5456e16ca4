package levels

import (
	"fmt"
	"strings"
	"time"

	"github.com/golaunch/golaunch/network/placement/levels"
)

// durations writes the times of mapping.
func durations(page *strings.Builder) error {
	const runs = 5
	fmt.Fprintf(page, `
## How long mapping takes (measured)

On the machine that wrote this page, one thread, the least of %d, in ms: the graph from
its edges, one recursive mapping, the choice of the depth, all candidates. *Net* is what
the best map saves in max t, in seconds, less graph and candidates; [Sahoo, table 4.2]
has the preparation take the gain up.

| ranks | graph | recursive | depth | candidates | saved (s) | net (s) |
|---|---|---|---|---|---|---|
`, runs)
	for _, dims := range grids {
		t, err := newTrial(dims, 1, 0, benchmarks[0])
		if err != nil {
			return err
		}
		var at []int32
		var list []levels.Candidate
		fmt.Fprintf(page, "| %d ", ranks(dims))
		spent := 0.0
		for i, step := range []func() error{
			func() error {
				_, err := halo(dims, func(int, int) int64 { return 1 })
				return err
			},
			func() (err error) {
				at, err = levels.Recursive(t.graph, t.machine(), levels.Plan{})
				return err
			},
			func() error {
				_, _, err := levels.Dynamic(t.graph, t.costs, at, t.sharing(copyRate))
				return err
			},
			func() (err error) {
				list, err = levels.Candidates(t.graph, t.costs, dims, levels.Plan{})
				return err
			},
		} {
			least, err := fastest(runs, step)
			if err != nil {
				return err
			}
			fmt.Fprintf(page, "| %.1f ", least.Seconds()*1e3)
			if i == 0 || i == 3 {
				spent += least.Seconds()
			}
		}
		saved := t.costs.Max(t.graph, t.machine().Default()) - list[0].Max
		fmt.Fprintf(page, "| %.2f | %.2f |\n", saved, saved-spent)
	}
	return nil
}

// fastest returns the least time of several runs.
func fastest(runs int, step func() error) (time.Duration, error) {
	var least time.Duration
	for i := range runs {
		begin := time.Now()
		if err := step(); err != nil {
			return 0, err
		}
		if d := time.Since(begin); i == 0 || d < least {
			least = d
		}
	}
	return least, nil
}
