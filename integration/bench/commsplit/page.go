package commsplit

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// sackTotals is table 2.1 of [Sack]: seconds by ranks and by 2 to 64 sorting
// processes, on a 1.9 GHz POWER5+.
var sackTotals = map[int][]float64{
	8 << 20:   {.27, .17, .10, .07, .06, .10},
	16 << 20:  {.55, .35, .20, .12, .09, .11},
	32 << 20:  {1.09, .70, .42, .24, .15, .15},
	64 << 20:  {2.24, 1.41, .84, .48, .28, .22},
	128 << 20: {4.39, 2.82, 1.69, .97, .56, .37},
}

func write(page *strings.Builder, s settings) error {
	title, times := "MPI_Comm_split by parallel sort", fmt.Sprintf("processor time of one process, the slowest of p, median of %d runs", s.Runs)
	if s.what != "sort" {
		title, times = "What auto chooses", fmt.Sprintf("the least processor time of each process in %d to %d runs, fewer where an algorithm is far from the best",
			runsAtLeast(s.Runs), runsAtMost(s.Runs))
	}
	head(page, s, title, times)
	if s.what != "sort" {
		return gridTable(page, s, grid())
	}
	most := max(slices.Max(s.sizes), s.small)
	m := newArena(most)
	var rows []size
	for _, n := range s.sizes {
		r, err := measureSize(m, n, s)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	headline(page, rows)
	breakdown(page, rows, s)
	laws(page, rows, s)
	return smallTable(page, m, s)
}

// head begins a page.
func head(page *strings.Builder, s settings, title, times string) {
	page.WriteString(s.Head(title))
	fmt.Fprintf(page, "%s, %s, %s; %s.\n", results.Today(), runtime.Version(), results.Machine(), times)
}

// size is everything about one number of ranks.
type size struct {
	n            int
	conventional conventional
	merge        result // in place: one sorter
	sorts        []result
	full         result // with the best number of sorters and the full table everywhere
}

func measureSize(m *arena, n int, s settings) (r size, err error) {
	r.n = n
	r.conventional = measureConventional(m, n, 1, s.Runs)
	if r.merge, err = measureSort(m, n, 1, 1, 1, s.Runs); err != nil {
		return r, err
	}
	for _, p := range s.sorters {
		sort, err := measureSort(m, n, p, p, 1, s.Runs)
		if err != nil {
			return r, err
		}
		r.sorts = append(r.sorts, sort)
	}
	r.full, err = measureSort(m, n, s.sorters[r.best()], 1, 1, s.Runs)
	return r, err
}

// best returns the index of the number of sorters with the smallest total.
func (r size) best() int {
	best := 0
	for i := range r.sorts {
		if r.sorts[i].phases.paper() < r.sorts[best].phases.paper() {
			best = i
		}
	}
	return best
}

func headline(page *strings.Builder, rows []size) {
	fmt.Fprint(page, `
## Against the baselines (figures 2.1 to 2.3)

Sort at end: a process has gathered all rows (at no cost here), scans them and sorts
them, by comparison (slices.SortFunc) or by 11-bit digits; the faster counts. Merge
in place: the same code as the parallel sort, with one sorter. Rows are 12 bytes
everywhere, and compared by the same function. The paper has 60 and 14 at 128M. The last
two columns have every process end with the full table, as merging in place does anyhow
(P' = 1: each sorter sends its share of the ranks to all others), settle counted on both
sides, that of the median process; the paper has 2.7.

| ranks | scan | by comparison | by digits | merge in place | parallel, best p | sort at end / best | merge / best | best with full table | merge / best, both with full table |
|---|---|---|---|---|---|---|---|---|---|
`)
	for _, r := range rows {
		best := r.sorts[r.best()].phases.paper()
		merge := r.merge.phases.paper()
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %s | %.1f | %.1f | %s | %.1f |\n", short(r.n),
			sec(r.conventional.filter), sec(r.conventional.compare), sec(r.conventional.radix), sec(merge), sec(best),
			ratio(r.conventional.faster(), best), ratio(merge, best), sec(r.full.phases.whole()), ratio(r.merge.phases.whole(), r.full.phases.whole()))
	}
}

