package launcher

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree/record"
)

// mostParts bounds the ranks or runs of ranks that a text names with a host each.
const mostParts = 4

// numbersText returns "rank 3", or "ranks 3-7,9" for several, in ascending order; of
// many runs the first are named.
func numbersText(world int, ranks []int) string {
	of := ""
	if world > 0 {
		of = fmt.Sprintf(" of world %d", world)
	}
	if len(ranks) == 1 {
		return "rank " + job.RankID{World: world, Rank: job.Rank(ranks[0])}.String()
	}
	return "ranks " + record.FoldNumbers(ranks) + of
}

// ranksOn names the ranks that a host holds, of the own world also those that have
// ended, or will hold once they are launched; "" for none.
func (ws *worlds) ranksOn(h job.HostIndex) string {
	var parts []string
	on := func(id int, p *Plan) {
		var ranks []int
		for _, b := range p.Blocks {
			for i := 0; b.Host == h && i < b.Count; i++ {
				ranks = append(ranks, int(b.First)+i)
			}
		}
		if len(ranks) > 0 {
			parts = append(parts, numbersText(id, ranks))
		}
	}
	if !ws.launched() {
		on(ownWorld, ws.job.plan)
	}
	for _, id := range slices.Sorted(maps.Keys(ws.all)) {
		if w := ws.all[id]; w == ws.own || !w.done {
			on(id, w.plan)
		}
	}
	return strings.Join(parts, ", ")
}

// ranksText names ranks of a world, in ascending order, and their hosts: "rank 3 on
// n001, ranks 4-7 on n002". If they are many, both are folded: "ranks 2-511 on hosts
// n[001-128]".
func (p *Plan) ranksText(world int, ranks []int) string {
	var parts []string
	var hosts []job.HostIndex
	for rest := ranks; len(rest) > 0; {
		host, n := p.Blocks.hostOf(job.Rank(rest[0])), 1
		for n < len(rest) && rest[n] == rest[0]+n && p.Blocks.hostOf(job.Rank(rest[n])) == host {
			n++
		}
		if len(parts) <= mostParts {
			parts = append(parts, numbersText(world, rest[:n])+" on "+p.hostName(host))
		}
		if !slices.Contains(hosts[max(0, len(hosts)-1):], host) {
			hosts = append(hosts, host)
		}
		rest = rest[n:]
	}
	if len(parts) <= mostParts {
		return strings.Join(parts, ", ")
	}
	return numbersText(world, ranks) + " on " + cutNames(hostsText(hosts, p.hostName), maxRanksHosts)
}

// maxRanksHosts bounds names of hosts that do not fold, in bytes, in a text with ranks.
const maxRanksHosts = 200
