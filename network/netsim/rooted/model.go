package rooted

import (
	"math"

	"github.com/golaunch/golaunch/network/netsim"
)

// Level is the distance of a message.
type Level int

// The levels of [Subramoni 3.1].
const (
	InHost Level = iota // intra-node
	InRack              // intra-switch
	Across              // inter-switch
	levels
)

// Levels tells the level of each pair of ranks.
func Levels(n *netsim.Network) func(from, to int32) Level {
	rack := make([]int, n.Ranks())
	for i, ranks := range Racks(n) {
		for _, rank := range ranks {
			rack[rank] = i
		}
	}
	return func(from, to int32) Level {
		switch {
		case n.Host(from) == n.Host(to):
			return InHost
		case rack[from] == rack[to]:
			return InRack
		}
		return Across
	}
}

// Traffic counts messages and bytes at each level.
type Traffic struct{ Messages, Bytes [levels]int64 }

// Count returns the traffic of a schedule; that which keep says, or all if it is nil.
func Count(s netsim.Schedule, level func(from, to int32) Level, keep func(netsim.Message) bool) Traffic {
	var t Traffic
	var messages []netsim.Message
	for i := range s.Stages {
		messages = s.Append(messages[:0], i)
		for _, m := range messages {
			if keep == nil || keep(m) {
				l := level(m.From, m.To)
				t.Messages[l]++
				t.Bytes[l] += m.Size
			}
		}
	}
	return t
}

// Model is the cost model of gather and scatter [Subramoni 3.1].
type Model struct {
	Startup    [levels]float64 // t_s, in seconds
	Byte       [levels]float64 // t_w, in seconds
	Contention float64         // alpha, the overhead of messages between racks; 1 is none
}

// Time is T_binomial [Subramoni 3.1.1] of the messages that the root receives, or
// sends: C1, C2 and C3 are the messages, C1 N gamma, C2 N beta and C3 N delta the bytes
// of each level.
func (m *Model) Time(t Traffic) float64 {
	sum := 0.0
	for l := range levels {
		cost := m.Startup[l]*float64(t.Messages[l]) + m.Byte[l]*float64(t.Bytes[l])
		if l == Across {
			cost *= m.Contention
		}
		sum += cost
	}
	return sum
}

// Least returns the lower bound of T_topo [Subramoni 3.1.2] for so many racks, when the
// root gets so many bytes in all. The source divides by t_w where it can only mean to
// multiply.
func (m *Model) Least(racks int, bytes int64) float64 {
	r := float64(racks)
	return m.Contention * (m.Startup[Across]*math.Log2(r) + (1-1/r)*float64(bytes)*m.Byte[Across])
}

// Latencies are the times of small messages, in seconds, by the switches on their
// route: none, 1, 3, and 5 or more.
type Latencies [4]float64

// Latencies of MPI on Ranger and Stampede [Subramoni, table 1.1].
var (
	Ranger   = Latencies{.46e-6, 1.57e-6, 2.45e-6, 2.85e-6}
	Stampede = Latencies{.19e-6, 1.07e-6, 1.76e-6, 2.54e-6}
)

// Of returns the latency of a route.
func (l Latencies) Of(hops int) float64 { return l[min((hops+1)/2, len(l)-1)] }

// Duration returns the time of a schedule if a rank has one message at a time, which it
// sends or receives, and a message takes the time that cost returns: there is no
// contention.
func Duration(s netsim.Schedule, cost func(m netsim.Message) float64) float64 {
	free := make([]float64, s.Ranks)
	last := 0.0
	var messages []netsim.Message
	for i := range s.Stages {
		messages = s.Append(messages[:0], i)
		for _, m := range messages {
			end := max(free[m.From], free[m.To]) + cost(m)
			free[m.From], free[m.To] = end, end
			last = max(last, end)
		}
	}
	return last
}
