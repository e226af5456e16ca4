package netsim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/alltoall"
	"github.com/golaunch/golaunch/network/netsim/rooted"
	"github.com/golaunch/golaunch/network/placement/arrange"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/source"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// oversubscribed is built as Stampede was [Subramoni 6.3]: leaf switches of 20 hosts
// with 16 cables upward, five stages.
const oversubscribed = "fattree:20,18,3/1,16,18/1,1,1"

// fabric returns that network and its routes.
func fabric() (routing.ByDestination, error) {
	g, err := spec.Parse(oversubscribed)
	if err != nil {
		return nil, err
	}
	return routing.NewDModK(g)
}

// writeSubramoni writes the sections on chapters 3, 4 and 6.
func writeSubramoni(page *strings.Builder) error {
	r, err := fabric()
	if err != nil {
		return err
	}
	for _, section := range []func(*strings.Builder, routing.ByDestination) error{
		writeExchanges, writeSparse, writeRows, writeOverheads, writeGather, writeNear, writeFast,
	} {
		if err := section(page, r); err != nil {
			return err
		}
	}
	return nil
}

// hostsOfLeaves returns so many hosts, each of the first ones of a leaf switch of 20.
func hostsOfLeaves(n, each int) []topology.Node {
	list := make([]topology.Node, n)
	for i := range list {
		list[i] = topology.Node(i/each*20 + i%each)
	}
	return list
}

// plan is a way to exchange, for a table.
type plan struct {
	name string
	make func(n *netsim.Network) (netsim.Schedule, error)
}

var plans = []plan{
	{"XOR", func(n *netsim.Network) (netsim.Schedule, error) { return alltoall.XOR(n.Ranks(), 1), nil }},
	{"pairwise", func(n *netsim.Network) (netsim.Schedule, error) { return alltoall.Pairwise(n.Ranks(), 1), nil }},
	{"TACS1, 1 on a link", func(n *netsim.Network) (netsim.Schedule, error) { return alltoall.TACS1(n, 1) }},
	{"TACS1, 2 on a link", func(n *netsim.Network) (netsim.Schedule, error) { return alltoall.TACS1(n, 2) }},
	{"TACS2", func(n *netsim.Network) (netsim.Schedule, error) { return alltoall.TACS2(n, 2) }},
}

func writeExchanges(page *strings.Builder, r routing.ByDestination) error {
	fmt.Fprintf(page, `
## All-to-all on over-subscribed leaf switches

[Subramoni 6.3] on %[1]s: leaf switches of 20 hosts with 16 cables upward, of which a
message takes the one with the number of its destination mod 16 (D-Mod-K). The hosts are the first of the network; each
sends one unit to each other. The cost of a stage is what its busiest link has, in one direction. The bound is what all
messages together put on the busiest link, for which two hosts that share a link get twice what comes from other leaf
switches. No schedule costs less.

| hosts | %[2]s | bound | a stage: %[2]s |
|%[3]s
`, oversubscribed, strings.Join(planNames(), " | "), strings.Repeat("---|", 2*len(plans)+2))
	for _, size := range []int{64, 128, 256, 512, 1024} {
		n, err := netsim.New(r, hostsOfLeaves(size, 20))
		if err != nil {
			return err
		}
		bound, err := alltoall.Bound(n)
		if err != nil {
			return err
		}
		fmt.Fprintf(page, "| %d |", size)
		var means []string
		for _, p := range plans {
			s, stages, err := costs(n, p)
			if err != nil {
				return err
			}
			total := alltoall.Total(stages)
			fmt.Fprintf(page, " %d in %d |", total, s.Stages)
			means = append(means, fmt.Sprintf("%.2f, %d", float64(total)/float64(s.Stages), slices.Max(stages)))
		}
		fmt.Fprintf(page, " %d | %s |\n", bound, strings.Join(means, " | "))
	}
	fmt.Fprint(page, `
"93 in 93" is a cost of 93 in 93 stages; under "a stage" are the mean and the largest cost of one. On 64 and 128 hosts
(1,024 and 2,048 processes) the source measured TACS1 15 % faster than XOR; here it costs 16 % and 10 % less, and no
schedule could do better than 21 % and 10 %. From 256 hosts on there is little to gain: at most 5 %, 2 % and 1 %. XOR is
23 units above the bound on any of these numbers of hosts, and the plain pairwise exchange is 6 above it. The source
found one conflict per link (2 on a link) best; by this cost none is. TACS2 has as many stages as hosts, and costs more
than XOR: what makes it 15 % faster for an FFT in the source is not in this measure, in which all wait for a stage's
busiest link.
`)
	return nil
}

