package rooted

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/alltoall"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
)

// Order is the order in which places of a tree are given to hosts.
type Order int

// The source has depth and breadth first [Subramoni 4.2]. Both mean to reach those
// with most children before others, which largest first does.
const (
	DepthFirst   Order = iota // a child, and all below it, before the next child
	BreadthFirst              // level by level
	LargestFirst              // places with the largest subtrees first
)

// Delay is the distance, or the slowness, of one host from another.
type Delay func(from, to int32) float64

// Place gives hosts 0.. to the places of a k-nomial tree and returns the host of each
// place. The root's is fixed; each further place takes, of the hosts that are left,
// the one with the least delay from the host of its parent, the first of equal ones.
func Place(hosts, k int, root int32, order Order, delay Delay) []int32 {
	children := knomial(hosts, k)
	parent := make([]int32, hosts)
	for place, list := range children {
		for _, child := range list {
			parent[child] = int32(place)
		}
	}
	var free []int32
	for host := range int32(hosts) {
		if host != root {
			free = append(free, host)
		}
	}
	at := slices.Repeat([]int32{root}, hosts)
	for _, place := range places(children, order) {
		if place == 0 {
			continue
		}
		best, least := 0, math.Inf(1)
		for i, host := range free {
			if d := delay(at[parent[place]], host); d < least {
				best, least = i, d
			}
		}
		at[place] = free[best]
		free = slices.Delete(free, best, best+1)
	}
	return at
}

// places lists the places of a tree, parents before their children.
func places(children [][]int32, order Order) []int32 {
	list := breadthFirst(0, children)
	switch order {
	case DepthFirst:
		list = depthFirst(list[:0], 0, children)
	case LargestFirst:
		size := subtrees(0, children)
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(size[b], size[a]) })
	}
	return list
}

func depthFirst(list []int32, place int32, children [][]int32) []int32 {
	if len(children) == 0 {
		return list
	}
	list = append(list, place)
	for _, child := range children[place] {
		list = depthFirst(list, child, children)
	}
	return list
}

// Hops returns the delay by the switches on routes between ranks [Subramoni 4.2.1]. It
// asks for all routes once. The error is that of a pair without a route, or says that
// there are too many.
func Hops(n *netsim.Network) (Delay, error) {
	ranks := n.Ranks()
	if ranks > tii.MaxMatrix {
		return nil, fmt.Errorf("%d hosts: a matrix of hops is for at most %d", ranks, tii.MaxMatrix)
	}
	hops := make([]uint8, ranks*ranks)
	var route []routing.Step
	for from := range int32(ranks) {
		for to := range int32(ranks) {
			var err error
			if route, err = n.Route(route[:0], from, to); err != nil {
				return nil, fmt.Errorf("from rank %d to rank %d: %w", from, to, err)
			}
			if len(route) > 0 {
				hops[int(from)*ranks+int(to)] = uint8(min(routing.Hops(route), math.MaxUint8))
			}
		}
	}
	return func(from, to int32) float64 { return float64(hops[int(from)*ranks+int(to)]) }, nil
}

// Slowness returns the delay by the rates of the hosts' adapters: the inverse of that
// of the slower one [Subramoni 4.2.2], in s/bit. The error names a host whose rate is
// not known.
func Slowness(n *netsim.Network) (Delay, error) {
	rate := make([]float64, n.Ranks())
	for rank := range rate {
		host := n.Host(int32(rank))
		for _, port := range n.Graph().Ports(host) {
			rate[rank] += float64(n.Graph().Rate(port.Out))
		}
		if rate[rank] == 0 {
			return nil, fmt.Errorf("the rate of %s is not known", n.Graph().Name(host))
		}
	}
	return func(from, to int32) float64 { return 1 / min(rate[from], rate[to]) }, nil
}

// Broadcasts has the trees of broadcasts, one for each root that has asked for one, as
// a library makes a communicator for each root and keeps it [Subramoni 4.2]. It is for
// one caller at a time.
type Broadcasts struct {
	k     int
	order Order
	delay Delay
	ranks [][]int32 // of each host
	host  []int32   // of each rank
	trees map[int32]*Tree
}

// NewBroadcasts begins without any. The first rank of a host, or the root, is among the
// hosts' leaders, which are in a k-nomial tree by order and the delay between hosts, as
// alltoall.Hosts numbers them; the ranks of a host are in one below it.
func NewBroadcasts(n *netsim.Network, k int, order Order, delay func(hosts *netsim.Network) (Delay, error)) (*Broadcasts, error) {
	hosts, ranks, err := alltoall.Hosts(n)
	if err != nil {
		return nil, err
	}
	b := &Broadcasts{k: k, order: order, ranks: ranks, host: make([]int32, n.Ranks()), trees: map[int32]*Tree{}}
	for i, list := range ranks {
		for _, rank := range list {
			b.host[rank] = int32(i)
		}
	}
	b.delay, err = delay(hosts)
	return b, err
}

// Tree returns the tree of a root. It belongs to b.
func (b *Broadcasts) Tree(root int32) *Tree {
	t, ok := b.trees[root]
	if !ok {
		var groups [][]int32
		for _, host := range Place(len(b.ranks), b.k, b.host[root], b.order, b.delay) {
			groups = append(groups, b.ranks[host])
		}
		t = NewTree(From(groups, root), b.k)
		b.trees[root] = t
	}
	return t
}
