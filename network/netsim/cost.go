package netsim

import "fmt"

// DefaultRate is that of links whose rate a network does not know, in bytes per
// second: InfiniBand QDR with four lanes, the links of [Zahavi].
const DefaultRate = 4e9

// Costs has the costs of messages besides the rates that a network knows.
type Costs struct {
	Startup float64 // seconds until a rank has begun a message, α
	Rate    float64 // bytes per second of links of unknown rate; 0 is DefaultRate
	// Inject is the rate at which a host can send, and at the same time receive, over
	// all of its links, in bytes per second; 0 is no limit. Messages between ranks of
	// one host do not count.
	Inject float64
}

// StageCost is the cost of a stage in the congestion-aware model [Sack 3]. Messages to
// their own sender do not count.
type StageCost struct {
	Messages int
	Bytes    int64
	Flows    int64 // messages on the link that has most of them: the hot-spot degree
	Most     int64 // bytes on the link that has most of them
	// Seconds are the start-ups of the rank that sends most messages, and then the time
	// of the slowest link or host for its bytes.
	Seconds float64
}

// Cost returns the cost of each stage of a schedule. The error is that of a message
// that is none of the network's ranks, or of a pair without a route.
func (c Costs) Cost(n *Network, s Schedule) ([]StageCost, error) {
	if s.Ranks > n.Ranks() {
		return nil, fmt.Errorf("%d ranks are on hosts, of %d of %s", n.Ranks(), s.Ranks, s.Name)
	}
	costs := make([]StageCost, s.Stages)
	bytes, flows := NewLoad(n), NewLoad(n)
	hosts := n.Graph().Hosts()
	begun, sent, taken := make([]int, s.Ranks), make([]int64, hosts), make([]int64, hosts)
	var messages []Message
	for i := range costs {
		bytes.Reset()
		flows.Reset()
		messages = s.Append(messages[:0], i)
		if err := bytes.Add(messages); err != nil {
			return nil, fmt.Errorf("stage %d of %s: %w", i, s.Name, err)
		}
		clear(begun)
		clear(sent)
		clear(taken)
		cost, most, inject := &costs[i], 0, int64(0)
		for k, m := range messages {
			messages[k].Size = 1
			if m.From == m.To {
				continue
			}
			cost.Messages++
			cost.Bytes += m.Size
			begun[m.From]++
			most = max(most, begun[m.From])
			if from, to := n.Host(m.From), n.Host(m.To); from != to {
				sent[from] += m.Size
				taken[to] += m.Size
				inject = max(inject, sent[from], taken[to])
			}
		}
		if err := flows.Add(messages); err != nil {
			return nil, fmt.Errorf("stage %d of %s: %w", i, s.Name, err)
		}
		cost.Flows, cost.Most = flows.Max(), bytes.Max()
		for _, link := range bytes.Used() {
			cost.Seconds = max(cost.Seconds, float64(bytes.On(link))/c.rate(n, link))
		}
		if c.Inject > 0 {
			cost.Seconds = max(cost.Seconds, float64(inject)/c.Inject)
		}
		cost.Seconds += float64(most) * c.Startup
	}
	return costs, nil
}