func planNames() []string {
	var names []string
	for _, p := range plans {
		names = append(names, p.name)
	}
	return names
}

func costs(n *netsim.Network, p plan) (netsim.Schedule, []int64, error) {
	s, err := p.make(n)
	if err != nil {
		return s, nil, err
	}
	c, err := alltoall.Cost(n, s)
	return s, c, err
}

// writeSparse shows the choices where fewer links are shared.
func writeSparse(page *strings.Builder, r routing.ByDestination) error {
	known, err := tii.Discover(r, topology.Serial)
	if err != nil {
		return err
	}
	fmt.Fprint(page, `
The choice of a schedule (DCSS) takes the one that costs least of XOR, pairwise, and TACS1 with one message on a link.
The source's printed rule asks for TACS if links are shared and leaf switches have at least 5 % of the hosts each, in
the mean; no job over 400 hosts on leaf switches of 20 passes it.

| hosts | on each leaf switch | balance | XOR or pairwise | chosen | cost | bound | printed rule |
|---|---|---|---|---|---|---|---|
`)
	for _, c := range []struct{ hosts, each int }{{64, 20}, {64, 8}, {64, 2}, {100, 20}, {256, 20}, {512, 20}} {
		order := hostsOfLeaves(c.hosts, c.each)
		n, err := netsim.New(r, order)
		if err != nil {
			return err
		}
		usual, err := alltoall.Cost(n, alltoall.Default(c.hosts, 1))
		if err != nil {
			return err
		}
		s, cost, err := alltoall.Choose(n)
		if err != nil {
			return err
		}
		bound, err := alltoall.Bound(n)
		if err != nil {
			return err
		}
		j, err := known.Job(order)
		if err != nil {
			return err
		}
		rule := "default"
		if alltoall.Asks(j, topology.Serial) {
			rule = "TACS"
		}
		fmt.Fprintf(page, "| %d | %d | %.2f | %d | %s | %d | %d | %s |\n", c.hosts, c.each, j.Balance(), alltoall.Total(usual), s.Name, alltoall.Total(cost), bound, rule)
	}
	return nil
}

// writeRows shows the exchanges of an FFT.
func writeRows(page *strings.Builder, r routing.ByDestination) error {
	fmt.Fprint(page, `
An FFT of 1,024 processes, 16 on each of 64 hosts, exchanges along rows (one process of each host) and columns (those of
a host) [Subramoni 6.3.3]. TACS2 has as many stages as there are processes:

| | processes | XOR | TACS2 |
|---|---|---|---|
`)
	for _, c := range []struct {
		name  string
		order []topology.Node
	}{{"row", hostsOfLeaves(64, 20)}, {"column", make([]topology.Node, 16)}} {
		n, err := netsim.New(r, c.order)
		if err != nil {
			return err
		}
		fmt.Fprintf(page, "| %s | %d |", c.name, n.Ranks())
		for _, p := range []plan{plans[0], plans[4]} {
			s, stages, err := costs(n, p)
			if err != nil {
				return err
			}
			fmt.Fprintf(page, " %d in %d |", alltoall.Total(stages), s.Stages)
		}
		fmt.Fprintln(page)
	}
	return nil
}

// planned are the numbers of hosts in the table of planning times.
var planned = []int{8, 16, 32, 64, 128, 256, 1024}

