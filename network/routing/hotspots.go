package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// Contention is the effect of a sequence on the links of a network, stage by stage.
type Contention struct {
	// Degrees has, for each stage, the hot-spot degree: the number of messages on
	// the link that has the most of them, 0 for a stage without messages.
	Degrees []int
	// Hot is the number of (stage, link) with more than one message.
	Hot int
}

// Mean returns the mean degree of the stages that have messages; 1 is no contention.
func (c *Contention) Mean() float64 {
	sum, stages := 0, 0
	for _, d := range c.Degrees {
		if d > 0 {
			sum, stages = sum+d, stages+1
		}
	}
	if stages == 0 {
		return 0
	}
	return float64(sum) / float64(stages)
}

// Max returns the largest degree of any stage.
func (c *Contention) Max() int {
	worst := 0
	for _, d := range c.Degrees {
		worst = max(worst, d)
	}
	return worst
}

// HotSpots counts the messages on each directed link in each stage of a sequence,
// where rank i is on host order[i]. Links between hosts and switches count as
// well. The error is that of a pair without a route.
func HotSpots(r Router, order []topology.Node, q Sequence, loop topology.Loop) (*Contention, error) {
	if len(order) < q.Ranks {
		return nil, fmt.Errorf("%d hosts for %d ranks of %s", len(order), q.Ranks, q.Name)
	}
	c := &Contention{Degrees: make([]int, q.Stages)}
	parts := min(16, max(1, q.Stages))
	hot, errs := make([]int, parts), make([]error, parts)
	loop(parts, func(i int) {
		var l load
		for s := i; s < q.Stages && errs[i] == nil; s += parts {
			var shared int
			c.Degrees[s], shared, errs[i] = l.stage(r, order, q, s)
			hot[i] += shared
		}
	})
	for i, err := range errs {
		if err != nil {
			return nil, err
		}
		c.Hot += hot[i]
	}
	return c, nil
}

// load counts messages; it is used again from stage to stage.
type load struct {
	pairs []Pair
	route []Step
	on    []int32 // messages on each link
	used  []topology.Link
}

// stage returns the degree of a stage, and how many links have several messages.
func (l *load) stage(r Router, order []topology.Node, q Sequence, s int) (degree, shared int, err error) {
	if l.on == nil {
		l.on = make([]int32, r.Graph().Links())
	}
	l.pairs = q.Append(l.pairs[:0], s)
	for _, p := range l.pairs {
		if l.route, err = r.Append(l.route[:0], order[p.From], order[p.To]); err != nil {
			return 0, 0, err
		}
		for _, step := range l.route {
			if l.on[step.Link]++; l.on[step.Link] == 1 {
				l.used = append(l.used, step.Link)
			}
			if l.on[step.Link] == 2 {
				shared++
			}
			degree = max(degree, int(l.on[step.Link]))
		}
	}
	for _, link := range l.used {
		l.on[link] = 0
	}
	l.used = l.used[:0]
	return degree, shared, nil
}
