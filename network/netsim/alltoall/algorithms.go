package alltoall

import "github.com/golaunch/golaunch/network/netsim"

// Algorithms returns all of this package.
func Algorithms() []netsim.Algorithm {
	return []netsim.Algorithm{
		fixed("alltoall/xor", "in stage s, ranks i and i xor s+1 exchange", XOR),
		fixed("alltoall/pairwise", "in stage s, rank i sends to i+s+1", Pairwise),
		fixed("alltoall/scatter-destination", "each rank sends to all after it, 32 messages at a time", ScatterDestination),
		fixed("alltoall/bruck", "a stage for each bit of the distance; blocks are passed on", Bruck),
		planner("alltoall/tacs1", "knows the network: no two messages of a stage share a link", func(n *netsim.Network) (netsim.Schedule, error) { return TACS1(n, 1) }),
		planner("alltoall/tacs2", "knows the network: as many stages as hosts, few messages share a link", func(n *netsim.Network) (netsim.Schedule, error) { return TACS2(n, 2) }),
		planner("alltoall/dcss", "the one of xor, pairwise and tacs1 that puts least on the busiest links", func(n *netsim.Network) (netsim.Schedule, error) {
			s, _, err := Choose(n)
			return s, err
		}),
	}
}

func fixed(name, help string, schedule func(ranks int, bytes int64) netsim.Schedule) netsim.Algorithm {
	return netsim.Algorithm{Name: name, Help: help, New: func(ranks int, _ *netsim.Network, bytes int64) (netsim.Schedule, error) {
		return schedule(ranks, bytes), nil
	}}
}

// planner makes the schedule of hosts, and that of their ranks out of it.
func planner(name, help string, plan func(hosts *netsim.Network) (netsim.Schedule, error)) netsim.Algorithm {
	return netsim.Algorithm{Name: name, Help: help, Network: true, New: func(_ int, n *netsim.Network, bytes int64) (netsim.Schedule, error) {
		hosts, ranks, err := Hosts(n)
		if err != nil {
			return netsim.Schedule{}, err
		}
		s, err := plan(hosts)
		if err != nil {
			return netsim.Schedule{}, err
		}
		return Expand(s, ranks, bytes), nil
	}}
}