// phases are those of planning: the times of the source's tables, as printed but in
// seconds, and golaunch's work.
var phases = []struct {
	printed []string
	ours    string
}{
	{[]string{
		"discovery (4.2) | 0.0051 | 0.0042 | 0.0069 | | | | |",
		"discovery (5.2) | | 0.006 | 0.007 | 0.011 | 0.018 | | |",
		"discovery (8.1, 6.1) | 0.0030 | 0.0052 | 0.0047 | 0.0175 | 0.0343 | 0.1237 | |",
		"delay matrix (4.2) | 0.0057 | 0.0237 | 0.1031 | | | | |",
	}, "matrix of paths (network/routing/tii)"},
	{[]string{
		"communicator (4.2) | 0.00013 | 0.0015 | 0.0024 | | | | |",
		"communicator (5.2) | | 0.006 | 0.008 | 0.578 | 0.773 | | |",
	}, "order of a broadcast from one root, breadth first"},
	{[]string{
		"mapping by the library (5.2) | | 0.180 | 0.228 | 0.635 | 1.474 | | |",
		"mapping by the scheduler (8.1) | 0.0030 | 0.0040 | 0.0090 | 0.0200 | 0.0400 | | |",
	}, "order of hosts (network/placement/arrange)"},
	{[]string{"schedule (6.1) | 0.0020 | 0.0023 | 0.0058 | 0.1132 | 0.3965 | 11.6709 | |"}, "schedule, TACS1"},
}

// writeOverheads measures the times of planning.
func writeOverheads(page *strings.Builder, r routing.ByDestination) error {
	var file bytes.Buffer
	if err := ibnet.Write(&file, r.Graph()); err != nil {
		return err
	}
	var read *source.Network
	var known *tii.Network
	var once []any
	once = append(once, r.Graph().Hosts())
	for _, do := range []func() error{
		func() (err error) {
			read, err = source.Read(bytes.NewReader(file.Bytes()), "fabric")
			return err
		},
		func() error { _, err := routing.New(read.Graph, topology.Serial); return err },
		func() (err error) { known, err = tii.Discover(r, topology.Serial); return err },
	} {
		took, err := least(do)
		if err != nil {
			return err
		}
		once = append(once, took.Seconds())
	}
	fmt.Fprintf(page, `
## What planning takes

In seconds, for a job's hosts in the network above; the source's of its tables. Those of golaunch are MEASURED on the
machine that made this page, on one processor, the least of 3 runs. The network has %d hosts. golaunch reads it from
ibnetdiscover's output in %.4f, routes it in %.4f and finds its levels of switches in %.4f, once for all jobs; the
source's library asks a service for each job. The matrix takes one query for each host: 256 for 256 hosts, where one for
each pair was 65,280 (figure 6.4).

| phase |`, once...)
	for _, n := range planned {
		fmt.Fprintf(page, " %d |", n)
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(planned)+1))
	took := make([][]time.Duration, len(planned))
	for i, n := range planned {
		var err error
		if took[i], err = planning(r, known, hostsOfLeaves(n, 20)); err != nil {
			return err
		}
	}
	for i, p := range phases {
		for _, row := range p.printed {
			fmt.Fprintf(page, "| %s\n", row)
		}
		fmt.Fprintf(page, "| golaunch: %s |", p.ours)
		for _, t := range took {
			fmt.Fprintf(page, " %.5f |", t[i].Seconds())
		}
		fmt.Fprintln(page)
	}
	return nil
}

// planning times golaunch's part of each of the phases.
func planning(r routing.ByDestination, known *tii.Network, order []topology.Node) ([]time.Duration, error) {
	n, err := netsim.New(r, order)
	if err != nil {
		return nil, err
	}
	j, err := known.Job(order)
	if err != nil {
		return nil, err
	}
	named := make([]job.Host, len(order))
	of := make([]int, len(order))
	for i, h := range order {
		named[i].Name, of[i] = r.Graph().Name(h), i
	}
	trees, err := rooted.NewBroadcasts(n, 4, rooted.BreadthFirst, rooted.Hops)
	if err != nil {
		return nil, err
	}
	root := int32(-1)
	var took []time.Duration
	for _, do := range []func() error{
		func() error { j.Paths(topology.Serial); return nil },
		func() error { root++; trees.Tree(root); return nil }, // another each time
		func() error {
			_, _, err := arrange.Order(r, named, order, of, arrange.Seed, topology.Serial)
			return err
		},
		func() error { _, err := alltoall.TACS1(n, 1); return err },
	} {
		d, err := least(do)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// least returns the shortest of three runs.
func least(do func() error) (time.Duration, error) {
	var took []time.Duration
	for range 3 {
		begin := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	return slices.Min(took), nil
}
