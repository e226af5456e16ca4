package scale

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/plot"
)

// degreesTried are those of the table.
var degreesTried = []int{2, 4, 8, 16, 32, 64, 128}

// ranksOfDegrees are the ranks per node of the table, which all exchange.
const ranksOfDegrees = 16

func degrees(page *strings.Builder, s settings) error {
	fmt.Fprintf(page, `
## The degree

Seconds until all ranks run / until they have left an exchange of %d bytes each (PMI: put, fence,
get; all of it goes up the tree and down again), %d ranks per node. The best of each
line is bold, for either.

| nodes | hop |`, exchangeBytes, ranksOfDegrees)
	for _, k := range degreesTried {
		fmt.Fprintf(page, " k = %d |", k)
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(degreesTried)+2))
	lost := map[int][]float64{} // by degree, against the best, both times of every line
	for _, n := range s.trial {
		for _, hop := range hops {
			if n > 16384 && hop != hops[0] {
				continue // the lines above say it
			}
			b := newBatch()
			var all []*outcome
			for _, k := range degreesTried {
				all = append(all, b.add(setup{nodes: n, ranks: ranksOfDegrees, shape: ranges(k), exchange: exchangeBytes}, s.Costs.at(hop)))
			}
			if err := b.wait(); err != nil {
				return err
			}
			started := fastest(all, func(o *outcome) time.Duration { return o.started })
			settled := fastest(all, func(o *outcome) time.Duration { return o.settled })
			fmt.Fprintf(page, "| %d | %s |", n, hopName(hop))
			for i, o := range all {
				fmt.Fprintf(page, " %s / %s |", bold(o.started, started), bold(o.settled, settled))
				lost[degreesTried[i]] = append(lost[degreesTried[i]], ratio(o.started, started), ratio(o.settled, settled))
			}
			fmt.Fprintln(page)
		}
	}
	fmt.Fprint(page, "| loses at most | |")
	chart := plot.Chart{Title: "what a degree loses against the best one", X: plot.Axis{Label: "degree", Log: true}, Y: plot.Axis{Label: "time, times the best"}}
	for at, name := range []string{"all ranks run", "and have exchanged"} {
		line := plot.Series{Name: name, Dashed: at == 1}
		for _, k := range degreesTried {
			worst := 0.0
			for i := at; i < len(lost[k]); i += 2 {
				worst = max(worst, lost[k][i])
			}
			line.Points = append(line.Points, plot.Point{X: float64(k), Y: worst})
		}
		chart.Series = append(chart.Series, line)
	}
	for _, k := range degreesTried {
		fmt.Fprintf(page, " × %.2f |", slices.Max(lost[k]))
	}
	fmt.Fprintf(page, " |\n\n![%s, at worst over all lines of the table](plots/scale-degree.svg)\n", chart.Title)
	own, err := degreeOf(s.trial[len(s.trial)-1])
	if err != nil {
		return err
	}
	fmt.Fprintf(page, "\n--degree-rule auto takes %d; [architecture.md](../architecture.md#the-degree) says why.\n", own)
	return chart.WriteFile(s.Beside("plots/scale-degree.svg"))
}

func ratio(d, best time.Duration) float64 { return float64(d) / float64(best) }

// fastest returns the least of one time.
func fastest(all []*outcome, of func(*outcome) time.Duration) time.Duration {
	best := of(all[0])
	for _, o := range all {
		best = min(best, of(o))
	}
	return best
}

func bold(d, best time.Duration) string {
	if text := seconds(d); text != seconds(best) {
		return text
	}
	return "**" + seconds(d) + "**"
}
