package rooted

import "github.com/golaunch/golaunch/network/netsim"

// arity is that of broadcast trees [Subramoni, figure 4.1].
const arity = 4

// Algorithms returns all of this package, with root 0.
func Algorithms() []netsim.Algorithm {
	return []netsim.Algorithm{
		racks("gather/racks", "gather by rack: binomial below each leaf switch, then among their leaders", (*Tree).Gather),
		racks("scatter/racks", "scatter by rack: binomial among leaders, then below each leaf switch", (*Tree).Scatter),
		broadcast("broadcast/depth-first", "4-nomial broadcast; near hosts have places of the tree depth first", DepthFirst),
		broadcast("broadcast/breadth-first", "4-nomial broadcast; near hosts have places of the tree level by level", BreadthFirst),
		broadcast("broadcast/largest-first", "4-nomial broadcast; near hosts have those places that most are below", LargestFirst),
	}
}

func racks(name, help string, schedule func(t *Tree, bytes int64) netsim.Schedule) netsim.Algorithm {
	return netsim.Algorithm{Name: name, Help: help, Network: true, New: func(_ int, n *netsim.Network, bytes int64) (netsim.Schedule, error) {
		return schedule(NewTree(Racks(n), 2), bytes), nil
	}}
}

func broadcast(name, help string, order Order) netsim.Algorithm {
	return netsim.Algorithm{Name: name, Help: help, Network: true, New: func(_ int, n *netsim.Network, bytes int64) (netsim.Schedule, error) {
		if n.Ranks() == 0 {
			return (&Tree{}).Broadcast(bytes), nil
		}
		b, err := NewBroadcasts(n, arity, order, nearest)
		if err != nil {
			return netsim.Schedule{}, err
		}
		return b.Tree(0).Broadcast(bytes), nil
	}}
}

// nearest returns the delay by rates where hosts have different ones, else by hops.
func nearest(n *netsim.Network) (Delay, error) {
	slow, err := Slowness(n)
	for rank := range int32(n.Ranks()) {
		if err == nil && slow(rank, rank) != slow(0, 0) {
			return slow, nil
		}
	}
	return Hops(n)
}
