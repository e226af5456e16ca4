package tii

import (
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
)

// Reached counts the distances between hosts, pair by pair in both directions.
type Reached struct {
	// Hops[h] is the number of pairs of different hosts with h switches between
	// them. It is as long as the longest route needs.
	Hops []int
	// Unreachable is the number of pairs without a route.
	Unreachable int
	// Problems are the first few errors of the routes between the hosts, as
	// Network.Problems has them of all hosts.
	Problems []error
}

// Reach follows the routes between hosts, each given once, with one bulk query for
// each, which loop carries out. It knows less than Discover and keeps no pairs:
// its memory grows with the hosts and not with their square, and it takes any
// number of them.
func Reach(r routing.ByDestination, hosts []topology.Node, loop topology.Loop) *Reached {
	n := newRoutes(r)
	to, errs := make([]Reached, len(hosts)), make([]error, len(hosts)) // by destination
	loop(len(hosts), func(i int) {
		var b *bulk
		b, errs[i] = n.ask(hosts[i], hosts)
		for _, from := range hosts {
			if from != hosts[i] {
				to[i].add(b.hopsFrom(n, from), 1)
			}
		}
	})
	all := &Reached{Problems: firstProblems(errs)}
	for i := range to {
		for hops, pairs := range to[i].Hops {
			all.add(uint8(hops), pairs)
		}
		all.add(cluster.Unreachable, to[i].Unreachable)
	}
	return all
}

// add counts pairs that are hops from each other.
func (r *Reached) add(hops uint8, pairs int) {
	if hops == cluster.Unreachable {
		r.Unreachable += pairs
		return
	}
	for len(r.Hops) <= int(hops) {
		r.Hops = append(r.Hops, 0)
	}
	r.Hops[hops] += pairs
}
