package levels

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/topology/measure"
)

// Cray returns the latency and bandwidth of messages of 1 to 8 KB that [Sahoo, table 3.2]
// measured, for each level of messages of a machine that OnCray makes.
func Cray() []measure.Line {
	return []measure.Line{
		{Latency: 15.9322, Bandwidth: 0.2116e3 / 8},
		{Latency: 12.3422, Bandwidth: 1.5378e3 / 8},
		{Latency: 9.3519, Bandwidth: 1.43e3 / 8},
		{Latency: 4.2312, Bandwidth: 3.8707e3 / 8},
		{Latency: 0.8242, Bandwidth: 6.1979e3 / 8},
		{Latency: 0.3632, Bandwidth: 6.382e3 / 8},
	}
}

// Measured returns lines with those levels replaced that samples of a test were
// measured at, such as golaunch topo measure prints as JSON; measured lists these
// levels. Level tells the level of two hosts by their names; those below a node have no
// samples. The error is that of level, or names a level whose samples make no line.
func Measured(lines []measure.Line, samples []measure.Sample, test measure.Test, level func(from, to string) (int, error)) (
	out []measure.Line, measured []bool, err error) {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s measure.Sample) bool { return s.Test != test })
	fitted, err := measure.Levels(samples, level)
	if err != nil {
		return nil, nil, err
	}
	out, measured = slices.Clone(lines), make([]bool, len(lines))
	for _, l := range fitted {
		if *l.Hops < 0 || *l.Hops >= len(out) {
			return nil, nil, fmt.Errorf("samples of level %d: there are 0 to %d", *l.Hops, len(out)-1)
		}
		out[*l.Hops], measured[*l.Hops] = l.Line, true
	}
	return out, measured, nil
}

// Costs has the costs of messages on a machine, by their level.
type Costs struct {
	Machine *Machine
	fixed   []float64 // seconds
	perByte []float64
}

// maxFigure bounds latencies and bandwidths, which may not be infinite.
const maxFigure = 1e12

// NewCosts takes a line for each level of messages, from the top. The error says that
// they are not as many, or which has a figure that no message can have.
func NewCosts(m *Machine, lines []measure.Line) (*Costs, error) {
	if len(lines) != m.Levels()+1 {
		return nil, fmt.Errorf("%d lines of latency and bandwidth: expected %d, one for each level of messages", len(lines), m.Levels()+1)
	}
	c := &Costs{Machine: m}
	for i, l := range lines {
		if !(l.Latency >= 0 && l.Latency <= maxFigure) || l.Bandwidth != 0 && !(l.Bandwidth >= 1/maxFigure && l.Bandwidth <= maxFigure) {
			return nil, fmt.Errorf("level %d: latency %v us, bandwidth %v MB/s: expected 0 to %g, the bandwidth 0 or from %g",
				i, l.Latency, l.Bandwidth, maxFigure, 1/maxFigure)
		}
		perByte := 0.0 // a line without a bandwidth does not grow
		if l.Bandwidth > 0 {
			perByte = 1e-6 / l.Bandwidth
		}
		c.fixed, c.perByte = append(c.fixed, l.Latency*1e-6), append(c.perByte, perByte)
	}
	return c, nil
}

// message returns the time of the message that one rank sends its peer, in seconds. It is
// half of the edge, whose weight is that of both directions.
func (c *Costs) message(level int, edge int64) float64 {
	return c.fixed[level] + float64(edge)/2*c.perByte[level]
}

// rank returns the time of a rank: the sum over its messages.
func (c *Costs) rank(g *commgraph.Graph, at []int32, rank int32) float64 {
	t := 0.0
	peers, weights := g.Peers(rank)
	for i, p := range peers {
		t += c.message(c.Machine.Between(at[rank], at[p]), weights[i])
	}
	return t
}

// Times returns the time that each rank communicates, in seconds: the sum of latency +
// size / bandwidth over the messages that it sends, each at its level [Sahoo 3.1].
// Weights of g are bytes.
func (c *Costs) Times(g *commgraph.Graph, at []int32) []float64 {
	times := make([]float64, g.Ranks())
	for r := range times {
		times[r] = c.rank(g, at, int32(r))
	}
	return times
}

// Max returns the time of the rank that communicates longest, which a mapping is to
// minimise [Sahoo 3.1].
func (c *Costs) Max(g *commgraph.Graph, at []int32) float64 {
	return slices.Max(c.Times(g, at))
}

// Share sums up the messages of one level, over all ranks.
type Share struct {
	Messages int
	Volume   int64   // bytes
	Time     float64 // seconds
}

// Shares returns the share of each level of messages. Volumes and numbers of messages
// add up to the same for any map.
func (c *Costs) Shares(g *commgraph.Graph, at []int32) []Share {
	shares := make([]Share, len(c.fixed))
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			if p < r {
				continue // seen from p
			}
			l := c.Machine.Between(at[r], at[p])
			shares[l].Messages += 2
			shares[l].Volume += weights[i]
			shares[l].Time += 2 * c.message(l, weights[i])
		}
	}
	return shares
}

// Bound returns a time below which no map brings the rank that communicates longest: its
// largest messages on the cheapest levels, as far as an entity has cores for peers.
func (c *Costs) Bound(g *commgraph.Graph) float64 {
	m := c.Machine
	most := m.largest()
	// fixed and perByte of the i-th nearest peer, at best.
	best := func(of []float64, i int) float64 {
		l := m.Levels()
		for l > 0 && i >= most[l-1]-1 {
			l--
		}
		return slices.Min(of[:l+1])
	}
	bound := 0.0
	for r := range int32(g.Ranks()) {
		_, weights := g.Peers(r)
		weights = slices.Clone(weights)
		slices.Sort(weights)
		slices.Reverse(weights)
		t := 0.0
		for i, w := range weights {
			t += best(c.fixed, i) + float64(w)/2*best(c.perByte, i)
		}
		bound = max(bound, t)
	}
	return bound
}
