package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/golaunch/golaunch/network/placement/sched"
)

// scheduled is the output of sched sim.
type scheduled struct {
	Network  string         `json:"network"`
	Routes   string         `json:"routes"`
	Hosts    int            `json:"hosts"`
	Slots    int            `json:"slots"`
	Sharing  int            `json:"pairs_of_hosts_that_share_a_link"`
	Jobs     int            `json:"jobs"`
	Ranks    []int          `json:"ranks"`
	Gap      float64        `json:"gap_seconds"`
	Shortest float64        `json:"shortest_seconds"`
	Longest  float64        `json:"longest_seconds"`
	Runs     []scheduledRun `json:"runs"`
	Medians  []scheduledRun `json:"medians"`
	Gains    []gain         `json:"gains,omitempty"` // of a comparison of two ways
}

// scheduledRun is the outcome of one seed and way, or the medians over the seeds.
type scheduledRun struct {
	Slowdown   int     `json:"slowdown_percent"`
	Seed       *uint64 `json:"seed,omitempty"` // absent of medians
	Select     string  `json:"select"`
	Makespan   float64 `json:"makespan_seconds"`
	Wait       float64 `json:"wait_seconds"`
	Turnaround float64 `json:"turnaround_seconds"`
	Slowed     float64 `json:"slowed_jobs_share"`
	Pairs      float64 `json:"pairs_per_job"`
}

func newScheduledRun(percent int, seed *uint64, way string, o sched.Outcome) scheduledRun {
	return scheduledRun{percent, seed, way, o.Makespan, o.Wait, o.Turnaround, o.Slowed, o.Pairs}
}

// gain is the gain of a way over the first: medians over the seeds of the share that is
// saved, and the number of seeds that it is no worse for.
type gain struct {
	Slowdown   int     `json:"slowdown_percent"`
	Select     string  `json:"select"`
	Makespan   float64 `json:"makespan_saved_share"`
	Turnaround float64 `json:"turnaround_saved_share"`
	Seeds      int     `json:"seeds"`
	FewerPairs int     `json:"seeds_with_no_more_pairs"`
	Sooner     int     `json:"seeds_with_no_longer_makespan"`
}

// summarise adds the medians, and the gains where ways are compared.
func (s *scheduled) summarise(compared bool) {
	type key struct {
		slowdown int
		way      string
	}
	var order []key
	groups := map[key][]scheduledRun{}
	for _, r := range s.Runs {
		k := key{r.Slowdown, r.Select}
		if len(groups[k]) == 0 {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	for _, k := range order {
		group := groups[k]
		of := func(f func(scheduledRun) float64) float64 { return median(group, f) }
		s.Medians = append(s.Medians, scheduledRun{k.slowdown, nil, k.way,
			of(func(r scheduledRun) float64 { return r.Makespan }), of(func(r scheduledRun) float64 { return r.Wait }),
			of(func(r scheduledRun) float64 { return r.Turnaround }), of(func(r scheduledRun) float64 { return r.Slowed }),
			of(func(r scheduledRun) float64 { return r.Pairs })})
		first := groups[key{k.slowdown, sched.Ways()[0].Name}]
		if compared && k.way != first[0].Select {
			s.Gains = append(s.Gains, gainOf(first, group))
		}
	}
}

// gainOf compares the outcomes of a way with those of the first, seed by seed.
func gainOf(first, other []scheduledRun) gain {
	g := gain{Slowdown: other[0].Slowdown, Select: other[0].Select, Seeds: len(other)}
	var makespan, turnaround []float64
	for i, r := range other {
		makespan = append(makespan, 1-r.Makespan/first[i].Makespan)
		turnaround = append(turnaround, 1-r.Turnaround/first[i].Turnaround)
		if r.Pairs <= first[i].Pairs {
			g.FewerPairs++
		}
		if r.Makespan <= first[i].Makespan {
			g.Sooner++
		}
	}
	same := func(x float64) float64 { return x }
	g.Makespan, g.Turnaround = median(makespan, same), median(turnaround, same)
	return g
}

// median returns the median of f over a list that is not empty.
func median[E any](list []E, f func(E) float64) float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = f(v)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// text renders a table of all seeds, with the medians and gains below it.
func (s *scheduled) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster  %s of %s, routes by %s; %s of them share a link to their leaf switch\n",
		count(s.Hosts, "host"), s.Network, s.Routes, count(s.Sharing, "pair"))
	ranks := strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Ranks), "[]"), " ", ", ")
	fmt.Fprintf(&b, "jobs     %d of %s ranks, %d on a host, %v s apart, for %v to %v s\n\n", s.Jobs, ranks, s.Slots, s.Gap, s.Shortest, s.Longest)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "slowdown\tseed\tselect\tmakespan s\twait s\twait + run s\tslowed jobs\tpairs of a job\t")
	for _, r := range slices.Concat(s.Runs, s.Medians) {
		seed := "median"
		if r.Seed != nil {
			seed = strconv.FormatUint(*r.Seed, 10)
		}
		fmt.Fprintf(w, "%d %%\t%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f %%\t%.2f\t\n", r.Slowdown, seed, r.Select, r.Makespan, r.Wait, r.Turnaround, 100*r.Slowed, r.Pairs)
	}
	w.Flush()
	for i, g := range s.Gains {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s against %s, slowdown %d %%: makespan %+.1f %%, wait + run %+.1f %% (medians); no more pairs in %d of %s, no longer makespan in %d\n",
			g.Select, sched.Ways()[0].Name, g.Slowdown, 0-100*g.Makespan, 0-100*g.Turnaround, g.FewerPairs, count(g.Seeds, "seed"), g.Sooner)
	}
	return b.String()
}
