package scale

import (
	"fmt"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/plot"
)

// way is one of those that the curves compare.
type way struct {
	name  string
	shape func(nodes int) (shape, error)
	more  func(*setup)
}

var ways = []way{
	{name: "ranges (golaunch)", shape: ofGolaunch},
	{name: "ranges, no signatures", shape: ofGolaunch, more: func(s *setup) { s.unsigned = true }},
	{name: "binomial", shape: func(int) (shape, error) { return binomial(), nil }},
	{name: "flat", shape: func(int) (shape, error) { return flat(), nil }},
}

func ofGolaunch(nodes int) (shape, error) {
	k, err := degreeOf(nodes)
	return ranges(k), err
}

// sweep is every way at every size.
type sweep [][]*outcome

func sweepOf(s settings, hop time.Duration) (sweep, error) {
	if all := s.sweeps[hop]; all != nil {
		return all, nil
	}
	b := newBatch()
	all := make(sweep, len(ways))
	for i, w := range ways {
		for _, n := range s.sizes {
			shape, err := w.shape(n)
			if err != nil {
				return nil, err
			}
			one := setup{nodes: n, ranks: s.ranks, shape: shape}
			if w.more != nil {
				w.more(&one)
			}
			all[i] = append(all[i], b.add(one, s.Costs.at(hop)))
		}
	}
	s.sweeps[hop] = all
	return all, b.wait()
}

func curves(page *strings.Builder, s settings) error {
	fmt.Fprintf(page, `
## Time against nodes

Seconds until the launcher knows that all ranks run, %d on each node. "Flat" is one
agent that starts all others, through golaunch's window; "binomial" is figure 2.2 of the
thesis, where in each step everyone who runs starts one more. "No signatures" is as
where the nodes may log in to each other by themselves.

| hop | way |`, s.ranks)
	for _, n := range s.sizes {
		fmt.Fprintf(page, " %d |", n)
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(s.sizes)+2))
	for _, hop := range hops {
		all, err := sweepOf(s, hop)
		if err != nil {
			return err
		}
		chart := plot.Chart{
			Title: fmt.Sprintf("all ranks run, %s per hop", hopName(hop)),
			X:     plot.Axis{Label: fmt.Sprintf("nodes, %d ranks each", s.ranks), Log: true},
			Y:     plot.Axis{Label: "time (s)", Log: true},
		}
		for i, w := range ways {
			fmt.Fprintf(page, "| %s | %s |", hopName(hop), w.name)
			line := plot.Series{Name: w.name, Dashed: i > 1}
			for j, n := range s.sizes {
				t := all[i][j].started
				fmt.Fprintf(page, " %s |", seconds(t))
				line.Points = append(line.Points, plot.Point{X: float64(n), Y: t.Seconds()})
			}
			fmt.Fprintln(page)
			chart.Series = append(chart.Series, line)
		}
		if err := chart.WriteFile(s.Beside(startPlot(hop))); err != nil {
			return err
		}
	}
	for _, hop := range hops {
		fmt.Fprintf(page, "\n![all ranks run, %s per hop](%s)\n", hopName(hop), startPlot(hop))
	}
	return nil
}

func startPlot(hop time.Duration) string {
	return fmt.Sprintf("plots/scale-start-%s.svg", strings.NewReplacer("µ", "u").Replace(hop.String()))
}

// laws writes the laws by which these times grow.
func laws(page *strings.Builder, s settings) error {
	fmt.Fprint(page, `
### How they grow

Milliseconds until all agents are up, fitted to all sizes from 4 on by A + B·log2 n +
C·n, and what each part is at the largest size.

| hop | way | A + B·log2 n + C·n | logarithmic part | linear part |
|---|---|---|---|---|
`)
	for _, hop := range hops {
		all, err := sweepOf(s, hop)
		if err != nil {
			return err
		}
		for i, w := range ways {
			var nodes []int
			var times []float64
			for j, n := range s.sizes {
				if n >= 4 {
					nodes, times = append(nodes, n), append(times, ms(all[i][j].up))
				}
			}
			l := lawOf(nodes, times)
			logs, line := l.parts(nodes[len(nodes)-1])
			fmt.Fprintf(page, "| %s | %s | %v | %.2f s | %.2f s |\n", hopName(hop), w.name, l, logs/1000, line/1000)
		}
	}
	fmt.Fprint(page, `
A flat tree is linear: every node costs the root a connection. The range tree is
logarithmic, as a binomial one is, with a fraction of its steps, and has a linear part
as well: every node's signature passes through the root and the launcher, each of
which handles one message at a time, and the lists of hosts do. The law is smooth and a
tree grows in steps, so it is off by some percent between them.
`)
	return nil
}

// loads writes the work of the launcher and of the root.
func loads(page *strings.Builder, s settings) error {
	all, err := sweepOf(s, hops[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(page, `
## Load of the launcher and the root

For the whole job, %d ranks per node, %s per hop: messages sent and received, their bytes,
processor time in seconds.

| way | nodes | launcher: messages | bytes | CPU | root: messages | bytes | CPU | children of the root | depth |
|---|---|---|---|---|---|---|---|---|---|
`, s.ranks, hopName(hops[0]))
	charts := []plot.Chart{{Title: "CPU of the launcher", Y: plot.Axis{Label: "CPU (s)", Log: true}}, {Title: "CPU of the root agent", Y: plot.Axis{Label: "CPU (s)", Log: true}}}
	for i, w := range ways {
		lines := make([]plot.Series, len(charts))
		for j, n := range s.sizes {
			o := all[i][j]
			for k, l := range []load{o.launcher, o.root} {
				lines[k].Name, lines[k].Dashed = w.name, i > 1
				lines[k].Points = append(lines[k].Points, plot.Point{X: float64(n), Y: l.cpu.Seconds()})
			}
			if n < 64 {
				continue
			}
			fmt.Fprintf(page, "| %s | %d | %d | %s | %.2f | %d | %s | %.2f | %d | %d |\n", w.name, n,
				o.launcher.messages, sizeName(o.launcher.bytes), o.launcher.cpu.Seconds(),
				o.root.messages, sizeName(o.root.bytes), o.root.cpu.Seconds(), o.children, o.depth)
		}
		for k := range charts {
			charts[k].X = plot.Axis{Label: fmt.Sprintf("nodes, %d ranks each", s.ranks), Log: true}
			charts[k].Series = append(charts[k].Series, lines[k])
		}
	}
	fmt.Fprint(page, `
The launcher has one child whatever the way, and two messages for each node: the
signatures. Without them it takes what the nodes' lists do; [launcher.md](launcher.md) has that
measured, with real agents, to 4,096 nodes.
`)
	for k, name := range []string{"plots/scale-launcher.svg", "plots/scale-root.svg"} {
		if err := charts[k].WriteFile(s.Beside(name)); err != nil {
			return err
		}
		fmt.Fprintf(page, "\n![%s](%s)\n", charts[k].Title, name)
	}
	return nil
}

// sizeName renders a number of bytes.
func sizeName(n int) string {
	switch {
	case n < 1_000_000:
		return fmt.Sprintf("%.3g k", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.3g M", float64(n)/1e6)
	}
	return fmt.Sprintf("%.3g G", float64(n)/1e9)
}
