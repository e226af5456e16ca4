package levels

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/network/placement/levels"
)

// kinds are the levels of messages, as [Sahoo 3.1] abbreviates them.
var kinds = []string{"IG", "IC", "IB", "IN", "IS", "IaS"}

func preamble(page *strings.Builder, f results.Frame) {
	page.WriteString(f.Head("Maps onto a machine that is a hierarchy"))
	fmt.Fprintf(page, `Ranks in a periodic 3-D grid, each with six neighbors, on hosts of a Cray XC40
(`+"`cray:6,16,4,2,12`"+`), as [Sahoo] ran LAMMPS. Volumes are MB of 10⁶ bytes that a
process sends, the mean over all; IG, IC, IB, IN, IS and IaS are messages between
groups, chassis, blades, nodes, sockets, and within a socket. Max t is the time of the
process that communicates longest, the sum of latency + size / bandwidth over its
messages, with the constants of [Sahoo, table 3.2]. Nothing is measured on a network.

- *Rank order* is rank i on core i of hosts in order; *NUMA* gives each host a box of
  the grid; *HTM* is as HierTopoMap: processes joined to those of a host, the graph of
  hosts divided in equal parts, which are repaired.
- *Depth d* is recursive mapping to groups (0), chassis, blades, nodes, sockets (4), with
  rank order below; *dynamic* is the depth whose messages, all sent at once, arrive first
  where they share links and %.0f GB/s of copies in a socket.
- *Best* is the one of all candidates of package network/placement/levels that has the least max
  t; *graph only* is without the grid's dimensions.
- The rank order is of the grid as LAMMPS factors it, the last dimension fastest.
`, copyRate/1e9)
}

// published are rows of [Sahoo, table 4.1] at 8016 cores, by benchmark.
var published = map[string][]struct {
	name string
	mb   [6]float64
}{
	"chain": {
		{"Default", [6]float64{0, 720.3, 650.8, 23.9, 32.0, 704.1}},
		{"bestOfFive", [6]float64{0, 33.9, 450.8, 366.9, 293.8, 985.7}},
		{"Dynamic", [6]float64{0, 34.0, 451.6, 364.4, 286.4, 994.8}},
		{"HTM", [6]float64{0, 88.1, 508.2, 313.6, 185.5, 1035.8}},
	},
	"EAM": {
		{"Default", [6]float64{0, 1654.2, 1576.3, 62.8, 84.0, 1848.5}},
		{"bestOfFive", [6]float64{0, 80.8, 1145.6, 870.4, 732.0, 2397.0}},
		{"Dynamic", [6]float64{0, 92.1, 1151.4, 875.0, 711.9, 2395.2}},
		{"HTM", [6]float64{0, 258.3, 1219.1, 737.5, 442.9, 2568.0}},
	},
	"LJ": {
		{"Default", [6]float64{0, 1126.1, 1069.0, 42.3, 56.7, 1246.6}},
		{"bestOfFive", [6]float64{0, 53.2, 768.6, 591.9, 326.0, 1801.0}},
		{"Dynamic", [6]float64{0, 60.7, 753.6, 599.0, 493.2, 1634.1}},
		{"HTM", [6]float64{0, 168.5, 832.7, 498.6, 302.8, 1738.0}},
	},
}

func ranks(dims []int) int { return dims[0] * dims[1] * dims[2] }

