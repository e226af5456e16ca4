package startup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/report"
)

func (p *page) phases() {
	rows := p.book.phases
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(p, `
## golaunch's phases and messages (phases)

One job of native/programs/pmistart.c for each row, which puts an address, enters the fence and gets
two, with --report. What was over when, in milliseconds since golaunch began:

| nodes × ranks | degree |`)
	var names []string
	for _, name := range phaseNames {
		if slices.ContainsFunc(rows, func(r phaseRow) bool { _, ok := r.over[name]; return ok }) {
			names = append(names, name)
			fmt.Fprintf(p, " %s |", name)
		}
	}
	fmt.Fprintf(p, "\n|%s\n", strings.Repeat("---|", len(names)+2))
	for _, r := range rows {
		fmt.Fprintf(p, "| %d × %d | %d |", r.nodes, r.ppn, r.degree)
		for _, name := range names {
			if at, ok := r.over[name]; ok {
				fmt.Fprintf(p, " %.0f |", at)
			} else {
				fmt.Fprint(p, " – |")
			}
		}
		fmt.Fprintln(p)
	}
	fmt.Fprintf(p, "\nMessages that the agents of a job sent, and their bytes, headers included; and the agents' own CPU:\n\n| nodes × ranks | %s | kB in all | bytes per node | agents' CPU, s |\n|%s\n",
		strings.Join(report.StreamNames[:], " | "), strings.Repeat("---|", report.NumStreams+4))
	for _, r := range rows {
		var bytes uint64
		fmt.Fprintf(p, "| %d × %d |", r.nodes, r.ppn)
		for _, c := range r.sent {
			fmt.Fprintf(p, " %d |", c.Messages)
			bytes += c.Bytes
		}
		fmt.Fprintf(p, " %.1f | %d | %.2f |\n", float64(bytes)/1000, bytes/uint64(r.nodes), r.agentCPU)
	}
}

