package cache

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/plot"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// spread returns the least, the median and the most of numbers.
func spread(numbers []int) (least, median, most int) {
	return slices.Min(numbers), results.Median(numbers), slices.Max(numbers)
}

// tableNodes bounds the nodes of table 3.1: under hcmab each node holds all there is,
// on any number of nodes, and all of them are here.
const tableNodes = 64

// table31 writes the memory of a node after n rounds.
func table31(page *strings.Builder, s settings) error {
	fmt.Fprintf(page, `
## Table 3.1: memory of a node after n rounds

The fullest node, after rounds of one put of %d bytes and two gets by every rank.
hcmab-lru and distributed have a budget of one round. Up to %d nodes: their
share of keys that live with them is p·n by that.

| p | n |`, valueBytes, tableNodes)
	for _, policy := range cache.Policies() {
		fmt.Fprintf(page, " %s |", policy)
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(cache.Policies())+2))
	chart := plot.Chart{
		Title: fmt.Sprintf("Memory of the fullest node, p = %d", s.growth),
		X:     plot.Axis{Label: "rounds n", Log: true},
		Y:     plot.Axis{Label: "bytes held (MB)", Log: true},
	}
	for _, policy := range cache.Policies() {
		chart.Series = append(chart.Series, plot.Series{Name: string(policy)})
	}
	for _, p := range s.table {
		most := map[int][]int{} // by n, then by policy
		for i, policy := range cache.Policies() {
			nodes := min(p/16, tableNodes)
			f := &forest{shape: grow(nodes, degree, p/nodes), policy: policy, budget: roundBytes(p, valueBytes), value: valueBytes}
			err := f.rounds(s.rounds(p), func(n int, h held) {
				most[n] = append(most[n], h.most)
				if p == s.growth {
					chart.Series[i].Points = append(chart.Series[i].Points, plot.Point{X: float64(n), Y: float64(h.most) / 1e6})
				}
			})
			if err != nil {
				return err
			}
		}
		for _, n := range s.rounds(p) {
			fmt.Fprintf(page, "| %d | %d |", p, n)
			for _, bytes := range most[n] {
				fmt.Fprintf(page, " %s |", sizeOf(bytes))
			}
			fmt.Fprintln(page)
		}
	}
	const name = "plots/cache-memory.svg"
	fmt.Fprintf(page, "\n![memory over rounds](%s)\n", name)
	return chart.WriteFile(s.Beside(name))
}

// rounds plays rounds and tells the memory after each of the numbers in list.
func (f *forest) rounds(list []int, tell func(n int, h held)) error {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // memory is scarce
	if err := f.plant(); err != nil {
		return err
	}
	for n := 1; n <= slices.Max(list); n++ {
		if err := f.round(n - 1); err != nil {
			return err
		}
		if slices.Contains(list, n) {
			tell(n, f.held(n))
		}
	}
	f.boards = nil
	runtime.GC()
	return nil
}

// trees writes the memory of large trees in this process.
func trees(page *strings.Builder, s settings) error {
	fmt.Fprintf(page, `
## Large trees in one process

One round of one put and two gets by each of 16 ranks per node, under degree 16.
"Beyond homes" is the most that one node holds beside the keys whose home it is:
the budget bounds it at every node, or the run fails. What is replicated counts at
each node.

| nodes × ranks | policy | budget | root | least | median | most | beyond homes |
|---|---|---|---|---|---|---|---|
`)
	for _, t := range s.trees {
		for _, policy := range cache.Policies() {
			size := t.nodes * t.ranks
			budget, named := roundBytes(size, valueBytes), "one round"
			if t.share {
				budget, named = budget/64, "1/64 round"
			}
			f := &forest{shape: grow(t.nodes, 16, t.ranks), policy: policy, budget: budget, value: valueBytes, share: t.share}
			if t.share && policy == cache.HCMAB {
				f.askers = 64
			}
			if !policy.UsesHomes() {
				named = "–"
			}
			var h held
			if err := f.rounds([]int{1}, func(_ int, now held) { h = now }); err != nil {
				return err
			}
			beyond := "–"
			if policy.UsesHomes() {
				beyond = sizeOf(h.beyond)
				if h.beyond > budget {
					return fmt.Errorf("%s, %d nodes: a node holds %d bytes, its budget is %d", policy, t.nodes, h.beyond, budget)
				}
			}
			fmt.Fprintf(page, "| %d × %d | %s | %s | %s | %s | %s | %s | %s |\n", t.nodes, t.ranks, policy, named,
				sizeOf(h.root), sizeOf(h.least), sizeOf(h.median), sizeOf(h.most), beyond)
		}
	}
	fmt.Fprint(page, `
Up to 1,024 nodes each has its own copy of everything. On 4,096 nodes those of
hcmab share one copy of the broadcast, and the ranks of 64 nodes get: a node
indexes what it was sent when it is first asked, which is why the median is less
than the most.
`)
	return nil
}
