package startup

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
)

// claim is one claim about golaunch, and the number that it reached.
type claim struct {
	asked   string
	reached float64 // NaN: not measured
	limit   float64
	least   bool   // reached must be at least the limit; else at most
	unit    string // after the number
}

// verdict returns yes, no or, without a measurement, a dash.
func (c claim) verdict() string {
	switch {
	case math.IsNaN(c.reached):
		return "–"
	case c.least && c.reached >= c.limit, !c.least && c.reached <= c.limit:
		return "yes"
	}
	return "**no**"
}

func (c claim) String() string {
	bound := "≤"
	if c.least {
		bound = "≥"
	}
	reached := "not measured"
	if !math.IsNaN(c.reached) {
		reached = figure(c.reached) + c.unit
	}
	return fmt.Sprintf("| %s | %s %s%s | %s | %s |", c.asked, bound, figure(c.limit), c.unit, reached, c.verdict())
}

// figure renders a number with as many digits as tell something.
func figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e6 || math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

const claimsHead = `
## What was asked and what was reached

Computed from this run. "Faster" is wall time; ratios are medians over the pairs of runs.

| asked | limit | reached | |
|---|---|---|---|
`

func (p *page) claims() {
	fmt.Fprint(p, claimsHead)
	for _, c := range p.book.claimed() {
		fmt.Fprintln(p, c)
	}
	fmt.Fprint(p, `
The scale beyond this machine and the model's error are in [scale.md](scale.md).
`)
}

// claimed returns the claims in their order.
func (b *book) claimed() []claim {
	var all []claim
	add := func(asked string, reached, limit float64, least bool, unit string) {
		all = append(all, claim{asked, reached, limit, least, unit})
	}
	nodes, many := b.settings.most(full), b.settings.pmiRanks()
	for _, x := range []struct {
		kex   string
		times float64
	}{{cluster.KexDefault, 3}, {cluster.KexCurve25519, 1.5}} {
		for _, ppn := range []int{1, many} {
			c := b.at(place{partNodes, x.kex, nodes, ppn, "true"})
			if ppn > 1 {
				c = b.at(place{partRanks, x.kex, nodes, ppn, "true"})
			}
			title := fmt.Sprintf("/bin/true, %d × %d, %s", nodes, ppn, x.kex)
			add(title+": faster than Hydra", c.ratio(hydraName, golaunchName, wall), x.times, true, " ×")
			add(title+": less CPU than Hydra", c.ratio(hydraName, golaunchName, cpu), x.times, true, " ×")
			rival, ratio := c.closest()
			add(title+": faster than every other that uses ssh; closest is "+rival, ratio, 1, true, " ×")
			add(title+": CPU by the floor's", c.ratio(golaunchName, floorName, cpu), 1.35, false, "")
		}
	}
	local := b.at(place{part: partLocal, ppn: claimedRanks, program: "true"})
	add(fmt.Sprintf("one machine, %d ranks: by the floor", claimedRanks), local.ratio(golaunchName, floorName, wall), 1.25, false, "")
	add(fmt.Sprintf("one machine, %d ranks: faster than Hydra", claimedRanks), local.ratio(hydraName, golaunchName, wall), 8, true, " ×")
	first, last := b.ends()
	add(fmt.Sprintf("one machine: time per rank of any size from %d to %d by that of %[2]d, off by (the floor: %s %%)", first, last, figure(math.Round(100*b.unlinear(floorName)))),
		100*b.unlinear(golaunchName), 15, false, " %")
	two, every := b.at(place{partPMI, cluster.KexDefault, nodes, many, twoGets}), b.at(place{partPMI, cluster.KexDefault, nodes, many, allGets})
	add(fmt.Sprintf("PMI clients with two gets, %d × %d: faster than Hydra", nodes, many), two.ratio(hydraName, golaunchName, wall), 3, true, " ×")
	add(fmt.Sprintf("PMI clients with p gets, %d × %d: what they take beyond those with two, by the same of the floor", nodes, many),
		(every.median(golaunchName, wall)-two.median(golaunchName, wall))/(every.median(floorName, wall)-two.median(floorName, wall)), 1.15, false, "")
	hard := func(hosts string) *contest {
		return b.at(place{partHard, cluster.KexDefault, b.settings.most(128), 1, hosts})
	}
	limit := slowBy.Seconds()*1000 + 1.3*hard(clean).median(golaunchName, wall)
	for _, hosts := range []string{slowHosts, deadHosts, silentHost} {
		add(fmt.Sprintf("%d nodes, %s: 2 s + 1.3 × the clean run", b.settings.most(128), hosts), hard(hosts).median(golaunchName, wall), limit, false, " ms")
	}
	failed, starts := math.NaN(), 0
	if b.refusals != nil {
		failed, starts = float64(b.refusals.failed), len(b.refusals.times)
	}
	add(fmt.Sprintf("MaxStartups %s: failures of %d starts", maxStartups, starts), failed, 0, false, "")
	return append(all, b.claimedMemory()...)
}

