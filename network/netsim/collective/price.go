package collective

import (
	"fmt"

	"github.com/golaunch/golaunch/network/netsim"
)

// Cost is the cost of a Program or of one of its stages, in the terms of [Sack 3.1].
type Cost struct {
	Name     string
	Restores bool // see Stage
	// Messages is the number of startups: the most messages that any rank sends, or
	// receives, in a stage, added up over the stages.
	Messages int64
	// Port is the most bytes that any rank sends, or receives, in a stage, added up: it
	// counts where ranks have one port and links are never shared.
	Port int64
	// Link is the bytes on the busiest link of a stage, added up: it counts where links
	// are shared and all of a rank's ports work at once. It is a fraction where a Clos
	// network's uplinks share messages.
	Link float64
}

// Model has the times of a message's startup and of a byte, in seconds.
type Model struct{ Alpha, Delta float64 }

// Time returns the time on a network whose links are shared.
func (m Model) Time(c Cost) float64 { return m.Alpha*float64(c.Messages) + m.Delta*c.Link }

// Free returns the time on a network without congestion, one port for each rank.
func (m Model) Free(c Cost) float64 { return m.Alpha*float64(c.Messages) + m.Delta*float64(c.Port) }

// Total adds stages up.
func Total(stages []Cost) Cost {
	var sum Cost
	for _, c := range stages {
		sum.Messages, sum.Port, sum.Link = sum.Messages+c.Messages, sum.Port+c.Port, sum.Link+c.Link
	}
	return sum
}

// Split adds up the stages that restore the order of the data, and all others.
func Split(stages []Cost) (restores, rest Cost) {
	var some, others []Cost
	for _, c := range stages {
		if c.Restores {
			some = append(some, c)
		} else {
			others = append(others, c)
		}
	}
	return Total(some), Total(others)
}

// Price returns the cost of each stage of a Program on a network. A flow's repetitions
// cost as much as its first, so that a ring of any length is priced at once; where the
// last ranks' parts are shorter this is a little more than they have.
//
// Inner leaves the links between hosts and switches out, as [Sack 3.1] does with
// tori, whose ranks use all links of their switch at once. The error is that of
// too few ranks, or of a pair without a route.
func Price(p *Program, n *netsim.Network, inner bool) ([]Cost, error) {
	if n.Ranks() < p.Ranks {
		return nil, fmt.Errorf("%s: %d ranks on a network that has %d", p.Name, p.Ranks, n.Ranks())
	}
	load := netsim.NewLoad(n)
	load.Inner = inner
	return price(p, func(messages []netsim.Message) (float64, error) {
		load.Reset()
		err := load.Add(messages)
		return float64(load.Max()), err
	})
}

// Clos is a Clos network as [Sack 3.1] models it: Leaf hosts below each switch,
// ranks in order, and uplinks of Mu times the hosts' bandwidth, on which messages
// are spread evenly by routes that foresee everything.
type Clos struct {
	Leaf int
	Mu   float64
}

// Price returns the cost of each stage of a Program on the network.
func (c Clos) Price(p *Program) ([]Cost, error) {
	if c.Leaf < 1 || !(c.Mu > 0 && c.Mu <= 1) {
		return nil, fmt.Errorf("a Clos network of %d hosts at a switch and a bisection of %v: expected 1 or more, and above 0 up to 1", c.Leaf, c.Mu)
	}
	out := make([]int64, 2*p.Ranks) // of a rank, and into it
	leaf := make([]int64, 2*p.Ranks)
	return price(p, func(messages []netsim.Message) (float64, error) {
		clear(out)
		clear(leaf)
		var most float64
		for _, m := range messages {
			if m.From == m.To {
				continue
			}
			from, to := int(m.From)/c.Leaf, int(m.To)/c.Leaf
			out[2*m.From] += m.Size
			out[2*m.To+1] += m.Size
			if from != to {
				leaf[2*from] += m.Size
				leaf[2*to+1] += m.Size
			}
		}
		for i := range out {
			most = max(most, float64(out[i]), float64(leaf[i])/(c.Mu*float64(c.Leaf)))
		}
		return most, nil
	})
}

// price counts the messages and bytes of ranks, stage by stage, and takes the load of
// the busiest link from link.
func price(p *Program, link func([]netsim.Message) (float64, error)) ([]Cost, error) {
	type count struct{ messages, bytes [2]int64 }
	ranks := make([]count, p.Ranks)
	var list []Transfer
	var messages []netsim.Message
	costs := make([]Cost, 0, len(p.Stages))
	for _, s := range p.Stages {
		clear(ranks)
		messages = messages[:0]
		for _, f := range s.Flows {
			if f.Repeat == 0 {
				continue
			}
			list = f.Append(list[:0], 0)
			for _, t := range list {
				if t.From == t.To {
					continue
				}
				m := t.Message
				m.Size *= int64(f.Repeat)
				messages = append(messages, m)
				for way, rank := range [2]int32{m.From, m.To} {
					ranks[rank].messages[way] += int64(f.Repeat)
					ranks[rank].bytes[way] += m.Size
				}
			}
		}
		c := Cost{Name: s.Name, Restores: s.Restores}
		for _, r := range ranks {
			c.Messages = max(c.Messages, r.messages[0], r.messages[1])
			c.Port = max(c.Port, r.bytes[0], r.bytes[1])
		}
		var err error
		if c.Link, err = link(messages); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", p.Name, s.Name, err)
		}
		costs = append(costs, c)
	}
	return costs, nil
}
