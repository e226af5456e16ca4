package alltoall

import (
	"math/bits"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
)

// Default returns the schedule that MPI libraries use for long messages: XOR for a
// power of two, else Pairwise.
func Default(ranks int, bytes int64) netsim.Schedule {
	if bits.OnesCount(uint(ranks)) == 1 {
		return XOR(ranks, bytes)
	}
	return Pairwise(ranks, bytes)
}

// Choose takes the schedule that costs least, of Default, Pairwise and TACS1 without
// shared links, the first of them if several do, and returns its stages' costs as well.
// All are for messages of size 1. TACS1 is not worked out where another costs as little
// as any can, nor for more than MaxRanks ranks.
func Choose(n *netsim.Network) (netsim.Schedule, []int64, error) {
	bound, err := Bound(n)
	if err != nil {
		return netsim.Schedule{}, nil, err
	}
	best := Default(n.Ranks(), 1)
	costs, err := Cost(n, best)
	if err != nil {
		return netsim.Schedule{}, nil, err
	}
	for _, plan := range []func() (netsim.Schedule, error){
		func() (netsim.Schedule, error) { return Pairwise(n.Ranks(), 1), nil },
		func() (netsim.Schedule, error) { return TACS1(n, 1) },
	} {
		if Total(costs) <= bound || n.Ranks() > MaxRanks {
			break
		}
		s, err := plan()
		if err != nil {
			return netsim.Schedule{}, nil, err
		}
		other, err := Cost(n, s)
		if err != nil {
			return netsim.Schedule{}, nil, err
		}
		if Total(other) < Total(costs) {
			best, costs = s, other
		}
	}
	return best, costs, nil
}

// sparse is the share of a job's hosts below one leaf switch under which the
// printed rule calls the job sparse.
const sparse = 0.05

// Asks says whether the source's own rule asks for a schedule that knows the network,
// and not for Default [Subramoni, algorithm 2]: hosts of the job share links, and
// there are at least 5 % of the job's hosts on a leaf switch, in the mean. So it calls
// each job of more than 400 hosts sparse where leaf switches have 20.
func Asks(j *tii.Job, loop topology.Loop) bool {
	return j.HostsPerLeaf() >= sparse*float64(len(j.Hosts())) && len(j.SharingLinks(loop)) > 0
}
