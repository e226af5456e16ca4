// Package algorithms is the table of all algorithms of collective operations that
// package netsim has schedules of, by name.
package algorithms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/alltoall"
	"github.com/golaunch/golaunch/network/netsim/collective"
	"github.com/golaunch/golaunch/network/netsim/rooted"
	"github.com/golaunch/golaunch/network/routing"
)

// All returns the table.
func All() []netsim.Algorithm {
	return slices.Concat(
		sequences(),
		alltoall.Algorithms(),
		rooted.Algorithms(),
		collective.Schedules(),
	)
}

// sequences returns the permutation sequences of MPI libraries [Zahavi, table 1].
func sequences() []netsim.Algorithm {
	var all []netsim.Algorithm
	for i, use := range routing.Usage() {
		help := "sequence of " + strings.Join(use.Operations, ", ")
		if len(use.Operations) == 0 {
			help = "sequence that no library uses"
		}
		all = append(all, netsim.Algorithm{Name: strings.ReplaceAll(use.Sequence, " ", "-"), Help: help,
			New: func(ranks int, _ *netsim.Network, bytes int64) (netsim.Schedule, error) {
				return netsim.Permutations(routing.Sequences(ranks)[i], bytes), nil
			}})
	}
	return all
}

// Names returns the names of all.
func Names() []string {
	var names []string
	for _, a := range All() {
		names = append(names, a.Name)
	}
	return names
}

// Find returns the algorithm of a name.
func Find(name string) (*netsim.Algorithm, error) {
	all := All()
	i := slices.IndexFunc(all, func(a netsim.Algorithm) bool { return a.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is no algorithm that it knows; see golaunch netsim list", name)
	}
	return &all[i], nil
}

// Bounds of schedules, so that work on them ends soon.
const (
	maxData   = 1 << 40 // ranks times bytes
	maxRouted = 1 << 25 // ranks times stages
)

// Schedule makes the schedule of an algorithm for ranks, those of n if it is not nil,
// of so many bytes as netsim.Algorithm says. It refuses one that is too large, and
// one that depends on a network where none is given.
func Schedule(a *netsim.Algorithm, ranks int, n *netsim.Network, bytes int64) (s netsim.Schedule, err error) {
	if bytes < 0 || ranks > 0 && bytes > maxData/int64(ranks) {
		return s, fmt.Errorf("%d ranks of %d bytes: there may be 0 bytes to 1 TiB in all", ranks, bytes)
	}
	if a.Network && n == nil {
		return s, fmt.Errorf("%s depends on the network: say which, with --topology", a.Name)
	}
	if s, err = a.New(ranks, n, bytes); err != nil {
		return s, fmt.Errorf("%s: %w", a.Name, err)
	}
	if s.Stages > maxRouted/max(1, ranks) {
		return s, fmt.Errorf("%s of %d ranks has %d stages: ranks times stages may be %d; take fewer ranks", a.Name, ranks, s.Stages, maxRouted)
	}
	return s, nil
}