func (p *page) memory() {
	if len(p.book.memory) == 0 {
		return
	}
	mb := func(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) }
	fmt.Fprint(p, `
## golaunch's memory and descriptors (memory)

While all ranks of a job wait, in MB. Peak is the most that a process ever had resident
(VmHWM), resident what it has now; agents and wardens have the pages of one executable in
common, which these sums hold twice, and "once" only once. PSS is a process' share where all
nodes are one machine. Of the nodes, the largest.

| nodes × ranks | launcher: peak | PSS | descriptors | agent + warden: peak | resident | once | agent: PSS | descriptors | warden: PSS | descriptors |
|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, r := range p.book.memory {
		fmt.Fprintf(p, "| %d × %d | %s | %s | %d | %s | %s | %s | %s | %d | %s | %d |\n", r.nodes, r.ppn,
			mb(r.launcher.peak), mb(r.launcher.pss), r.launcher.descriptors, mb(r.nodePeak), mb(r.node), mb(r.nodeOnce), mb(r.agent.pss), r.agent.descriptors, mb(r.warden.pss), r.warden.descriptors)
	}
}

func (p *page) hard() {
	contests := p.of(partHard, cluster.KexDefault)
	if len(contests) > 0 {
		fmt.Fprintf(p, `
## Hosts that are not well (hard)

`+"`hostname`"+` on %d nodes; a run counts if every living host was named. With dead hosts
golaunch is given --allow-dead-nodes and --spares; the others may exit as they like, and run
once. No run may take longer than %v. Every sshd has MaxStartups %s.
`, contests[0].nodes, hardLimit, maxStartups)
		names := contenders(contests)
		p.matrix("Wall time, ms", contests, func(c *contest) string { return c.program }, "hosts", names, 0,
			func(c *contest, n string) float64 { return c.median(n, wall) })
	}
	if r := p.refusals; r != nil {
		fmt.Fprintf(p, `
Starts of golaunch, one after another, on %d nodes that are all well: %d, of which %d failed; median %.0f ms.
[hard-start.md](hard-start.md) has several jobs at once, and a dead rack.
`, r.nodes, len(r.times), r.failed, middle(r.times))
	}
}

// table writes table 2.1 of [Sridhar].
func (p *page) table() {
	contests := p.of(partTable, cluster.KexDefault)
	if len(contests) == 0 {
		return
	}
	fmt.Fprintf(p, `
## Table 2.1: an agent per node against a connection per rank (table)

%d nodes with c ranks of /bin/true each. A connection per rank is made by the floor's program, and
by the OpenSSH client, eight at a time both.
`, contests[0].nodes)
	label := func(c *contest) string { return fmt.Sprint(c.ppn) }
	names := contenders(contests)
	p.matrix("Wall time, ms", contests, label, "c", names, 0, func(c *contest, n string) float64 { return c.median(n, wall) })
	p.matrix("By golaunch's", contests, label, "c", without(names, golaunchName), 2, func(c *contest, n string) float64 { return c.ratio(n, golaunchName, wall) })
	if m, ok := p.thesis(); ok {
		fmt.Fprintf(p, `
Sridhar's formulas with the processor times of these runs: a connection and its rank take
T_conn + T_launch = %.1f ms (the slope of a connection per rank), a node with its agent T_conn +
T_nla = %.1f ms, a further rank of an agent T_launch = %.2f ms. An agent per node then pays
for itself from c = %.1f on, and with c = 64 takes 1/%.0f of the processor time.
`, m.perRank, m.perNode, m.launch, m.even(), 64*m.perRank/(m.perNode+63*m.launch))
	}
	fmt.Fprintf(p, "\n![table 2.1](%s)\n", p.plotName("table-2.1"))
}

// costs are those of table 2.1, in milliseconds of processor time.
type costs struct{ perRank, perNode, launch float64 }

// thesis fits the costs: slopes between the first and the last c.
func (b *book) thesis() (m costs, ok bool) {
	contests := b.of(partTable, cluster.KexDefault)
	if len(contests) < 2 {
		return m, false
	}
	first, last := contests[0], contests[len(contests)-1]
	nodes, more := float64(first.nodes), float64(last.ppn-first.ppn)
	slope := func(name string) float64 {
		return (last.median(name, cpu) - first.median(name, cpu)) * 1000 / nodes / more
	}
	m = costs{perRank: slope(perRankName), perNode: first.median(golaunchName, cpu) * 1000 / nodes, launch: slope(golaunchName)}
	return m, m.perRank > 0 && m.launch > 0
}

// even returns the number of ranks per node from which on an agent is cheaper.
func (m costs) even() float64 { return max(1, (m.perNode-m.launch)/(m.perRank-m.launch)) }

// figures writes figures 2.4 and 2.5 of [Sridhar].
func (p *page) figures() {
	contests := p.of(partFigures, cluster.KexDefault)
	if len(contests) == 0 {
		return
	}
	fmt.Fprint(p, `
## Figures 2.4 and 2.5: the phases of a start-up (figures)

native/programs/pmistart.c under each launcher that serves PMI-1. Spawn is from the start of the
launcher to the last rank's main; init from there until the last rank has put its address, passed
the fence and got two others'. srun's daemons run before. Figure 2.6, over PMGR, is in [pmgr.md](pmgr.md).
`)
	names := without(contenders(contests), chainName)
	p.matrix("Spawn, ms", contests, shape, "nodes × ranks", names, 0, func(c *contest, n string) float64 { return c.median(n, spawn) })
	p.matrix("Init, ms", contests, shape, "nodes × ranks", names, 0, func(c *contest, n string) float64 { return c.median(n, inits) })
	single := slices.DeleteFunc(slices.Clone(contests), func(c *contest) bool { return c.entry(chainName) == nil })
	fmt.Fprint(p, `
Figure 2.4 is the time to set a ring of daemons up, each after the one before. The daemons
of that time are no longer to be had; no ring can be faster than as many connections made
one after another, which grow linearly where nothing else runs on the nodes' processors.
`)
	p.matrix("Wall time, ms", single, func(c *contest) string { return fmt.Sprint(c.nodes) }, "nodes", []string{chainName, golaunchName}, 0,
		func(c *contest, n string) float64 { return c.median(n, wall) })
	fmt.Fprintf(p, "\n![spawn](%s)\n\n![init](%s)\n\n![one after another](%s)\n", p.plotName("figure-2.5-spawn"), p.plotName("figure-2.5-init"), p.plotName("figure-2.4"))
}
