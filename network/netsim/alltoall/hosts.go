package alltoall

import (
	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/topology"
)

// Hosts returns the network with one rank on each host that n has ranks on, in the order
// of the hosts' first ranks, and the ranks of n on each of them.
func Hosts(n *netsim.Network) (*netsim.Network, [][]int32, error) {
	ranks := Groups(n, n.Host)
	hosts := make([]topology.Node, len(ranks))
	for i, list := range ranks {
		hosts[i] = n.Host(list[0])
	}
	m, err := netsim.New(n.Router(), hosts)
	return m, ranks, err
}

// Groups returns the ranks for which of is the same node, in the order of their first
// ranks.
func Groups(n *netsim.Network, of func(rank int32) topology.Node) [][]int32 {
	number := map[topology.Node]int{}
	var groups [][]int32
	for rank := range int32(n.Ranks()) {
		i, ok := number[of(rank)]
		if !ok {
			i = len(groups)
			number[of(rank)], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], rank)
	}
	return groups
}

// Expand makes the schedule of ranks out of one of hosts: ranks[i] are those on host
// i. They first exchange within each host. Then each stage of the hosts becomes as
// many as the largest host has ranks: in each, a rank of the one host sends to
// another rank of the other. Each message is of that many bytes.
func Expand(hosts netsim.Schedule, ranks [][]int32, bytes int64) netsim.Schedule {
	all, most := 0, 0
	for _, list := range ranks {
		all, most = all+len(list), max(most, len(list))
	}
	inside := max(0, most-1)
	var stage []netsim.Message
	return netsim.Schedule{Name: hosts.Name, Ranks: all, Stages: inside + hosts.Stages*most, Append: func(messages []netsim.Message, s int) []netsim.Message {
		if s < inside {
			for _, list := range ranks {
				messages = appendShift(messages, list, list, s+1, most, bytes)
			}
			return messages
		}
		stage = hosts.Append(stage[:0], (s-inside)/most)
		for _, m := range stage {
			messages = appendShift(messages, ranks[m.From], ranks[m.To], (s-inside)%most, most, bytes)
		}
		return messages
	}}
}

// appendShift returns the rank at place i of from send to that at place i+distance of to,
// around a circle of that many places.
func appendShift(messages []netsim.Message, from, to []int32, distance, places int, bytes int64) []netsim.Message {
	for i, rank := range from {
		if j := (i + distance) % places; j < len(to) {
			messages = append(messages, netsim.Message{From: rank, To: to[j], Size: bytes})
		}
	}
	return messages
}
