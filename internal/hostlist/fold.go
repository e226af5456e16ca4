package hostlist

import (
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// Fold renders hosts as a compact list: runs of names that differ in one
// number become a range, n[001-128]:4. Order and repetitions are kept, and
// Parse reads the result back (a list cannot carry ports). Hosts of one range
// have the same user and slots.
func Fold(hosts []job.Host) string {
	var out strings.Builder
	for len(hosts) > 0 {
		var g group
		n := 0
		for n < len(hosts) && sameTerms(hosts[0], hosts[n]) && g.add(hosts[n].Name) {
			n++
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		if hosts[0].User != "" {
			out.WriteString(hosts[0].User + "@")
		}
		g.write(&out)
		if hosts[0].Slots > 0 {
			out.WriteString(":" + strconv.Itoa(hosts[0].Slots))
		}
		hosts = hosts[n:]
	}
	return out.String()
}

// sameTerms tells whether two hosts can share a range.
func sameTerms(a, b job.Host) bool { return a.User == b.User && a.Slots == b.Slots }

// A group is a run of names that are equal but for one number.
type group struct {
	parts []string // of the first name: text and numbers in turn
	at    int      // the part that differs; -1 while there is one name
	spans []span   // the numbers seen there, in order
}

// add takes name into the group, if it fits.
func (g *group) add(name string) bool {
	parts := splitNumbers(name)
	if g.parts == nil {
		g.parts, g.at = parts, -1
		return true
	}
	at := g.differsAt(parts)
	if at < 0 || g.at >= 0 && at != g.at {
		return false
	}
	if g.at < 0 {
		g.at = at
		g.spans = []span{spanOf(g.parts[at])}
	}
	next := spanOf(parts[at])
	last := &g.spans[len(g.spans)-1]
	if next.lo == last.hi+1 && last.format(next.lo) == parts[at] {
		last.hi = next.lo
	} else {
		g.spans = append(g.spans, next)
	}
	return true
}

// differsAt returns the one number in which parts differs from the group's
// first name, or -1 where it differs in none, in several or in text. A name
// equal to the first can only continue the number under way.
func (g *group) differsAt(parts []string) int {
	if len(parts) != len(g.parts) {
		return -1
	}
	at := -1
	for i, s := range parts {
		if s == g.parts[i] {
			continue
		}
		if at >= 0 || !isNumber(s) || !isNumber(g.parts[i]) {
			return -1
		}
		at = i
	}
	if at < 0 {
		return g.at
	}
	return at
}

func (g *group) write(out *strings.Builder) {
	for i, s := range g.parts {
		if i != g.at {
			out.WriteString(s)
			continue
		}
		out.WriteByte('[')
		for j, sp := range g.spans {
			if j > 0 {
				out.WriteByte(',')
			}
			out.WriteString(sp.format(sp.lo))
			if sp.hi > sp.lo {
				out.WriteString("-" + sp.format(sp.hi))
			}
		}
		out.WriteByte(']')
	}
}

// splitNumbers cuts a name into text and numbers. An IPv6 address is one text,
// in its brackets.
func splitNumbers(name string) []string {
	if strings.Contains(name, ":") {
		return []string{"[" + name + "]"}
	}
	var parts []string
	start := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || isDigit(name[i]) != isDigit(name[i-1]) {
			parts = append(parts, name[start:i])
			start = i
		}
	}
	return parts
}

// isNumber tells whether a part of a name is a number that a range can hold.
func isNumber(s string) bool { return isDigit(s[0]) && len(s) <= maxDigits }

// spanOf returns the span of the one number s.
func spanOf(s string) span {
	v, _ := strconv.ParseInt(s, 10, 64) // s passed isNumber
	sp := span{lo: v, hi: v}
	if isPadded(s) {
		sp.width = len(s)
	}
	return sp
}
