package launcher

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// String returns the table of --dry-run: the job, its apps, and the hosts with their
// ranks, runs of like hosts on one line, and no more than maxRows lines.
func (p *Plan) String() string { return p.text(maxRows) }

// maxRows bounds the lines of hosts in print, unless all are asked for.
const maxRows = 40

// text returns String with another number of lines of hosts; 0 for all.
func (p *Plan) text(rows int) string {
	b := &planText{plan: p}
	live := 0
	for _, d := range p.dead {
		if !d {
			live++
		}
	}
	fmt.Fprintf(b, "job    %s on %s\n", plural(p.Size, "rank"), plural(live, "host"))
	if p.Spares > 0 {
		fmt.Fprintf(b, "spare  %s\n", plural(p.Spares, "host"))
		if p.Crowded != "" {
			fmt.Fprintf(b, "       %s\n", p.Crowded)
		}
	}
	fmt.Fprintf(b, "start  %s, tree of degree %d and depth %d\n", p.Bootstrap, p.Degree, p.depth(live))
	if p.network.order != "" {
		fmt.Fprintf(b, "order  %s\n", p.network.order)
	}
	if text := p.treeText(); text != "" {
		fmt.Fprintf(b, "tree   %s\n", text)
	}
	if len(p.Relays) > 0 {
		fmt.Fprintf(b, "relays %s on this machine, since only it reaches the hosts\n", hostlist.Fold(unslotted(p.Relays)))
	}
	if choice, err := binding.Parse(p.bindTo); err == nil && choice.Binds() {
		fmt.Fprintf(b, "bind   each rank to %v\n", choice)
	}
	b.writeMap()
	if len(p.given) > 0 {
		fmt.Fprintf(b, "env    %s for all ranks\n", words(p.given))
	}
	first := 0
	for i, a := range p.Apps {
		fmt.Fprintf(b, "app %d  ranks %s: %s\n", i, span(first, a.N), words(a.Argv))
		if apart(p.Apps) {
			fmt.Fprintf(b, "       on %s\n", hostlist.Fold(p.rules.hostsOf(a)))
		}
		if a.DirGiven {
			fmt.Fprintf(b, "       in %s\n", words([]string{a.Dir}))
		}
		if len(a.Env) > 0 {
			fmt.Fprintf(b, "       with %s\n", words(a.Env))
		}
		first += a.N
	}
	b.WriteString("\n")
	b.writeHosts(rows)
	return b.String()
}

// planText is the text of a plan while it is written.
type planText struct {
	strings.Builder
	plan *Plan
}

// unslotted returns hosts that have but a name.
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
