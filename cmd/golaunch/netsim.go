package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/network/netsim/algorithms"
	"github.com/golaunch/golaunch/network/placement/arrange"
)

// netsimFlags are the flags of netsim.
type netsimFlags struct {
	topoFlags // those of the network and its hosts, --format and --seed

	ranks   []int
	sizes   []int
	order   string
	startup time.Duration
	barrier bool
}

// netsimVerbs returns the verbs of netsim.
func netsimVerbs() verbTable[netsimFlags] {
	return verbTable[netsimFlags]{
		{"list", "", "", "the algorithms", (*netsimFlags).list},
		{"run", " NAME", "algorithm", "what an algorithm costs, stage by stage", (*netsimFlags).runOne},
		{"sweep", " NAME", "algorithm", "what it costs for each of several sizes or numbers of ranks", (*netsimFlags).sweep},
		{"export", " NAME", "algorithm", "its schedule as JSON: who sends how much to whom", (*netsimFlags).export},
	}
}

func netsimUsage() string {
	return "netsim " + strings.Join(netsimVerbs().names(), "|") + " [FLAG]... [NAME]"
}

// netsimWords returns the words that netsim takes.
func netsimWords() []string { return slices.Concat(netsimVerbs().names(), algorithms.Names()) }

// netsimHead stands before the flags in the help of netsim.
func netsimHead() string {
	return `Tells what collective operations cost on a network, without running any.

` + netsimVerbs().text() + `
An algorithm is a schedule: stages, in each of which ranks send messages. Its cost
is told twice. The model: each stage takes a start-up for each message of the rank
that sends most, and then what the busiest link takes. The simulation: messages
flow, share the rates of links max-min fairly, and ranks go on when they can. Links
of unknown rate carry 4 GB/s. Neither knows buffers of switches. The best order of
hosts is that of golaunch topo order.

The size is that of each message of a sequence, of what a rank has for each other
in an all-to-all, of a rank's part in a gather, scatter, allgather or
reduce-scatter, and else of the whole vector.

  golaunch netsim run shift --topology fattree:18,18/1,9/1,2 --size 256K
  golaunch netsim run shift --topology fattree:18,18/1,9/1,2 --order shuffled
  golaunch netsim sweep recursive-doubling --topology torus:8x8x8 --size 1K,64K,1M
  golaunch netsim sweep dissemination --topology ibnetdiscover.out -f hosts -n 16,32,64
  golaunch netsim export binomial -n 16
`
}

// rankOrders returns the orders in which hosts get ranks.
func rankOrders() []string { return []string{"given", "best", "shuffled"} }

// setupNetsim sets up the command that tells the costs of collective operations.
func setupNetsim() (*pflag.FlagSet, action) {
	t := &netsimFlags{sizes: []int{64 << 10}, order: "given", startup: time.Microsecond}
	t.format, t.seed = "text", arrange.Seed
	f := flags.New("netsim")
	f.SetInterspersed(true) // all words are its own
	t.networkFlags(f)
	f.VarP(flags.Numbers(&t.ranks, func(p *int) pflag.Value { return flags.Count(p, 1, maxSimRanks) }), "np", "n", "number `N` of ranks, of sweep several, 16,32; else all slots, or one per host")
	f.Var(flags.Numbers(&t.sizes, flags.Size), "size", "`BYTES` of a message, block, part or vector; of sweep several, 1K,64K")
	f.Var(flags.Text(&t.order), "order", "hosts get ranks in `ORDER`: "+strings.Join(rankOrders(), ", "))
	f.Uint64Var(&t.seed, "seed", t.seed, "shuffle by `N`")
	f.Var(flags.Time(&t.startup), "startup", "`TIME` that a rank takes to begin a message")
	f.BoolVar(&t.barrier, "barrier", false, "simulate ranks that begin each stage together")
	f.Var(flags.Text(&t.format), "format", "print as `FORMAT`: "+strings.Join(netsimFormats(), ", "))
	flags.Describe(f, "order", flags.Choices(rankOrders()...))
	flags.Describe(f, "format", flags.Choices(netsimFormats()...))
	return f, parsed("netsim", f, t.run)
}

// netsimFormats returns the formats of netsim's output.
func netsimFormats() []string { return formats()[:2] }

// run carries out the verb.
func (t *netsimFlags) run(e env, words []string) (int, error) {
	if !slices.Contains(netsimFormats(), t.format) {
		return 0, fmt.Errorf("--format: %q is none; say %s", t.format, strings.Join(netsimFormats(), ", "))
	}
	if !slices.Contains(rankOrders(), t.order) {
		return 0, fmt.Errorf("--order: %q is none; say %s", t.order, strings.Join(rankOrders(), ", "))
	}
	return netsimVerbs().run(t, e, words)
}

// list tells of all algorithms.
func (t *netsimFlags) list(e env, _ []string) (int, error) {
	if t.format == "json" {
		type entry struct {
			Name string `json:"name"`
			Help string `json:"help"`
		}
		var all []entry
		for _, a := range algorithms.All() {
			all = append(all, entry{a.Name, a.Help})
		}
		return e.printJSON(all)
	}
	var b strings.Builder
	for _, a := range algorithms.All() {
		fmt.Fprintf(&b, "%-29s  %s\n", a.Name, a.Help)
	}
	return e.print(b.String())
}

// one returns the number of a flag that sweep alone takes several of.
func one(flag string, numbers []int) (int, error) {
	if len(numbers) > 1 {
		return 0, fmt.Errorf("%s: %d of them; sweep takes several", flag, len(numbers))
	}
	if len(numbers) == 0 {
		return 0, nil
	}
	return numbers[0], nil
}
