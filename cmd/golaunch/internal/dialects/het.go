package dialects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

// Heterogeneous jobs of Slurm: srun starts each app of a line on one component, the i-th on
// component i, or on those that --het-group names.

// hetGroups keeps the components of an app: 1, 0-2 or 0,2.
func hetGroups(p *pasted, v []string) ([]string, string) {
	size := p.HetSize()
	if size < 1 {
		return nil, "this is no heterogeneous job of Slurm; name the hosts in -H"
	}
	p.het = nil
	for item := range strings.SplitSeq(v[0], ",") {
		groups, ok := readSpan(item)
		if !ok || groups.last >= size {
			return nil, fmt.Sprintf("%q is none of the components 0 to %d of this job", item, size-1)
		}
		for g := groups.first; g <= groups.last; g++ {
			p.het = append(p.het, g)
		}
	}
	return nil, ""
}

// hetParts are the flags of an app of a line, for each component of a heterogeneous job
// that it runs on: its hosts, with as many slots as srun gives ranks to each, and the ranks
// that the component was made for where the line says none.
func (p *pasted) hetParts(made []string, app, apps int) [][]string {
	groups := p.het
	p.het = nil
	size := p.HetSize()
	if groups == nil && p.BeginsWith(&Srun) && size > 1 && valueOf(made, "hosts") == "" && valueOf(made, "hostfile") == "" {
		if app >= size {
			p.answers = append(p.answers, fmt.Sprintf("app %d: the job has %d components, 0 to %d: name one with --het-group", app, size, size-1))
			return [][]string{made}
		}
		groups = []int{app}
	}
	if groups == nil {
		return [][]string{made}
	}
	all, err := hostlist.SlurmGroups(func(name string) string { return p.Variable(name) })
	if err != nil {
		p.answers = append(p.answers, err.Error())
		return [][]string{made}
	}
	parts := make([][]string, len(groups))
	for i, g := range groups {
		own := slices.Clone(made)
		if i > 0 {
			own = p.ofApp(made)
		}
		n, _ := strconv.Atoi(valueOf(made, "np")) // no number: refused with the flags
		if n == 0 {
			if n, _ = strconv.Atoi(p.Variable(fmt.Sprint("SLURM_NTASKS_HET_GROUP_", g))); n == 0 {
				n = len(all[g])
			}
			own = append(own, "--np", strconv.Itoa(n))
		}
		nodes, _ := strconv.Atoi(valueOf(made, "nodes"))
		parts[i] = append(withoutFlag(own, "--nodes"), "--hosts", hetHosts(all[g], n, nodes))
	}
	return parts
}

// ofApp are the flags that each app may have of its own.
func (p *pasted) ofApp(words []string) (own []string) {
	for i := 0; i < len(words); i++ {
		w := newWord(words[i])
		flag, _ := p.own(w)
		if flag == nil {
			continue
		}
		n := 1
		if flags.TakesValue(flag) {
			n = min(2, len(words)-i)
		}
		if flags.Has(flag, flags.AppKey) {
			own = append(own, words[i:i+n]...)
		}
		i += n - 1
	}
	return own
}

// withoutFlag leaves a flag with its value out.
func withoutFlag(words []string, flag string) (rest []string) {
	for i := 0; i < len(words); i++ {
		if words[i] == flag {
			i++
			continue
		}
		rest = append(rest, words[i])
	}
	return rest
}

// hetHosts is a list of hosts with slots for n ranks, spread evenly over as many of them as
// nodes, or over all, as far as their slots suffice. More ranks than a job may have are
// refused with the flags.
func hetHosts(hosts []job.Host, n, nodes int) string {
	n = min(n, launcher.MaxRanks)
	if nodes == 0 || nodes > len(hosts) {
		nodes = len(hosts)
	}
	nodes = max(1, min(nodes, n))
	counts := make([]int, nodes)
	for placed, more := 0, true; placed < n && more; {
		more = false
		for i := range counts {
			if placed < n && (hosts[i].Slots == 0 || counts[i] < hosts[i].Slots) {
				counts[i]++
				placed++
				more = true
			}
		}
	}
	var list []string
	for i, count := range counts {
		if count > 0 {
			list = append(list, fmt.Sprintf("%s:%d", hosts[i].Name, count))
		}
	}
	return strings.Join(list, ",")
}