// claimedMemory returns the claims about memory, descriptors and the launcher.
func (b *book) claimedMemory() []claim {
	node, once, files, launcher, constant := math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
	var allowed float64
	few, most := 0, 0 // ranks per node
	if n := len(b.memory); n > 2 {
		one, full := b.memory[1], b.memory[2]
		few, most = one.ppn, full.ppn
		node, once = float64(full.node)/1e6, float64(full.nodeOnce)/1e6
		files = float64(full.agent.descriptors-one.agent.descriptors) / float64(full.ppn-one.ppn)
		launcher, allowed = float64(full.launcher.peak)/1e6, (20e6+200*float64(full.nodes)+32*float64(full.nodes*full.ppn))/1e6
		constant = float64(full.launcher.descriptors - one.launcher.descriptors)
		for _, r := range b.memory {
			constant = max(constant, math.Abs(float64(r.launcher.descriptors-one.launcher.descriptors)))
		}
	}
	claims := []claim{
		{fmt.Sprintf("agent + warden resident with %d ranks, the executable's pages counted twice", most), node, 15, false, " MB"},
		{"the same with these pages counted once", once, 15, false, " MB"},
		{fmt.Sprintf("descriptors of an agent for each rank more, from %d to %d", few, most), files, 4, false, ""},
		{"launcher: descriptors more or less, whatever the size", constant, 0, false, ""},
		{fmt.Sprintf("launcher's memory with %d ranks per node: 20 MB + 200 B/node + 32 B/rank", most), launcher, allowed, false, " MB"},
	}
	slope, from, to := math.NaN(), 0, 0
	if all := b.of(partNodes, cluster.KexDefault); len(all) > 1 {
		first, last := all[0], all[len(all)-1]
		from, to = first.nodes, last.nodes
		slope = (last.median(golaunchName, self) - first.median(golaunchName, self)) * 1e6 / float64(to-from)
	}
	return append(claims, claim{fmt.Sprintf("launcher's CPU for each node more, from %d to %d, signatures for ssh included", from, to), slope, 50, false, " µs"})
}

// closest returns the rival over ssh that comes nearest to golaunch, and the ratio of
// its time to golaunch's.
func (c *contest) closest() (name string, ratio float64) {
	name, ratio = "none", math.NaN()
	if c == nil {
		return name, ratio
	}
	for _, l := range launchers {
		if l.resident || l.name == floorName || strings.HasPrefix(l.name, golaunchName) {
			continue
		}
		if r := c.ratio(l.name, golaunchName, wall); !math.IsNaN(r) && (math.IsNaN(ratio) || r < ratio) {
			name, ratio = l.name, r
		}
	}
	return name, ratio
}

// ends returns the smallest and the largest number of ranks on one machine.
func (b *book) ends() (first, last int) {
	return slices.Min(b.settings.local), slices.Max(b.settings.local)
}

// unlinear returns the largest distance of the time per rank of any number of local
// ranks from that of the largest number, as a part of it.
func (b *book) unlinear(name string) float64 {
	contests := b.of(partLocal, "")
	if len(contests) < 2 {
		return math.NaN()
	}
	each := func(c *contest) float64 { return c.median(name, wall) / float64(c.ppn) }
	worst := 0.
	for _, c := range contests {
		worst = max(worst, math.Abs(each(c)/each(contests[len(contests)-1])-1))
	}
	return worst
}