// volumes writes table 4.1 for the largest job.
func volumes(page *strings.Builder) error {
	dims := grids[len(grids)-1]
	for _, b := range benchmarks {
		t, err := newTrial(dims, 1, 0, b)
		if err != nil {
			return err
		}
		x, err := makeMaps(t, t.graph)
		if err != nil {
			return err
		}
		fmt.Fprintf(page, "\n## Volume per level: %s, %d ranks in %dx%dx%d, %d contiguous hosts\n\n", b.name, ranks(dims),
			dims[0], dims[1], dims[2], ranks(dims)/coresPerHost)
		fmt.Fprintf(page, "| map | %s | sum | max t (s) | gain |\n|---|%s---|---|---|\n", strings.Join(kinds, " | "), strings.Repeat("---|", len(kinds)))
		for _, name := range x.names {
			at := x.at[name]
			if name == "dynamic" {
				name = fmt.Sprintf("dynamic (depth %d)", x.depth)
			}
			fmt.Fprintf(page, "| %s | %s | %.2f | %.1f %% |\n", name, cells(t.megabytes(at)), t.costs.Max(t.graph, at), t.gain(at))
		}
		if ranks(dims) == 8016 {
			for _, row := range published[b.name] {
				fmt.Fprintf(page, "| %s [Sahoo, table 4.1] | %s | | |\n", row.name, cells(row.mb[:]))
			}
		}
		fmt.Fprintf(page, "\nBest is %q. No map is below %.2f s.\n", x.candidates[0].Name, t.costs.Bound(t.graph))
	}
	return nil
}

// cells are volumes and their sum.
func cells(mb []float64) string {
	sum := 0.0
	var words []string
	for _, v := range mb {
		sum += v
		words = append(words, fmt.Sprintf("%.1f", v))
	}
	return strings.Join(append(words, fmt.Sprintf("%.0f", sum)), " | ")
}

