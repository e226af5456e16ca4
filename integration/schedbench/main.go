// Command schedbench simulates a resource manager that gives the hosts of a fat tree to
// jobs, with and without regard to the links that they share [Subramoni 8.3.6], and
// writes docs/results/scheduling.md. It gives the same figures on any machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/placement/sched"
	"github.com/golaunch/golaunch/routing"
	"github.com/golaunch/golaunch/topology"
	"github.com/golaunch/golaunch/topology/spec"
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

func main() { results.Main("schedbench", bench) }

func bench(_ context.Context, args []string) error {
	f := flag.NewFlagSet("schedbench", flag.ContinueOnError)
	out := f.String("o", "docs/results/scheduling.md", "`file` to write")
	if err := results.Parse(f, args); err != nil {
		return err
	}
	page, err := page()
	if err != nil {
		return err
	}
	return results.Write(*out, page)
}

// links is the link by which messages reach the leaf switch of each host.
func links() ([]int32, error) {
	g, err := spec.Parse(network)
	if err != nil {
		return nil, err
	}
	r, err := routing.NewDModK(g)
	if err != nil {
		return nil, err
	}
	link := make([]int32, hosts)
	for h := range topology.Node(hosts) {
		far := topology.Node(0)
		if g.Leaf(h) == g.Leaf(far) {
			far = topology.Node(g.Hosts() - 1)
		}
		route, err := r.Append(nil, far, h)
		if err != nil {
			return nil, err
		}
		link[h] = int32(route[len(route)-2].Link)
	}
	return link, nil
}

// workload is jobs that arrive at random, with so many seconds between them on average.
func workload(seed uint64, gap float64) []sched.Job {
	state := seed * 1e6
	uniform := func() float64 {
		state++
		return float64(topology.Mix(state*topology.MixStep)>>11) / (1 << 53)
	}
	list, now := make([]sched.Job, jobs), 0.0
	for i := range list {
		now -= gap * math.Log(1-uniform())
		list[i] = sched.Job{Arrive: now, Hosts: sizes[int(uniform()*float64(len(sizes)))] / cores, Runtime: 60 + 540*uniform()}
	}
	return list
}

// outcome is means over jobs and seeds.
type outcome struct{ makespan, wait, turnaround, pairs, slowed float64 }

func simulate(link []int32, pick sched.Select, slowdown, gap float64) (o outcome, err error) {
	for seed := range uint64(seeds) {
		list := workload(seed+1, gap)
		started, err := (&sched.Cluster{Link: link, Slowdown: slowdown, Select: pick}).Run(list)
		if err != nil {
			return o, err
		}
		last := 0.0
		for i, s := range started {
			last = max(last, s.End)
			o.wait += (s.Start - list[i].Arrive) / jobs / seeds
			o.turnaround += (s.End - list[i].Arrive) / jobs / seeds
			o.pairs += float64(s.Pairs) / jobs / seeds
			if s.Pairs > 0 {
				o.slowed += 100. / jobs / seeds
			}
		}
		o.makespan += last / seeds
	}
	return o, nil
}

func page() (string, error) {
	link, err := links()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Hosts that share no links, in a simulated resource manager

	go run ./integration/schedbench

%d hosts of %d cores on leaf switches of 20 hosts and 16 links up (5:4, %s, D-Mod-K).
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

func row(b *strings.Builder, slowdown, gap float64, name string, o, first outcome) {
	fmt.Fprintf(b, "| %.0f %% | %.0f | %s | %.0f | %.0f | %.0f | %.0f %% | %.2f | %.1f %% | %.1f %% |\n", 100*slowdown, gap, name, o.makespan,
		o.wait, o.turnaround, o.slowed, o.pairs, 100*(1-o.makespan/first.makespan), 100*(1-o.turnaround/first.turnaround))
}
