package topology

import (
	"fmt"
	"slices"
)

// Family is a regular network: its kind and parameters, and the place of each node of
// one Graph in it. The concrete types are *FatTree, *Torus (and mesh) and *Dragonfly
// (and Cray XC); a switch over them gets at the places. The graph may lack hosts,
// switches and cables that the regular network has: the others are cabled as the family
// says.
type Family interface {
	// Kind is "fattree", "torus", "mesh", "dragonfly" or "cray".
	Kind() string
	// String is the compact form that network/topology/spec reads, such as
	// "torus:8x8x8".
	String() string
	// On is the same family for a graph with the same nodes and some of the
	// cables (Graph.Without). The error names a cable that the family has not.
	On(g *Graph) (Family, error)
}

// seats returns the switch of each place, NoNode where there is none: index has the
// place of each switch of g, a negative one for a switch without cables that is
// left aside. The error names two switches in one place, or one in none.
func seats(g *Graph, index []int32, places int) ([]Node, error) {
	if len(index) != g.Switches() {
		return nil, fmt.Errorf("%d indices for %d switches", len(index), g.Switches())
	}
	at := slices.Repeat([]Node{NoNode}, places)
	for i, x := range index {
		n := g.Switch(i)
		switch {
		case x < 0 && len(g.Ports(n)) > 0:
			return nil, fmt.Errorf("%s has cables and no place", g.Name(n))
		case x < 0:
			continue
		case int(x) >= places:
			return nil, fmt.Errorf("%s: no place %d", g.Name(n), x)
		case at[x] != NoNode:
			return nil, fmt.Errorf("%s and %s are both number %d", g.Name(at[x]), g.Name(n), x)
		}
		at[x] = n
	}
	return at, nil
}
