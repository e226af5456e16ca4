package mapping

import (
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/partition"
)

// hostsFirst divides the ranks among hosts at once, so that as much as can be stays
// within these, and then the hosts' ranks, each host's as one, among the groups of the
// network [Subramoni 5.2.4]. hierarchy cuts within hosts where it cuts between
// switches. It applies to hosts of one size with several places.
type hostsFirst struct{}

func (hostsFirst) maps(p *problem) ([]named, error) {
	last := len(p.target.levels) - 1
	if last < 1 || p.target.levels[last].name != hostLevel {
		return nil, nil
	}
	hosts := p.target.groups(Identity(p.ranks()), last)
	sizes, first := make([]int, len(hosts)), make([]int32, len(hosts))
	hostAt := make(map[int32]int, len(hosts)) // by first place
	for i, places := range hosts {
		sizes[i], first[i], hostAt[places[0]] = len(places), places[0], i
		if sizes[i] != sizes[0] {
			return nil, nil
		}
	}
	part, err := partition.Parts(p.graph, sizes, partition.Options{Seed: p.seed, Tries: 2})
	if err != nil {
		return nil, err
	}
	between, err := quotient(p.graph, part, len(hosts))
	if err != nil {
		return nil, err
	}
	of := make(Map, len(hosts))
	if err := p.recurse(between, Identity(len(hosts)), first, 0, last, of); err != nil {
		return nil, err
	}
	m, held := make(Map, p.ranks()), make([]int, len(hosts))
	for r, k := range part {
		m[r] = hosts[hostAt[of[k]]][held[k]]
		held[k]++
	}
	return []named{{"hosts first", m}}, nil
}

// quotient returns the graph of parts of g: weights are those between their ranks.
func quotient(g *commgraph.Graph, part []int32, parts int) (*commgraph.Graph, error) {
	var edges []commgraph.Edge
	each(g, func(a, b int32, weight int64) {
		if part[a] != part[b] {
			edges = append(edges, commgraph.Edge{A: part[a], B: part[b], Weight: weight})
		}
	})
	return commgraph.New(parts, edges)
}
