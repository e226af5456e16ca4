package launcher

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// cutTree cuts the ranges of the tree where hosts are below different switches.
func (p *Plan) cutTree() {
	if p.network.depth == 0 {
		return
	}
	order := p.bySwitch()
	apart := make([]int, len(order))
	for i := 1; i < len(order); i++ {
		apart[i] = p.apart(order[i-1], order[i])
	}
	if p.network.cut = tree.Cut(apart, p.Degree); p.network.cut != nil {
		p.network.tree = order
	}
}

// bySwitch orders the hosts such that those of each switch cluster are neighbors;
// clusters, and the hosts of each, are in the order of the hosts, of which the first
// stays first. Mostly the order of the network is one already, but some networks have
// just a shuffled one.
func (p *Plan) bySwitch() []job.HostIndex {
	order, keys := make([]job.HostIndex, len(p.Hosts)), make([][]int, len(p.Hosts))
	first := make([]map[int]int, p.network.depth) // host of each cluster, by depth
	for i, h := range p.Hosts {
		order[i], keys[i] = job.HostIndex(i), slices.Clone(p.network.clusters[h])
		for d, cluster := range keys[i] {
			if first[d] == nil {
				first[d] = map[int]int{}
			}
			if _, ok := first[d][cluster]; !ok {
				first[d][cluster] = i
			}
			keys[i][d] = first[d][cluster]
		}
	}
	slices.SortStableFunc(order, func(a, b job.HostIndex) int { return slices.Compare(keys[a], keys[b]) })
	return order
}

// apart counts the levels of switches between two hosts.
func (p *Plan) apart(i, j job.HostIndex) (levels int) {
	a, b := p.network.clusters[p.Hosts[i]], p.network.clusters[p.Hosts[j]]
	for d := range a {
		if a[d] != b[d] {
			levels++
		}
	}
	return levels
}

// toStart returns the entries of all hosts, as the launcher starts them: in the
// pre-order of the tree, and cut.
func (p *Plan) toStart(entries []overlay.HostEntry) []overlay.HostEntry {
	if p.network.tree == nil {
		return entries
	}
	list := make([]overlay.HostEntry, len(entries))
	for at, h := range p.network.tree {
		list[at] = entries[h]
		list[at].Cut = p.network.cut[at]
	}
	return list
}

// treeText counts the edges of the tree between switches, "" where the network does not
// cut it. Hosts that the network lacks are below no switch that is known.
func (p *Plan) treeText() string {
	cut, order := p.network.cut, p.network.tree
	if cut == nil {
		return ""
	}
	between, lacking, switches := 0, 0, map[int]bool{}
	var above []int // the places in order of those above the next one
	for at, h := range order {
		known := p.rules.network.has(p.Hosts[h])
		if known {
			switches[p.network.clusters[p.Hosts[h]][p.network.depth-1]] = true
		}
		for len(above) > 0 && above[len(above)-1]+cut[above[len(above)-1]] < at {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			parent := order[above[len(above)-1]]
			switch {
			case !known || !p.rules.network.has(p.Hosts[parent]):
				lacking++
			case p.apart(parent, h) > 0:
				between++
			}
		}
		above = append(above, at)
	}
	text := fmt.Sprintf("%d of %d edges between switches, of which there are %d", between, len(cut)-1, len(switches))
	if lacking > 0 {
		text += fmt.Sprintf("; %d of hosts that the network lacks", lacking)
	}
	return text
}
