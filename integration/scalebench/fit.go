package main

import (
	"math"
	"slices"
	"time"
)

// fit finds the costs with which the model comes closest to the points that are
// for it. What the agents have counted themselves (Client, Agent) and the costs
// of messages stay as they are.
func fit(m *measured) (costs, error) {
	c := m.Costs
	free := []*time.Duration{&c.Begin, &c.Server, &c.Wait, &c.Spawn, &c.Run, &c.End, &c.EndWait}
	least := make([]time.Duration, len(free)) // nothing is for nothing
	for i, p := range free {
		least[i] = *p / 20
	}
	best, err := misfit(m, c)
	if err != nil {
		return c, err
	}
	for step := 0.5; step > 0.004; {
		better := false
		for i, p := range free {
			was := *p
			for _, factor := range []float64{1 + step, 1 / (1 + step)} {
				*p = max(time.Duration(float64(was)*factor), least[i])
				at, err := misfit(m, c)
				if err != nil {
					return c, err
				}
				if at < best*(1-1e-9) {
					best, better = at, true
					break
				}
				*p = was
			}
		}
		if !better {
			step /= 2
		}
	}
	return c, nil
}

// misfit is the sum of the squares of all errors at the points for fitting, as
// logarithms.
func misfit(m *measured, c costs) (float64, error) {
	sum := 0.0
	for _, p := range m.Points {
		if !p.Fit {
			continue
		}
		o, err := again(m, p, c)
		if err != nil {
			return 0, err
		}
		model := modelled(o)
		for i, v := range p.values() {
			d := math.Log(model[i] / v)
			sum += d * d
		}
	}
	return sum, nil
}

// again runs a measured point in the model.
func again(m *measured, p point, c costs) (outcome, error) {
	k, err := degreeOf(p.Nodes)
	if err != nil {
		return outcome{}, err
	}
	return simulate(setup{nodes: p.Nodes, ranks: p.Ranks, shape: ranges(k), shared: m.Cores}, c)
}

// middle is the median of values.
func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}
