package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/network/placement/sched"
	"github.com/golaunch/golaunch/network/topology"
)

// The cluster of sched where no network is named: 64 hosts on leaf switches of 20 hosts
// and 16 links up [Subramoni 8.3.6].
const (
	schedNetwork = "xgft:20,4/1,16"
	schedHosts   = "h[0-63]"
)

// Bounds of sched's work.
const (
	maxSchedHosts = 1 << 14
	maxSchedJobs  = 1 << 14
	maxSchedSeeds = 1 << 10
	maxSchedWork  = 1 << 35 // hosts times jobs squared, all runs together: at most, a minute
)

// schedFlags are the flags of sched.
type schedFlags struct {
	topoFlags // those of the network and its hosts, --format and --seed

	slots, jobs, seeds     int
	ranks                  []int
	slowdowns              []int // percent
	gap, shortest, longest time.Duration
	ways                   string
}

// schedVerbs returns the verbs of sched.
func schedVerbs() verbTable[schedFlags] {
	return verbTable[schedFlags]{
		{"sim", "", "", "jobs that arrive, wait and run, by each way to choose hosts", (*schedFlags).sim},
	}
}

func schedUsage() string { return "sched " + strings.Join(schedVerbs().names(), "|") + " [FLAG]..." }

// schedHead stands before the flags in the help of sched.
func schedHead() string {
	return `Tells what a resource manager gains that gives jobs hosts that share no links, in a
simulation.

` + schedVerbs().text() + `
Jobs arrive at random, and get hosts in that order; one that does not fit waits, and
later ones are started before it where that does not delay it. A job runs longer by
the slowdown if two of its hosts share the link by which messages arrive at their
leaf switch. All is drawn by seeds: each is simulated by all ways, beside each other.

  first-fit        the first hosts that are free
  avoid-conflicts  those that share no link, and others where these are too few

Without --topology the cluster is that of the source: hosts ` + schedHosts + ` of
` + schedNetwork + `, 8 slots on each.

  golaunch sched sim
  golaunch sched sim --slowdown 15 --gap 120 --seeds 5
  golaunch sched sim --topology ibnetdiscover.out --tables lfts -f hosts --slots 48 -n 96,480
`
}

// setupSched sets up the command that simulates a resource manager.
func setupSched() (*pflag.FlagSet, action) {
	t := &schedFlags{slots: 8, jobs: 200, seeds: 20, ranks: []int{128, 192, 256, 384, 512}, slowdowns: []int{15, 21},
		gap: 4 * time.Minute, shortest: time.Minute, longest: 10 * time.Minute, ways: "all"}
	t.format, t.seed = "text", 1
	f := flags.New("sched")
	f.SetInterspersed(true) // all words are its own
	t.networkFlags(f)
	f.VarP(flags.Numbers(&t.ranks, func(p *int) pflag.Value { return flags.Count(p, 1, maxSimRanks) }), "np", "n", "ranks of jobs, `LIST` of those equally likely")
	f.Var(flags.Count(&t.slots, 1, maxSimRanks), "slots", "`N` ranks on each host")
	f.Var(flags.Count(&t.jobs, 1, maxSchedJobs), "jobs", "`N` jobs")
	f.Var(flags.Time(&t.gap), "gap", "`TIME` from one arrival to the next, on average")
	f.Var(flags.Time(&t.shortest), "shortest", "least `TIME` that a job runs where it is not slowed")
	f.Var(flags.Time(&t.longest), "longest", "most such `TIME`")
	f.Var(flags.Numbers(&t.slowdowns, percentValue), "slowdown", "`PERCENT` that jobs take longer where hosts share links")
	f.Var(flags.Text(&t.ways), "select", "choose hosts by `WAY`: "+strings.Join(schedWays(), ", "))
	f.Uint64Var(&t.seed, "seed", t.seed, "first seed, `N`")
	f.Var(flags.Count(&t.seeds, 1, maxSchedSeeds), "seeds", "`N` seeds, from the first on")
	f.Var(flags.Text(&t.format), "format", "print as `FORMAT`: "+strings.Join(netsimFormats(), ", "))
	flags.Describe(f, "select", flags.Choices(schedWays()...))
	flags.Describe(f, "format", flags.Choices(netsimFormats()...))
	return f, parsed("sched", f, t.run)
}

// schedWays returns the words of --select.
func schedWays() []string {
	words := []string{"all"}
	for _, w := range sched.Ways() {
		words = append(words, w.Name)
	}
	return words
}

// percentValue is a whole number of percent.
func percentValue(p *int) pflag.Value {
	return flags.Value(p, "percentage", func(s string) (int, error) {
		n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
		if err != nil || n < 0 || n > 1000 {
			return 0, fmt.Errorf("%q is not a percentage from 0 to 1000", s)
		}
		return n, nil
	}, strconv.Itoa)
}

