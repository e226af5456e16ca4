package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// boustrophedon returns the place of index x on the Hamiltonian path that goes to and
// fro in dimension order[0], then one on in order[1], and so on.
func boustrophedon(dims, order []int, x int) int {
	place := 0
	for _, dim := range slices.Backward(order) {
		c := x / product(dims[:dim]) % dims[dim]
		if place%2 == 1 {
			c = dims[dim] - 1 - c
		}
		place = place*dims[dim] + c
	}
	return place
}

// along returns the order of the ranks on a Hamiltonian path through a torus or mesh
// from which all switches without a rank are deleted [Sack 3.4.3]: the path
// begins to and fro in dimension start. Members are the indices that ranks are
// on. On a Clos network no path is needed: the order of the hosts is one.
func along(dims []int, start int, members []int32) []int32 {
	place := make([]int, len(members))
	for i, x := range members {
		place[i] = boustrophedon(dims, rotated(len(dims), start), int(x))
	}
	ranks := identity(len(members))
	slices.SortFunc(ranks, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
	on := make([]int32, len(members))
	for p, rank := range ranks {
		on[rank] = int32(p)
	}
	return on
}

// paths returns the ways of recursive doubling, distance halving, on so many paths at
// once. The paths begin in different dimensions, and so share few links. They do
// share some: not every mesh has three Hamiltonian paths without a common edge,
// which the source takes for given [Sack 3.4.3].
func paths(dims []int, ways int, members []int32) []gathering {
	b := newBox(len(members))
	var list []gathering
	for start := range ways {
		list = append(list, doubling(b, always(b.halvingOrder()), along(dims, start%len(dims), members)))
	}
	return list
}

// Torus returns a torus or mesh with a rank at each of its switches, in the order of
// the indices, and routes in dimension order whose ties go both ways: the network
// of [Sack 3.1].
func Torus(dims []int, wrap bool) (*netsim.Network, error) {
	s := topology.Shape{Dims: dims, Wrap: make([]bool, len(dims)), Hosts: 1}
	for d := range s.Wrap {
		s.Wrap[d] = wrap
	}
	g, err := topology.NewTorusGraph(s, 0)
	if err != nil {
		return nil, fmt.Errorf("torus of %v: %w", dims, err)
	}
	r, err := routing.NewSplitDimensionOrder(g)
	if err != nil {
		return nil, err
	}
	return netsim.New(r, slices.Collect(g.AllHosts()))
}
