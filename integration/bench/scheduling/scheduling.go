// Package scheduling simulates a resource manager that gives the hosts of a fat tree to
// jobs, with and without regard to the links that they share [Subramoni 8.3.6], and
// writes docs/results/scheduling.md. It gives the same figures on any machine.
package scheduling

import (
	"context"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/network/placement/sched"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// The cluster has 64 hosts of 8 cores, on leaf switches with 20 hosts and 16 links up.
const (
	network = "xgft:20,4/1,16"
	hosts   = 64
	cores   = 8
	jobs    = 200
	seeds   = 20
)

// sizes are the ranks of jobs, of which each is as likely.
var sizes = []int{128, 192, 256, 384, 512}

// Run runs the simulation and writes its page.
func Run(_ context.Context, f *results.Flags) error {
	f.Out = "docs/results/scheduling.md"
	if err := f.Parse(); err != nil {
		return err
	}
	text, err := page(f.Frame)
	if err != nil {
		return err
	}
	return f.Write(text)
}

// links returns the link by which messages reach the leaf switch of each host.
func links() ([]int32, error) {
	g, err := spec.Parse(network)
	if err != nil {
		return nil, err
	}
	r, err := routing.NewDModK(g)
	if err != nil {
		return nil, err
	}
	list := make([]topology.Node, hosts)
	for i := range list {
		list[i] = topology.Node(i)
	}
	return sched.Links(r, list)
}

// simulate returns means over jobs and seeds, jobs that arrive so many seconds apart on
// average.
func simulate(link []int32, pick sched.Select, slowdown, gap float64) (o sched.Outcome, err error) {
	w := sched.Workload{Jobs: jobs, Gap: gap, Shortest: 60, Longest: 600}
	for _, ranks := range sizes {
		w.Hosts = append(w.Hosts, ranks/cores)
	}
	for seed := range uint64(seeds) {
		list, err := w.Draw(seed + 1)
		if err != nil {
			return o, err
		}
		started, err := (&sched.Cluster{Link: link, Slowdown: slowdown, Select: pick}).Run(list)
		if err != nil {
			return o, err
		}
		one := sched.Judge(list, started)
		o.Makespan += one.Makespan / seeds
		o.Wait += one.Wait / seeds
		o.Turnaround += one.Turnaround / seeds
		o.Pairs += one.Pairs / seeds
		o.Slowed += one.Slowed / seeds
	}
	return o, nil
}

func page(f results.Frame) (string, error) {
	link, err := links()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(f.Head("Hosts that share no links, in a simulated resource manager"))
	fmt.Fprintf(&b, `%d hosts of %d cores on leaf switches of 20 hosts and 16 links up (5:4, %s, D-Mod-K).
%d jobs of %s ranks, each size as likely, whose runtime is 60 to 600 s; they arrive at
random, so many seconds apart on average. A job two of whose hosts share the link to
their leaf switch takes longer by the slowdown: 15 %% and 21 %% are those that
[Subramoni 6.1, figure 8.2] measured of an all-to-all. All jobs are taken to communicate
as that does, so the gain is the most that there is. Jobs that do not fit wait, and
shorter ones are backfilled. *First fit* takes the first free hosts; *avoid* those that
share no link, and others where these are too few. Means over seeds 1 to %d.

| slowdown | gap (s) | hosts by | makespan (s) | wait (s) | wait + run (s) | slowed jobs | pairs of a job | makespan gain | wait + run gain |
|---|---|---|---|---|---|---|---|---|---|
`, hosts, cores, "`"+network+"`", jobs, strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", ", "), seeds)
	for _, slowdown := range []float64{0.15, 0.21} {
		for _, gap := range []float64{120, 240, 360} {
			first, err := simulate(link, sched.FirstFit, slowdown, gap)
			if err != nil {
				return "", err
			}
			avoid, err := simulate(link, sched.Avoid, slowdown, gap)
			if err != nil {
				return "", err
			}
			row(&b, slowdown, gap, "first fit", first, first)
			row(&b, slowdown, gap, "avoid", avoid, first)
		}
	}
	b.WriteString(`
[Subramoni 8.3.6] measured 8 % of the time that jobs wait and run. Jobs of 512 ranks take
all hosts, and share links however they are chosen.
`)
	return b.String(), nil
}

func row(b *strings.Builder, slowdown, gap float64, name string, o, first sched.Outcome) {
	fmt.Fprintf(b, "| %.0f %% | %.0f | %s | %.0f | %.0f | %.0f | %.0f %% | %.2f | %.1f %% | %.1f %% |\n", 100*slowdown, gap, name, o.Makespan,
		o.Wait, o.Turnaround, 100*o.Slowed, o.Pairs, 100*(1-o.Makespan/first.Makespan), 100*(1-o.Turnaround/first.Turnaround))
}
