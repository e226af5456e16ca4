package launcher

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

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

// count counts the ranks.
func (s spans) count() (n int) {
	for _, x := range s {
		n += x.Count
	}
	return n
}

// String returns "0-3,8", "0-96/8" for every eighth from 0 to 96, or "-" for none; the
// first of very many.
func (s spans) String() string {
	const most = 16
	if len(s) == 0 {
		return "-"
	}
	var parts []string
	for len(s) > 0 {
		if len(parts) == most {
			parts = append(parts, "...")
			break
		}
		n, step := s.steps()
		if n > 2 {
			parts = append(parts, fmt.Sprintf("%d-%d/%d", s[0].First, s[n-1].First, step))
		} else {
			parts, n = append(parts, span(int(s[0].First), s[0].Count)), 1
		}
		s = s[n:]
	}
	return strings.Join(parts, ",")
}

// steps counts the first spans that are one rank each, in equal steps.
func (s spans) steps() (n int, step job.Rank) {
	for n = 0; n < len(s) && s[n].Count == 1; n++ {
		switch {
		case n == 1:
			step = s[1].First - s[0].First
		case n > 1 && s[n].First-s[n-1].First != step:
			return n, step
		}
	}
	return n, step
}

// after returns the distance of the ranks of s above those of t, if they are the same
// else.
func (s spans) after(t spans) (shift job.Rank, ok bool) {
	if len(s) != len(t) || len(s) == 0 {
		return 0, false
	}
	shift = s[0].First - t[0].First
	for i := range s {
		if s[i].Count != t[i].Count || s[i].First-t[i].First != shift {
			return 0, false
		}
	}
	return shift, true
}

// hostRow describes neighboring hosts that hold ranks in the same way.
type hostRow struct {
	first, end int // positions of the hosts
	ranks      spans
	shift      job.Rank // of each host's ranks against those of the host before it; 0 if ranks has them all
}

// writeHosts writes one row for each run of neighboring hosts with the same
// slots and number of ranks, if they hold the ranks in turn; at most some rows, 0
// for all.
func (b *planText) writeHosts(most int) {
	p := b.plan
	rows := hostRows(p)
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "hosts\tranks per host\tranks")
	left := 0
	if most > 0 && len(rows) > most {
		left = rows[most].first
		rows = rows[:most]
	}
	for _, r := range rows {
		hosts := hostlist.Fold(p.Hosts[r.first:r.end])
		switch each := r.ranks.count(); {
		case p.dead[r.first]:
			fmt.Fprintf(table, "%s\tdead\t-\n", hosts)
		case r.shift != 0:
			fmt.Fprintf(table, "%s\t%d\t%v, %+d on each next host\n", hosts, each, r.ranks, r.shift)
		default:
			if each > 0 {
				each /= r.hostsOfRanks()
			}
			fmt.Fprintf(table, "%s\t%d\t%v\n", hosts, each, r.ranks)
		}
	}
	table.Flush() // a strings.Builder takes every write
	if left > 0 {
		fmt.Fprintf(b, "%s more; -v shows them\n", plural(len(p.Hosts)-left, "host"))
	}
}

// hostsOfRanks counts the hosts that share the ranks of a row.
func (r *hostRow) hostsOfRanks() int {
	if r.shift != 0 {
		return 1
	}
	return r.end - r.first
}

// hostRows returns the rows of all hosts.
func hostRows(p *Plan) (rows []hostRow) {
	ranks := make([]spans, len(p.Hosts))
	for _, block := range p.Blocks {
		ranks[block.Host].add(block)
	}
	for i := range p.Hosts {
		if n := len(rows) - 1; n >= 0 && rows[n].join(p, ranks, i) {
			continue
		}
		rows = append(unpaired(rows, ranks), hostRowOf(ranks, i))
	}
	return unpaired(rows, ranks)
}

// hostRowOf returns the row of host i alone.
func hostRowOf(ranks []spans, i int) hostRow {
	return hostRow{first: i, end: i + 1, ranks: append(spans{}, ranks[i]...)}
}

// unpaired makes two rows of the last one, if its two hosts have only a shift in
// common: that reads better.
func unpaired(rows []hostRow, ranks []spans) []hostRow {
	n := len(rows) - 1
	if n < 0 || rows[n].shift == 0 || rows[n].end-rows[n].first > 2 {
		return rows
	}
	i := rows[n].first
	return append(rows[:n], hostRowOf(ranks, i), hostRowOf(ranks, i+1))
}

// join adds host i of a plan to the row before it, if it is like the others there.
func (r *hostRow) join(p *Plan, ranks []spans, i int) bool {
	last := i - 1
	if p.dead[i] != p.dead[last] || p.Hosts[i].Slots != p.Hosts[last].Slots || ranks[i].count() != ranks[last].count() {
		return false
	}
	if len(ranks[i]) == 0 {
		r.end = i + 1
		return true
	}
	follows := len(ranks[i]) == 1 && len(ranks[last]) == 1 && ranks[i][0].First == ranks[last][0].First+job.Rank(ranks[last][0].Count)
	shift, same := ranks[i].after(ranks[last])
	switch {
	case follows && r.shift == 0 && len(r.ranks) == 1:
		r.ranks.add(ranks[i][0])
	case same && (r.shift == shift || r.shift == 0 && r.end-r.first == 1 && !follows):
		r.shift = shift
	default:
		return false
	}
	r.end = i + 1
	return true
}
