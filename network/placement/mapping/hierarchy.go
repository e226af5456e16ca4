package mapping

import (
	"fmt"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/partition"
)

// hierarchy divides the ranks among the widest groups of the network, then among
// the groups in these, and so on [Sahoo, algorithm 1]. Below the mapping depth
// ranks stay in their order; each depth is a map of its own.
type hierarchy struct{}

func (hierarchy) maps(p *problem) ([]named, error) {
	var out []named
	depths := len(p.target.levels)
	if depths > 0 && p.target.levels[depths-1].name != hostLevel {
		depths++ // the places of the last level
	}
	for depth := 1; depth <= depths; depth++ {
		m := make(Map, p.ranks())
		all := Identity(p.ranks())
		if err := p.recurse(p.graph, all, all, 0, depth, m); err != nil {
			return nil, err
		}
		out = append(out, named{fmt.Sprintf("hierarchy, depth %d", depth), m})
	}
	return out, nil
}

// recurse gives ranks, which are those of g, the places, which are all of one
// group at that level.
func (p *problem) recurse(g *commgraph.Graph, ranks, places []int32, level, depth int, m Map) error {
	if level == depth || len(ranks) == 1 {
		for i, r := range ranks {
			m[r] = places[i]
		}
		return nil
	}
	groups := p.target.groups(places, level)
	if len(groups) == 1 {
		return p.recurse(g, ranks, groups[0], level+1, depth, m)
	}
	sizes := make([]int, len(groups))
	for i, group := range groups {
		sizes[i] = len(group)
	}
	part, err := partition.Parts(g, sizes, partition.Options{Seed: p.seed, Tries: 2})
	if err != nil {
		return err
	}
	members := make([][]int32, len(groups)) // ranks of g
	for i, k := range part {
		members[k] = append(members[k], int32(i))
	}
	for k, group := range groups {
		inner, err := g.Induced(members[k])
		if err != nil {
			return err
		}
		for i, r := range members[k] {
			members[k][i] = ranks[r]
		}
		if err := p.recurse(inner, members[k], group, level+1, depth, m); err != nil {
			return err
		}
	}
	return nil
}

// groups returns the places of each group at a level, in the order of their first
// places; below the last level each place alone.
func (t *Target) groups(places []int32, level int) [][]int32 {
	var out [][]int32
	number := map[int32]int{}
	for _, place := range places {
		id := place
		if level < len(t.levels) {
			id = t.levels[level].group[place]
		}
		k, ok := number[id]
		if !ok {
			k = len(out)
			number[id], out = k, append(out, nil)
		}
		out[k] = append(out[k], place)
	}
	return out
}
