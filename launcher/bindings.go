package launcher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

const (
	eachBound = 32  // ranks of a world up to which each has a line of its own
	mostBound = 256 // lines of a world
)

// boundLines say where the ranks of a world run: a line for each of few ranks. Of many,
// those have one line together that have the same CPUs on their hosts.
func boundLines(world int, p *Plan, bound []overlay.Bound) (lines []string) {
	ranks := map[job.HostIndex][]int{}
	for _, b := range p.Blocks { // in rank order
		for i := range b.Count {
			ranks[b.Host] = append(ranks[b.Host], int(b.First)+i)
		}
	}
	if len(bound) > 0 && p.Size <= eachBound {
		return eachBoundLine(world, p, bound, ranks)
	}
	more := 0
	for _, b := range bound {
		for i, text := range b.Ranks {
			switch {
			case slices.Index(b.Ranks, text) < i: // told
				continue
			case len(lines) == mostBound:
				more++
				continue
			}
			var local []int
			for j, t := range b.Ranks {
				if t == text {
					local = append(local, j)
				}
			}
			lines = append(lines, groupOf(world, p, b.Hosts, local, ranks)+": "+text)
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more lines; --report has the CPUs of all ranks", more))
	}
	return lines
}

// eachBoundLine returns a line for each rank, in their order.
func eachBoundLine(world int, p *Plan, bound []overlay.Bound, ranks map[job.HostIndex][]int) []string {
	lines := make([]string, p.Size)
	for _, b := range bound {
		for _, h := range b.Hosts {
			for i, r := range ranks[h] {
				lines[r] = fmt.Sprintf("rank %v on %s: %s", job.RankID{World: world, Rank: job.Rank(r)}, p.hostName(h), b.Ranks[i])
			}
		}
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" }) // of hosts that are lost
}

// groupOf names ranks of one host, or by their local numbers those of several.
func groupOf(world int, p *Plan, hosts []job.HostIndex, local []int, ranks map[job.HostIndex][]int) string {
	if len(hosts) == 1 {
		numbers := make([]int, len(local))
		for i, j := range local {
			numbers[i] = ranks[hosts[0]][j]
		}
		return numbersText(world, numbers) + " on " + p.hostName(hosts[0])
	}
	return "local " + numbersText(world, local) + " on each of " + hostsText(hosts, p.hostName)
}

// boundTooMany names hosts with too few of the things that their ranks are to be bound
// to, and a remedy; "" if there are none. Nodes on one machine share its things. Ranks
// that are named have CPUs of their own.
func (p *Plan) boundTooMany(live []overlay.NodeInfo, bindTo string, share bool, named map[job.Rank]string) string {
	ranks := map[job.HostIndex]int{}
	kind, _ := registry.Find(p.Bootstrap)
	for _, b := range p.Blocks {
		ranks[b.Host] += b.Count
	}
	for r := range named {
		ranks[p.Blocks.hostOf(r)]--
	}
	var order []string
	tooMany := false
	hosts := map[string][]job.HostIndex{}
	for _, n := range live {
		if ranks[n.Index] == 0 || n.Room == nil {
			continue
		}
		of := ranks[n.Index]
		if kind.Here {
			of = p.Size - len(named)
		}
		text := n.Room.None
		if text == "" && n.Room.Has != "" && of > n.Room.Ranks && !share {
			tooMany = true
			text = fmt.Sprintf("%s for %s", n.Room.Has, plural(of, "rank"))
		}
		if text == "" {
			continue
		}
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], n.Index)
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--bind-to %s cannot be done:", bindTo)
	for i, text := range order {
		if i == maxDead {
			fmt.Fprintf(&b, "\n  ... and %d more", len(order)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s: %s", hostsText(hosts[text], p.hostName), text)
	}
	b.WriteString("\nnothing was run")
	if tooMany {
		b.WriteString("; use fewer ranks per host, --oversubscribe to let ranks share, or --bind-to none")
	}
	return b.String()
}
