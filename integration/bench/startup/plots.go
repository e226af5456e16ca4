package startup

import (
	"math"
	"path/filepath"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/plot"
)

func (b *book) plotName(name string) string { return "plots/" + b.settings.name + "-" + name + ".svg" }

// plots draws all pictures that there is something for, beside the page.
func (b *book) plots() error {
	nodes := func(c *contest) float64 { return float64(c.nodes) }
	ranks := func(c *contest) float64 { return float64(c.ppn) }
	for _, kex := range []string{cluster.KexDefault, cluster.KexCurve25519} {
		for _, draw := range []func() error{
			func() error {
				return b.draw("nodes-"+kex, "/bin/true, one rank per node, key exchange "+kex, "nodes", "wall time (ms)", b.of(partNodes, kex), nodes, wall)
			},
			func() error {
				return b.draw("cpu-"+kex, "/bin/true, one rank per node, key exchange "+kex, "nodes", "CPU of everything (s)", b.of(partNodes, kex), nodes, cpu)
			},
			func() error {
				return b.draw("ranks-"+kex, "/bin/true, more ranks per node, key exchange "+kex, "ranks per node", "wall time (ms)", b.of(partRanks, kex), ranks, wall)
			},
		} {
			if err := draw(); err != nil {
				return err
			}
		}
	}
	if err := b.draw("local", "/bin/true on one machine", "ranks", "wall time (ms)", b.of(partLocal, ""), ranks, wall); err != nil {
		return err
	}
	if err := b.draw("table-2.1", "an agent per node against a connection per rank", "ranks per node", "wall time (ms)", b.of(partTable, cluster.KexDefault), ranks, wall); err != nil {
		return err
	}
	var most, single []*contest
	for _, c := range b.of(partFigures, cluster.KexDefault) {
		if c.ppn == figureRanks[len(figureRanks)-1] {
			most = append(most, c)
		}
		if c.entry(chainName) != nil {
			one := &contest{place: c.place}
			for _, e := range c.entries {
				if e.name == chainName || e.name == golaunchName {
					one.entries = append(one.entries, e)
				}
			}
			single = append(single, one)
		}
	}
	if err := b.draw("figure-2.5-spawn", "spawn, 8 ranks per node", "nodes", "time (ms)", most, nodes, spawn); err != nil {
		return err
	}
	if err := b.draw("figure-2.5-init", "init, 8 ranks per node", "nodes", "time (ms)", most, nodes, inits); err != nil {
		return err
	}
	return b.draw("figure-2.4", "connections one after another, and golaunch", "nodes", "wall time (ms)", single, nodes, wall)
}

// draw makes one picture of the medians of all contenders; none where there is
// nothing to draw.
func (b *book) draw(name, title, xLabel, yLabel string, contests []*contest, x func(*contest) float64, y func(reading) float64) error {
	chart := plot.Chart{Title: title, X: plot.Axis{Label: xLabel, Log: true}, Y: plot.Axis{Label: yLabel, Log: true}}
	for _, name := range contenders(contests) {
		line := plot.Series{Name: name, Dashed: name == floorName || name == chainName}
		for _, c := range contests {
			if v := c.median(name, y); !math.IsNaN(v) && v > 0 {
				line.Points = append(line.Points, plot.Point{X: x(c), Y: v})
			}
		}
		if len(line.Points) > 0 {
			chart.Series = append(chart.Series, line)
		}
	}
	if len(chart.Series) == 0 {
		return nil
	}
	return chart.WriteFile(filepath.Join(filepath.Dir(b.settings.Out), b.plotName(name)))
}
