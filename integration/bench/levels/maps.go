package levels

import (
	"fmt"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/levels"
)

// copyRate is a socket's rate of copies, in bytes/s, where a page takes one: below 4
// GB/s a message of one pair takes longer within a socket than between hosts of 16
// Gb/s, if it is large, as [Sahoo, figure 3.4] has it of both of its patterns.
const copyRate = 3e9

// maps are all maps that the page compares for one job, by their names.
type maps struct {
	names      []string
	at         map[string][]int32
	depth      int // that Dynamic chose
	candidates []levels.Candidate
}

func (x *maps) add(name string, at []int32) {
	x.names = append(x.names, name)
	x.at[name] = at
}

// makeMaps makes the maps of a job by its graph g: t.graph, or a profile.
func makeMaps(t *trial, g *commgraph.Graph) (*maps, error) {
	x, m := &maps{at: map[string][]int32{}}, t.machine()
	x.add("rank order", m.Default())
	at, err := numa(t)
	if err != nil {
		return nil, err
	}
	x.add("NUMA", at)
	if at, err = hierTopoMap(g, m); err != nil {
		return nil, err
	}
	x.add("HTM", at)

	if at, err = levels.Recursive(g, m, levels.Plan{}); err != nil {
		return nil, err
	}
	for d := range m.Levels() {
		x.add(fmt.Sprintf("depth %d", d), m.Shallow(at, d))
	}
	if x.depth, _, err = levels.Dynamic(g, t.costs, at, t.sharing(copyRate)); err != nil {
		return nil, err
	}
	x.add("dynamic", m.Shallow(at, x.depth))

	list, err := levels.Candidates(g, t.costs, nil, levels.Plan{})
	if err != nil {
		return nil, err
	}
	x.add("best, graph only", list[0].At)
	if x.candidates, err = levels.Candidates(g, t.costs, t.dims, levels.Plan{}); err != nil {
		return nil, err
	}
	x.add("best", x.candidates[0].At)
	return x, nil
}
