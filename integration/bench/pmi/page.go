package pmi

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/plot"
	"github.com/golaunch/golaunch/launcher"
)

// usual is the default policy.
var usual = string(launcher.DefaultOptions().Launch.Cache)

// table writes the tables of one pattern, and its picture.
func table(page *strings.Builder, s settings, p pattern, results map[place][]reading) error {
	fmt.Fprintf(page, "\n## Figure %s: %s\n", p.figure, p.title)
	for _, part := range []struct {
		title string
		of    func(reading) float64
	}{{"The whole exchange", whole}, {"Put and fence", fence}, {"Gets", gets}} {
		fmt.Fprintf(page, "\n%s, ms:\n\n| nodes × ranks |", part.title)
		for _, contender := range s.contenders() {
			fmt.Fprintf(page, " %s |", contender)
		}
		fmt.Fprintf(page, " %s / floor | Hydra / %s | Hydra / floor | %s / hcs |\n|%s\n", usual, usual, usual, strings.Repeat("---|", len(s.contenders())+5))
		for _, nodes := range s.nodes {
			of := func(contender string) []reading { return results[place{nodes, p.mode, contender}] }
			fmt.Fprintf(page, "| %d × %d |", nodes, s.ranks)
			for _, contender := range s.contenders() {
				fmt.Fprintf(page, " %s |", number(middle(of(contender), part.of)))
			}
			fmt.Fprintf(page, " %.2f | %.1f | %.1f | %.2f |\n", ratio(of(usual), of(floor), part.of),
				ratio(of(hydra), of(usual), part.of), ratio(of(hydra), of(floor), part.of), ratio(of(usual), of(string(cache.HCS)), part.of))
		}
	}
	s.single(page, p, results)
	if s.Out == "" {
		return nil
	}
	chart := plot.Chart{
		Title: fmt.Sprintf("%s, %d ranks per node", p.title, s.ranks),
		X:     plot.Axis{Label: "nodes", Log: true}, Y: plot.Axis{Label: "time of the exchange (ms)", Log: true},
	}
	for _, contender := range s.contenders() {
		line := plot.Series{Name: contender, Dashed: contender == floor || contender == hydra}
		for _, nodes := range s.nodes {
			line.Points = append(line.Points, plot.Point{X: float64(nodes), Y: middle(results[place{nodes, p.mode, contender}], whole)})
		}
		chart.Series = append(chart.Series, line)
	}
	name := fmt.Sprintf("plots/pmi-%s.svg", p.name)
	fmt.Fprintf(page, "\n![%s](%s)\n", p.title, name)
	return chart.WriteFile(filepath.Join(filepath.Dir(s.Out), name))
}

// single writes the steps of single ranks on the largest cluster.
func (s settings) single(page *strings.Builder, p pattern, results map[place][]reading) {
	nodes := s.nodes[len(s.nodes)-1]
	fmt.Fprintf(page, `
Steps of single ranks on %d × %d, ms: rank 0, and in brackets the fastest and the
slowest rank; and the processor time of all agents, their start included.

| | put | fence | gets | agents' CPU s |
|---|---|---|---|---|
`, nodes, s.ranks)
	for _, contender := range s.contenders() {
		readings := results[place{nodes, p.mode, contender}]
		fmt.Fprintf(page, "| %s |", contender)
		for _, step := range []func(reading) steps{
			func(r reading) steps { return r.put }, func(r reading) steps { return r.wait }, func(r reading) steps { return r.get },
		} {
			fmt.Fprintf(page, " %s (%s–%s) |", number(middle(readings, func(r reading) float64 { return step(r).root })),
				number(middle(readings, func(r reading) float64 { return step(r).least })),
				number(middle(readings, func(r reading) float64 { return step(r).most })))
		}
		if cpu := middle(readings, func(r reading) float64 { return r.agents }); cpu > 0 {
			fmt.Fprintf(page, " %.2f |\n", cpu)
		} else {
			fmt.Fprintln(page, " |")
		}
	}
}

// number renders milliseconds to three digits.
func number(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
