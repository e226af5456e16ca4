package mapping

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
)

// Options configure the search for a map.
type Options struct {
	Seed uint64
	// Steps bounds refinement: each looks at one peer of a rank. 0 is none.
	// Graphs of few ranks take less.
	Steps int64
	// Metric decides between maps, "" for hop-bytes. Refinement goes by hop-bytes in
	// any case.
	Metric Metric
	Router routing.Router // of the target's network; nil where Metric asks for no routes
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

// Tried is a candidate with its result.
type Tried struct {
	Name     string
	HopBytes float64
}

// Choose maps the ranks of g to the places of t, of which there are as many: it
// tries all candidates, refines the best and returns the map that has the least by
// the metric of o, never more than the default order has. The error says that numbers differ, or
// which hosts have no route.
func Choose(g *commgraph.Graph, t *Target, o Options) (*Outcome, error) {
	if g.Ranks() != t.Places() {
		return nil, fmt.Errorf("%d ranks for %d places: expected as many", g.Ranks(), t.Places())
	}
	if g.Uniform() { // no map is better than another
		cost := HopBytes(g, t, Identity(g.Ranks()))
		return &Outcome{Map: Identity(g.Ranks()), Name: defaultOrder, HopBytes: cost, Default: cost}, nil
	}
	p, err := newProblem(g, t, o.Seed)
	if err != nil {
		return nil, err
	}
	c := &contest{problem: p, original: g, options: o}
	if err := c.enter(named{defaultOrder, Identity(g.Ranks())}); err != nil {
		return nil, err
	}
	for _, way := range candidates {
		maps, err := way.maps(p)
		if err != nil {
			return nil, err
		}
		for _, m := range maps {
			if err := c.enter(m); err != nil {
				return nil, err
			}
		}
	}
	if o.Steps > 0 {
		if err := c.refine(min(o.Steps, int64(p.ranks())*rankSteps)); err != nil {
			return nil, err
		}
	}
	best := c.best(func(e entry) float64 { return e.cost })
	out := &Outcome{Map: best.Map, Name: best.name, HopBytes: best.hopBytes, Default: c.entries[0].hopBytes}
	for _, e := range c.entries[1:] {
		out.Tried = append(out.Tried, Tried{e.name, e.hopBytes})
	}
	return out, nil
}

// defaultOrder is the name of the map by which rank i is at place i.
const defaultOrder = "default order"

// contest is the maps that compete.
type contest struct {
	*problem
	original *commgraph.Graph // the weights that count
	options  Options
	entries  []entry // the default order first
}

// entry is a map with its cost.
type entry struct {
	named
	cost     float64
	hopBytes float64
}

// enter judges a map.
func (c *contest) enter(m named) error {
	e := entry{named: m, hopBytes: HopBytes(c.original, c.target, m.Map)}
	var err error
	e.cost, err = c.options.Metric.cost()(c.original, c.options.Router, c.target, m.Map)
	c.entries = append(c.entries, e)
	return err
}

// best returns the first of the entries that have the least of something.
func (c *contest) best(of func(entry) float64) entry {
	return slices.MinFunc(c.entries, func(x, y entry) int { return cmp.Compare(of(x), of(y)) })
}

// refine enters refinements of the maps that are best by the metric and by hop-bytes,
// each with its share of the steps.
func (c *contest) refine(steps int64) error {
	from := []entry{c.best(func(e entry) float64 { return e.cost })}
	if other := c.best(func(e entry) float64 { return e.hopBytes }); other.name != from[0].name {
		from = append(from, other)
	}
	for _, e := range from {
		m := c.problem.refine(e.Map, steps/int64(len(from)))
		if err := c.enter(named{e.name + ", refined", m}); err != nil {
			return err
		}
	}
	return nil
}
