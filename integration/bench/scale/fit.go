package scale

import (
	"math"
	"time"
)

// fit finds the costs with which the model comes closest to the points that are for it.
// Counted costs and those of messages stay as they are.
func fit(m *measured) (costs, error) {
	c := usual
	c.Sign, c.Encode, c.Decode = m.Costs.Sign, m.Costs.Encode, m.Costs.Decode
	c.Client, c.Agent, c.Warden = duration(m.Counted.Client), duration(m.Counted.Agent), duration(m.Counted.Warden)
	free := []*time.Duration{&c.Begin, &c.Server, &c.Wait, &c.Spawn, &c.Run, &c.End, &c.EndWait}
	const least = 10 * time.Microsecond // nothing is for nothing
	unit := make([]time.Duration, len(free))
	for i, p := range free {
		unit[i] = *p
	}
	best, err := misfit(m, c)
	if err != nil {
		return c, err
	}
	single, paired := moves(len(free))
	better := func(step float64, moves []map[int]float64) (found bool, err error) {
		for _, move := range moves {
			was := c
			for i, way := range move {
				*free[i] = max(*free[i]+time.Duration(way*step*float64(unit[i])), least)
			}
			at, err := misfit(m, c)
			if err != nil {
				return false, err
			}
			if at < best*(1-1e-6) {
				best, found = at, true
			} else {
				c = was
			}
		}
		return found, nil
	}
	for step := 0.5; step > 0.01; {
		found, err := better(step, single)
		if err == nil && !found {
			found, err = better(step, paired)
		}
		if err != nil {
			return c, err
		}
		if !found {
			step /= 2
		}
	}
	return c, nil
}

// moves returns the steps that a fit tries: each of n costs up or down; and one up
// while another goes down, as two may do for each other.
func moves(n int) (single, paired []map[int]float64) {
	for i := range n {
		single = append(single, map[int]float64{i: 1}, map[int]float64{i: -1})
		for j := range n {
			if i != j {
				paired = append(paired, map[int]float64{i: 1, j: -1})
			}
		}
	}
	return single, paired
}

// misfit returns the sum of the squares of all errors at the points for fitting, as
// logarithms.
func misfit(m *measured, c costs) (sum float64, err error) {
	b := newBatch()
	var points []point
	var outcomes []*outcome
	for _, p := range m.Points {
		if !p.Fit {
			continue
		}
		s, err := again(m, p)
		if err != nil {
			return 0, err
		}
		points, outcomes = append(points, p), append(outcomes, b.add(s, c))
	}
	if err := b.wait(); err != nil {
		return 0, err
	}
	for i, p := range points {
		model := modelled(*outcomes[i])
		for j, v := range p.values() {
			d := math.Log(model[j] / v)
			sum += d * d
		}
	}
	return sum, nil
}

// again returns a measured point in the model.
func again(m *measured, p point) (setup, error) {
	k, err := degreeOf(p.Nodes)
	return setup{nodes: p.Nodes, ranks: p.Ranks, shape: ranges(k), shared: m.Cores}, err
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