// run carries out the verb.
func (t *schedFlags) run(e env, words []string) (int, error) {
	if !slices.Contains(netsimFormats(), t.format) {
		return 0, fmt.Errorf("--format: %q is none; say %s", t.format, strings.Join(netsimFormats(), ", "))
	}
	if !slices.Contains(schedWays(), t.ways) {
		return 0, fmt.Errorf("--select: %q is none; say %s", t.ways, strings.Join(schedWays(), ", "))
	}
	return schedVerbs().run(t, e, words)
}

// cluster returns the network and the nodes of its hosts that jobs get. A long read is
// told on w.
func (t *schedFlags) cluster(w io.Writer) (*network, []topology.Node, error) {
	if t.topology == "" {
		if t.tables != "" || t.mapFile != "" {
			return nil, nil, errors.New("tables and maps are those of a network: say which, with --topology")
		}
		t.topology = schedNetwork
		if len(t.hosts) == 0 && t.hostfile == "" {
			t.hosts = []string{schedHosts}
		}
	}
	n, err := t.load(w)
	if err == nil {
		err = n.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, h := range n.hosts {
		if h.Slots > 0 && h.Slots != t.slots {
			return nil, nil, fmt.Errorf("%s: host %s has %s, and --slots says %d for all; leave its slots out, or say --slots %d",
				h.Pos, h.Name, count(h.Slots, "slot"), t.slots, h.Slots)
		}
	}
	nodes, _ := n.chosen()
	switch {
	case len(nodes) == 0:
		return nil, nil, fmt.Errorf("%s has no hosts for jobs", n.from)
	case len(nodes) > maxSchedHosts:
		return nil, nil, fmt.Errorf("%d hosts; name at most %d with -H", len(nodes), maxSchedHosts)
	}
	return n, nodes, nil
}

// workload returns the jobs, on so many hosts at most.
func (t *schedFlags) workload(hosts int) (*sched.Workload, error) {
	w := &sched.Workload{Jobs: t.jobs, Gap: t.gap.Seconds(), Shortest: t.shortest.Seconds(), Longest: t.longest.Seconds()}
	for _, ranks := range t.ranks {
		want := (ranks + t.slots - 1) / t.slots
		if want > hosts {
			return nil, fmt.Errorf("-n %d: such a job takes %d hosts of %s, and there are %d; ask for fewer ranks, or more with --slots",
				ranks, want, count(t.slots, "slot"), hosts)
		}
		w.Hosts = append(w.Hosts, want)
	}
	switch {
	case t.shortest <= 0:
		return nil, errors.New("--shortest: a job runs for some time; say how long, as in 60s")
	case t.longest < t.shortest:
		return nil, fmt.Errorf("--longest: %v is less than --shortest %v", t.longest, t.shortest)
	}
	runs := t.seeds * len(t.slowdowns) * len(t.chosenWays())
	if work := t.jobs * t.jobs; work > maxSchedWork/(hosts*runs) {
		return nil, fmt.Errorf("%s of %s on %s would take long; ask for fewer with --jobs, --seeds or -H",
			count(runs, "simulation"), count(t.jobs, "job"), count(hosts, "host"))
	}
	return w, nil
}

// chosenWays returns the ways that are compared.
func (t *schedFlags) chosenWays() []sched.Way {
	return slices.DeleteFunc(sched.Ways(), func(w sched.Way) bool { return t.ways != "all" && t.ways != w.Name })
}

// sim simulates.
func (t *schedFlags) sim(e env, _ []string) (int, error) {
	n, nodes, err := t.cluster(e.stdio.Stderr)
	if err != nil {
		return 0, err
	}
	w, err := t.workload(len(nodes))
	if err != nil {
		return 0, err
	}
	link, err := sched.Links(n.router, nodes)
	if err != nil {
		return 0, err
	}
	all := make([]int, len(nodes))
	for i := range all {
		all[i] = i
	}
	s := &scheduled{
		Network: n.from, Routes: n.router.String(), Hosts: len(nodes), Slots: t.slots, Sharing: sched.Pairs(link, all),
		Jobs: t.jobs, Ranks: t.ranks, Gap: w.Gap, Shortest: w.Shortest, Longest: w.Longest,
	}
	for _, percent := range t.slowdowns {
		for seed := t.seed; seed-t.seed < uint64(t.seeds); seed++ {
			jobs, err := w.Draw(seed)
			if err != nil {
				return 0, err
			}
			for _, way := range t.chosenWays() {
				started, err := (&sched.Cluster{Link: link, Slowdown: float64(percent) / 100, Select: way.Select}).Run(jobs)
				if err != nil {
					return 0, err
				}
				s.Runs = append(s.Runs, newScheduledRun(percent, &seed, way.Name, sched.Judge(jobs, started)))
			}
		}
	}
	s.summarise(t.ways == "all")
	if t.format == "json" {
		return e.printJSON(s)
	}
	return e.print(s.text())
}
