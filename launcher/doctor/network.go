package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Found is the report of the rank on a host.
type Found struct {
	Host string
	Facts
}

// mostPairs bounds the pairs of hosts whose problem is told.
const mostPairs = 8

// Network describes the ways between hosts, and reports whether there are problems; it
// says nothing of one host.
func Network(all []Found) (lines []string, problems bool) {
	names := map[int]string{}
	for _, f := range all {
		names[f.Rank] = f.Host
	}
	tried, unknown := 0, ""
	var bad, partly []string
	for _, f := range all {
		if f.WaysUnknown != "" && unknown == "" {
			unknown = fmt.Sprintf("note       which hosts %s reaches is not known: %s", f.Host, f.WaysUnknown)
		}
		for _, w := range f.Ways {
			to, there := names[w.Rank]
			if !there {
				continue // its rank said nothing, which is told
			}
			tried++
			switch {
			case w.Lacks != "":
				bad = append(bad, fmt.Sprintf("problem    %s does not reach %s: %s: MPI between them cannot work", f.Host, to, w.Lacks))
			case len(w.Not) > 0 && len(w.Reached) == 0:
				bad = append(bad, fmt.Sprintf("problem    %s does not reach %s: no answer from %s: MPI between them waits for ever", f.Host, to, strings.Join(w.Not, ", ")))
			case len(w.Not) > 0:
				text := fmt.Sprintf("note       %s answers at %s, and not at %s: have MPI use the former (--iface)",
					to, strings.Join(w.Reached, ", "), strings.Join(w.Not, ", "))
				if !slices.Contains(partly, text) {
					partly = append(partly, text)
				}
			}
		}
	}
	if tried > 0 {
		lines = append(lines, fmt.Sprintf("network    %d of %d ways from host to host that were tried are answered", tried-len(bad), tried))
	}
	for _, texts := range [][]string{bad, partly} {
		lines = append(lines, texts[:min(len(texts), mostPairs)]...)
		if more := len(texts) - mostPairs; more > 0 {
			lines = append(lines, fmt.Sprintf("           and %d more", more))
		}
	}
	if len(all) > 1 && unknown != "" {
		lines = append(lines, unknown)
	}
	return lines, len(bad) > 0
}