// jobs writes all sizes on all allocations.
func jobs(page *strings.Builder) error {
	page.WriteString(`
## All sizes and allocations, chain

Max t in seconds; IG + IC is the mean volume that leaves the chassis in rank order and in
the best map. Sparse hosts are drawn from all blades of so many groups, on half as many
blades as hosts.

| ranks | groups | allocation | rank order | NUMA | HTM | depth 0 | 1 | 2 | 3 | 4 | dynamic | best, graph only | best | gain | bound | IG + IC | best |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, dims := range grids {
		for groups := range 5 {
			seed := uint64(groups)
			if groups == 0 {
				groups = 1
			}
			if ranks(dims)/coresPerHost < 2*groups {
				continue
			}
			t, err := newTrial(dims, groups, seed, benchmarks[0])
			if err != nil {
				return err
			}
			x, err := makeMaps(t, t.graph)
			if err != nil {
				return err
			}
			fmt.Fprintf(page, "| %d | %d | %s ", ranks(dims), groups, t.allocation())
			for _, name := range x.names {
				fmt.Fprintf(page, "| %.2f ", t.costs.Max(t.graph, x.at[name]))
				if name == "dynamic" {
					fmt.Fprintf(page, "(%d) ", x.depth)
				}
			}
			before, after := t.megabytes(x.at["rank order"]), t.megabytes(x.at["best"])
			fmt.Fprintf(page, "| %.1f %% | %.2f | %.1f | %.1f |\n", t.gain(x.at["best"]), t.costs.Bound(t.graph),
				before[0]+before[1], after[0]+after[1])
		}
	}
	return nil
}

// profiles writes the rest of the gain if maps are made from a short run.
func profiles(page *strings.Builder) error {
	page.WriteString(`
## Maps from a profile of 1 % of the run, chain

Gain over rank order in max t, of maps made from the volumes themselves (exact), and from
a hundredth of each that is off by up to 1 % and up to 30 % (seed 1). Contiguous hosts.
A map is chosen by the profile, and may turn out worse than rank order by the volumes
themselves. [Sahoo, figure 4.5] measured 26.6 % for the best depth, 23.8 % for dynamic,
21.3 % for HTM at 192 ranks, 2.5 % at 3072.

| ranks | HTM: exact | 1 % | 30 % | dynamic: exact | 1 % | 30 % | best, graph only: exact | 1 % | 30 % | best: exact | 1 % | 30 % |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, dims := range grids {
		t, err := newTrial(dims, 1, 0, benchmarks[0])
		if err != nil {
			return err
		}
		var by []*maps
		for _, share := range []float64{0, 0.01, 0.3} {
			g, err := t.profile(benchmarks[0], share, 1)
			if err != nil {
				return err
			}
			x, err := makeMaps(t, g)
			if err != nil {
				return err
			}
			by = append(by, x)
		}
		fmt.Fprintf(page, "| %d ", ranks(dims))
		for _, name := range []string{"HTM", "dynamic", "best, graph only", "best"} {
			for _, x := range by {
				fmt.Fprintf(page, "| %.1f %% ", t.gain(x.at[name]))
			}
		}
		page.WriteString("|\n")
	}
	return nil
}

// shares writes figures 4.1 and 4.2.
func shares(page *strings.Builder) error {
	dims := grids[max(0, len(grids)-2)]
	t, err := newTrial(dims, 4, 1, benchmarks[0])
	if err != nil {
		return err
	}
	x, err := makeMaps(t, t.graph)
	if err != nil {
		return err
	}
	fmt.Fprintf(page, `
## Share of each level, chain, %d ranks, sparse on 4 groups, seed 1

Percent of the volume and of the time of all ranks [Sahoo, figure 4.1]; all messages have
one size, so that their number has the shares of the volume. Arrival is the mean of a
level's messages, in seconds, if all are sent at once, with %.0f GB/s of copies: [Sahoo,
figure 4.2] has depth 3 as the one whose levels take most nearly the same.

`, ranks(dims), copyRate/1e9)
	fmt.Fprintf(page, "| map | of | %s |\n|---|---|%s\n", strings.Join(kinds, " | "), strings.Repeat("---|", len(kinds)))
	for _, name := range x.names {
		list := t.costs.Shares(t.graph, x.at[name])
		simulated, err := t.sharing(copyRate).Simulate(t.graph, t.costs, x.at[name])
		if err != nil {
			return err
		}
		var all levels.Share
		for _, s := range list {
			all.Volume, all.Time = all.Volume+s.Volume, all.Time+s.Time
		}
		var volume, spent, arrival []string
		for l, s := range list {
			volume = append(volume, fmt.Sprintf("%.1f", 100*float64(s.Volume)/float64(all.Volume)))
			spent = append(spent, fmt.Sprintf("%.1f", 100*s.Time/all.Time))
			arrival = append(arrival, fmt.Sprintf("%.2f", simulated.Mean[l]))
		}
		fmt.Fprintf(page, "| %s | volume | %s |\n| | time | %s |\n| | arrival | %s |\n", name,
			strings.Join(volume, " | "), strings.Join(spent, " | "), strings.Join(arrival, " | "))
	}
	return nil
}

// depths writes the effect of the rate of copies on the choice of depth.
func depths(page *strings.Builder) error {
	page.WriteString(`
## The mapping depth where messages share, chain, contiguous hosts

Seconds until all messages have arrived that are sent at once. Links have the rates of
[Sahoo, table 3.1], a host's adapter 16 Gb/s in each direction. Copies in a socket are
what deeper maps have more of: without them none of these jobs has a better depth than
the last, though others are as good; with slow copies the best depth is in the middle or
at the top. The depth that is taken is in bold.

| ranks | copies (GB/s) | depth 0 | 1 | 2 | 3 | 4 |
|---|---|---|---|---|---|---|
`)
	for _, dims := range grids {
		t, err := newTrial(dims, 1, 0, benchmarks[0])
		if err != nil {
			return err
		}
		at, err := levels.Recursive(t.graph, t.machine(), levels.Plan{})
		if err != nil {
			return err
		}
		for _, copies := range []float64{0, 4e9, 3e9, 2.5e9, 2e9, 1e9} {
			depth, outcome, err := levels.Dynamic(t.graph, t.costs, at, t.sharing(copies))
			if err != nil {
				return err
			}
			rate := "no limit"
			if copies > 0 {
				rate = fmt.Sprintf("%.1f", copies/1e9)
			}
			fmt.Fprintf(page, "| %d | %s ", ranks(dims), rate)
			for d, o := range outcome {
				if d == depth {
					fmt.Fprintf(page, "| **%.2f** ", o.Time)
				} else {
					fmt.Fprintf(page, "| %.2f ", o.Time)
				}
			}
			page.WriteString("|\n")
		}
	}
	return nil
}
