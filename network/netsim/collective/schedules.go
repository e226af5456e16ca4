package collective

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/topology"
)

// Schedules returns the Algorithms for package netsim, with root 0. Those that need a
// torus or mesh take that of the network, on which ranks have to be in the order of
// the indices, one on each switch at most.
func Schedules() []netsim.Algorithm {
	var all []netsim.Algorithm
	for _, a := range Algorithms() {
		all = append(all, netsim.Algorithm{Name: a.Name, Help: a.Help, Network: a.Needs != Any, New: a.schedule})
	}
	return all
}

func (a Algorithm) schedule(ranks int, n *netsim.Network, bytes int64) (netsim.Schedule, error) {
	j := Job{Ranks: ranks, Bytes: bytes}
	if a.Needs != Any {
		if err := j.locate(n, a.Needs); err != nil {
			return netsim.Schedule{}, fmt.Errorf("it needs a %s: %w", a.Needs, err)
		}
	}
	p, err := a.program(j)
	if err != nil {
		return netsim.Schedule{}, err
	}
	return p.Schedule(), nil
}

// locate says on which index of a torus or mesh each rank is.
func (j *Job) locate(n *netsim.Network, needs Shape) error {
	t, ok := n.Graph().Family().(*topology.Torus)
	if !ok {
		return errors.New("this network is none")
	}
	j.Dims = t.Dims
	if places := product(j.Dims); needs != Members && j.Ranks != places {
		return fmt.Errorf("%d ranks for %d switches: expected one on each", j.Ranks, places)
	}
	last := -1
	for rank := range int32(j.Ranks) {
		leaf := n.Graph().Leaf(n.Host(rank))
		if leaf == topology.NoNode {
			return fmt.Errorf("the host of rank %d has no cable", rank)
		}
		index := t.Index(leaf)
		if index == last {
			return fmt.Errorf("ranks %d and %d are on one switch: expected one on each", rank-1, rank)
		}
		if index < last {
			return fmt.Errorf("the switch of rank %d is before that of rank %d: expected ranks in the order of the switches", rank, rank-1)
		}
		last = index
		j.Members = append(j.Members, int32(index))
	}
	if j.Ranks == product(j.Dims) {
		j.Members = nil
	}
	return nil
}
