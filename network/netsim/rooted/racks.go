package rooted

import (
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/alltoall"
	"github.com/golaunch/golaunch/network/topology"
)

// Racks returns the ranks below each leaf switch, in the order of their first ranks. A
// host without a switch is a rack of its own.
func Racks(n *netsim.Network) [][]int32 {
	g := n.Graph()
	return alltoall.Groups(n, func(rank int32) topology.Node {
		if leaf := g.Leaf(n.Host(rank)); leaf != topology.NoNode {
			return leaf
		}
		return n.Host(rank)
	})
}

// From puts the group of the root first, and the root first in it, around: the root is
// the leader of its group, so that nothing has to be moved from a leader to it in the
// end, as [Subramoni 3.1.2] does. If the root is in none they stay as they are. groups
// is not written to.
func From(groups [][]int32, root int32) [][]int32 {
	first := slices.IndexFunc(groups, func(group []int32) bool { return slices.Contains(group, root) })
	if first < 0 {
		return groups
	}
	turned := slices.Concat(groups[first:], groups[:first])
	at := slices.Index(turned[0], root)
	turned[0] = slices.Concat(turned[0][at:], turned[0][:at])
	return turned
}

// Binomial returns the tree of MPI libraries, which knows no network: place i has the
// rank that is i behind the root, around.
func Binomial(ranks int, root int32) *Tree {
	all := make([]int32, ranks)
	for i := range all {
		all[i] = int32(i)
	}
	return NewTree(From([][]int32{all}, root), 2)
}
