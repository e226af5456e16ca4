package topology

import (
	"fmt"
	"slices"
)

// RangerJob returns the average number of hosts and racks of a job of so many processes
// on Ranger [Subramoni, table 4.1].
func RangerJob(processes int) (hosts, racks int) {
	switch {
	case processes < 256:
		return 2, 2
	case processes < 512:
		return 28, 22
	case processes < 1024:
		return 58, 40
	case processes < 2048:
		return 106, 58
	}
	return 224, 74
}

// Sparse returns an allocation as busy machines make it: so many hosts below so many
// leaf switches, which are drawn at random, as are the hosts; the leaf switches
// get different numbers of hosts [Subramoni, figure 6.1]. Even gives each the
// same number, or one more. Hosts come in order. The same seed draws the same
// hosts everywhere.
func Sparse(g *Graph, hosts, leaves int, even bool, seed uint64) ([]Node, error) {
	below := make(map[Node][]Node)
	var order []Node // of leaf switches
	for n := range g.AllHosts() {
		if leaf := g.Leaf(n); leaf != NoNode {
			if below[leaf] == nil {
				order = append(order, leaf)
			}
			below[leaf] = append(below[leaf], n)
		}
	}
	if leaves < 1 || leaves > len(order) {
		return nil, fmt.Errorf("%d leaf switches: expected 1..%d", leaves, len(order))
	}
	r := splitMix(seed)
	shuffle(&r, order)
	order = order[:leaves]
	room := 0
	for _, leaf := range order {
		shuffle(&r, below[leaf])
		room += len(below[leaf])
	}
	if hosts < leaves || hosts > room {
		return nil, fmt.Errorf("%d hosts: expected %d..%d below the %d leaf switches that are drawn", hosts, leaves, room, leaves)
	}
	var chosen, rest []Node
	if even {
		for i := 0; len(chosen) < hosts; i++ {
			for _, leaf := range order {
				if i < len(below[leaf]) && len(chosen) < hosts {
					chosen = append(chosen, below[leaf][i])
				}
			}
		}
	} else {
		for _, leaf := range order {
			chosen = append(chosen, below[leaf][0])
			rest = append(rest, below[leaf][1:]...)
		}
		shuffle(&r, rest)
		chosen = append(chosen, rest[:hosts-leaves]...)
	}
	slices.Sort(chosen)
	return chosen, nil
}

// Balance returns the switch balance factor of an allocation: of the leaf switch
// whose number of hosts is farthest from the mean, that number over the mean; 1
// is even [Subramoni 6]. Hosts without a cable do not count; 0 is none at all.
func Balance(g *Graph, hosts []Node) float64 {
	count := map[Node]int{}
	all := 0
	for _, n := range hosts {
		if leaf := g.Leaf(n); leaf != NoNode {
			count[leaf]++
			all++
		}
	}
	if all == 0 {
		return 0
	}
	mean := float64(all) / float64(len(count))
	farthest := mean
	for _, n := range count {
		distance, most := max(float64(n)-mean, mean-float64(n)), max(farthest-mean, mean-farthest)
		if distance > most || distance == most && float64(n) > farthest {
			farthest = float64(n)
		}
	}
	return farthest / mean
}
