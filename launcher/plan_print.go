package launcher

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
)

// String is the table that --dry-run prints: the job, its apps, and the hosts
// with their ranks, runs of like hosts on one line.
func (p *Plan) String() string {
	var b strings.Builder
	live := 0
	for _, d := range p.dead {
		if !d {
			live++
		}
	}
	fmt.Fprintf(&b, "job    %s on %s\n", plural(p.Size, "rank"), plural(live, "host"))
	if p.Spares > 0 {
		fmt.Fprintf(&b, "spare  %s\n", plural(p.Spares, "host"))
		if p.Crowded != "" {
			fmt.Fprintf(&b, "       %s\n", p.Crowded)
		}
	}
	fmt.Fprintf(&b, "start  %s, tree of degree %d and depth %d\n", p.Bootstrap, p.Degree, p.depth(live))
	if p.network.order != "" {
		fmt.Fprintf(&b, "order  %s\n", p.network.order)
	}
	if len(p.Relays) > 0 {
		fmt.Fprintf(&b, "relays %s on this machine, since only it reaches the hosts\n", hostlist.Fold(unslotted(p.Relays)))
	}
	first := 0
	for i, a := range p.Apps {
		fmt.Fprintf(&b, "app %d  ranks %s: %s\n", i, span(first, a.N), words(a.Argv))
		if a.DirGiven {
			fmt.Fprintf(&b, "       in %s\n", words([]string{a.Dir}))
		}
		if len(a.Env) > 0 {
			fmt.Fprintf(&b, "       with %s\n", words(a.Env))
		}
		first += a.N
	}
	b.WriteString("\n")
	p.writeHosts(&b)
	return b.String()
}

// spans is ranks in ascending order, as runs without gaps.
type spans []job.Block // First and Count alone

// add appends the ranks of a block that follows.
func (s *spans) add(b job.Block) {
	if last := len(*s) - 1; last >= 0 && (*s)[last].First+job.Rank((*s)[last].Count) == b.First {
		(*s)[last].Count += b.Count
		return
	}
	*s = append(*s, job.Block{First: b.First, Count: b.Count})
}

// count is how many ranks there are.
func (s spans) count() (n int) {
	for _, x := range s {
		n += x.Count
	}
	return n
}

// String is "0-3,8", or "-" for none; the first of very many.
func (s spans) String() string {
	const most = 16
	if len(s) == 0 {
		return "-"
	}
	var parts []string
	for i, x := range s {
		if i == most {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, span(int(x.First), x.Count))
	}
	return strings.Join(parts, ",")
}

// writeHosts writes one row for each run of neighboring hosts with the same
// slots and number of ranks, if they hold the ranks in turn.
func (p *Plan) writeHosts(b *strings.Builder) {
	ranks := make([]spans, len(p.Hosts))
	for _, block := range p.Blocks {
		ranks[block.Host].add(block)
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "hosts\tranks per host\tranks")
	for i := 0; i < len(p.Hosts); {
		row, each := slices.Clone(ranks[i]), ranks[i].count()
		end := i + 1
		for ; end < len(p.Hosts) && p.dead[end] == p.dead[i] && p.Hosts[end].Slots == p.Hosts[i].Slots && ranks[end].count() == each; end++ {
			if each == 0 {
				continue
			}
			if len(row) > 1 || len(ranks[end]) > 1 || ranks[end][0].First != row[0].First+job.Rank(row[0].Count) {
				break
			}
			row.add(ranks[end][0])
		}
		hosts := hostlist.Fold(p.Hosts[i:end])
		if p.dead[i] {
			fmt.Fprintf(table, "%s\tdead\t-\n", hosts)
		} else {
			fmt.Fprintf(table, "%s\t%d\t%v\n", hosts, each, row)
		}
		i = end
	}
	table.Flush() // a strings.Builder takes every write
}

// unslotted are hosts that have but a name.
func unslotted(names []string) []job.Host {
	hosts := make([]job.Host, len(names))
	for i, name := range names {
		hosts[i].Name = name
	}
	return hosts
}

// span renders n ranks from first on.
func span(first, n int) string {
	switch n {
	case 0:
		return "-"
	case 1:
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, first+n-1)
}

// words renders command words so that their borders show.
func words(argv []string) string {
	out := slices.Clone(argv)
	for i, w := range out {
		if w == "" || strings.ContainsFunc(w, needsQuotes) {
			out[i] = strconv.Quote(w)
		}
	}
	return strings.Join(out, " ")
}

func needsQuotes(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'\\`$", r) || !strconv.IsPrint(r)
}
