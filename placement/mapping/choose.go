package mapping

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/commgraph"
)

// Options are how to look for a map.
type Options struct {
	Seed uint64
	// Steps bounds refinement: each looks at one peer of a rank. 0 is none.
	// Graphs of few ranks take less.
	Steps int64
}

// Steps is a good number of steps for refinement: less than 5 s of one core.
const Steps = 300_000_000

// rankSteps is as many steps as make sense for each rank.
const rankSteps = 600_000

// Outcome is a map and where it comes from.
type Outcome struct {
	Map      Map
	Name     string // of the candidate, such as "bisection, refined"
	HopBytes float64
	Default  float64 // hop-bytes of the default order
	Tried    []Tried // in the order of trying
}

// Tried is a candidate and what it reached.
type Tried struct {
	Name     string
	HopBytes float64
}

// Choose maps the ranks of g to the places of t, of which there are as many: it
// tries all candidates, refines the best and returns the map of the least
// hop-bytes, never more than the default order has. The error says that numbers
// differ.
func Choose(g *commgraph.Graph, t *Target, o Options) (*Outcome, error) {
	if g.Ranks() != t.Places() {
		return nil, fmt.Errorf("%d ranks for %d places: expected as many", g.Ranks(), t.Places())
	}
	p, err := newProblem(g, t, o.Seed)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Map: Identity(g.Ranks()), Name: "default order"}
	out.Default = HopBytes(g, t, out.Map)
	out.HopBytes = out.Default
	type result struct {
		named
		cost float64
	}
	all := []result{{named{out.Name, out.Map}, out.Default}}
	for _, c := range candidates {
		maps, err := c.maps(p)
		if err != nil {
			return nil, err
		}
		for _, m := range maps {
			cost := HopBytes(g, t, m.Map)
			all = append(all, result{m, cost})
			out.Tried = append(out.Tried, Tried{m.name, cost})
		}
	}
	slices.SortStableFunc(all, func(x, y result) int { return cmp.Compare(x.cost, y.cost) })
	if o.Steps > 0 {
		m := p.refine(all[0].Map, min(o.Steps, int64(p.ranks())*rankSteps))
		refined := result{named{all[0].name + ", refined", m}, HopBytes(g, t, m)}
		out.Tried = append(out.Tried, Tried{refined.name, refined.cost})
		if refined.cost < all[0].cost {
			all[0] = refined
		}
	}
	out.Map, out.Name, out.HopBytes = all[0].Map, all[0].name, all[0].cost
	return out, nil
}
