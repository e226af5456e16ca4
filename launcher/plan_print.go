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
	}
	fmt.Fprintf(&b, "start  %s, tree of degree %d and depth %d\n", p.Bootstrap, p.Degree, p.depth(live))
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

// writeHosts writes one row for each run of neighbouring hosts with the same
// slots and number of ranks.
func (p *Plan) writeHosts(b *strings.Builder) {
	counts := make([]int, len(p.Hosts))
	for _, block := range p.Blocks {
		counts[block.Host] += block.Count
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "hosts\tranks per host\tranks")
	first := 0
	for i := 0; i < len(p.Hosts); {
		end := i + 1
		for end < len(p.Hosts) && p.dead[end] == p.dead[i] && counts[end] == counts[i] && p.Hosts[end].Slots == p.Hosts[i].Slots {
			end++
		}
		hosts := hostlist.Fold(p.Hosts[i:end])
		if p.dead[i] {
			fmt.Fprintf(table, "%s\tdead\t-\n", hosts)
		} else {
			ranks := counts[i] * (end - i)
			fmt.Fprintf(table, "%s\t%d\t%s\n", hosts, counts[i], span(first, ranks))
			first += ranks
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