func breakdown(page *strings.Builder, rows []size, s settings) {
	fmt.Fprint(page, "\n## Phases (table 2.1), in seconds\n\nSettle, which tells every rank its place and cuts the table, is not in the paper's total.\nBytes are those that a process sends, rows the most that it holds.\n\n| ranks | |")
	for _, p := range s.sorters {
		fmt.Fprintf(page, " %d |", p)
	}
	fmt.Fprint(page, "\n|---|---|", strings.Repeat("---|", len(s.sorters)), "\n")
	line := func(name, label string, cell func(i int) string) {
		fmt.Fprintf(page, "| %s | %s |", name, label)
		for i := range s.sorters {
			fmt.Fprintf(page, " %s |", cell(i))
		}
		fmt.Fprintln(page)
	}
	for _, r := range rows {
		name := short(r.n)
		for k := commsplit.Collect; k < commsplit.Settle; k++ {
			line(name, k.String(), func(i int) string { return sec(r.sorts[i].phases[k]) })
			name = ""
		}
		line("", "**total**", func(i int) string { return "**" + sec(r.sorts[i].phases.paper()) + "**" })
		if seed := sackTotals[r.n]; seed != nil {
			line("", "Sack's total", func(i int) string {
				k := bits.Len(uint(s.sorters[i])) - 2 // 2 is the first column
				if k < 0 || k >= len(seed) {
					return ""
				}
				return fmt.Sprintf("%.2f", seed[k])
			})
		}
		line("", commsplit.Settle.String(), func(i int) string { return sec(r.sorts[i].phases[commsplit.Settle]) })
		line("", "MB sent", func(i int) string { return fmt.Sprintf("%.2f", float64(r.sorts[i].bytes)/1e6) })
		line("", "rows held / (n/p)", func(i int) string {
			return fmt.Sprintf("%.2f", float64(r.sorts[i].rows)*float64(s.sorters[i])/float64(r.n))
		})
	}
}

// laws checks the paper's analysis of table 2.1.
func laws(page *strings.Builder, rows []size, s settings) {
	fmt.Fprint(page, "\n## The laws of table 2.1\n\nCollect goes as 1/p: slope -1 of log time over log p. Merging in two shares takes as long as\nin four. The splitters' time goes as p, and hardly as n. The best p grows with n.\n\n| ranks | slope of collect | merge(2) / merge(4) | slope of splitters | splitters at the largest p | best p |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		merges := "-"
		if i, j := slices.Index(s.sorters, 2), slices.Index(s.sorters, 4); i >= 0 && j >= 0 {
			merges = fmt.Sprintf("%.2f", ratio(r.sorts[i].phases[commsplit.Combine], r.sorts[j].phases[commsplit.Combine]))
		}
		fmt.Fprintf(page, "| %s | %.2f | %s | %.2f | %s | %d |\n", short(r.n), slope(r, s, commsplit.Collect), merges,
			slope(r, s, commsplit.Splitters), sec(r.sorts[len(r.sorts)-1].phases[commsplit.Splitters]), s.sorters[r.best()])
	}
}

// slope returns that of the line through the logarithms of p and of a phase's time, by
// least squares.
func slope(r size, s settings, phase commsplit.Phase) float64 {
	var sx, sy, sxx, sxy float64
	for i, p := range s.sorters {
		x, y := math.Log(float64(p)), math.Log(r.sorts[i].phases[phase].Seconds())
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	n := float64(len(s.sorters))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// smallTable measures output communicators of n/2 to 2 members (section 2.4.2).
func smallTable(page *strings.Builder, m *arena, s settings) error {
	p := slices.Max(s.sorters)
	fmt.Fprintf(page, "\n## Small communicators (section 2.4.2)\n\n%s ranks, colours at random; the conventional algorithm sorts its own communicator only,\nbut scans, and gathers, everything. Parallel with p = %d.\n\n| members | scan | sort | sort at end | merge in place | parallel | sort at end / parallel |\n|---|---|---|---|---|---|---|\n", short(s.small), p)
	for members := s.small / 2; members >= 2; members /= 64 {
		colors := s.small / members
		c := measureConventional(m, s.small, colors, s.Runs)
		merge, err := measureSort(m, s.small, 1, 1, colors, s.Runs)
		if err != nil {
			return err
		}
		sort, err := measureSort(m, s.small, p, p, colors, s.Runs)
		if err != nil {
			return err
		}
		t := sort.phases.paper()
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %s | %.1f |\n", short(members), sec(c.filter), sec(min(c.compare, c.radix)),
			sec(c.faster()), sec(merge.phases.paper()), sec(t), ratio(c.faster(), t))
	}
	return nil
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func sec(d time.Duration) string { return fmt.Sprintf("%.4f", d.Seconds()) }

func short(n int) string {
	for _, u := range []struct {
		size int
		name string
	}{{1 << 20, "M"}, {1 << 10, "K"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprint(n)
}
