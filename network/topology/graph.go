package topology

import (
	"iter"
	"slices"
)

// Node is a host or a switch of one Graph. Nodes are dense: the hosts are
// 0..Hosts()-1, the switches Hosts()..Nodes()-1, so that slices over nodes need
// no map. An InfiniBand adapter is a host of its own: package network/topology/match
// tells which belong to one machine.
type Node int32

// NoNode stands for no node.
const NoNode Node = -1

// Link is one direction of a cable: 2*cable from end A to end B, 2*cable+1
// back. Links are dense: 0..Links()-1.
type Link int32

// NoLink stands for no link.
const NoLink Link = -1

// Cable returns the index of the cable that the link is a direction of.
func (l Link) Cable() int { return int(l >> 1) }

// Reverse returns the other direction of the same cable.
func (l Link) Reverse() Link { return l ^ 1 }

// End is an end of a cable: a node, and a port by the number that the device has for
// it, from 1.
type End struct {
	Node Node
	Port int32
}

// Cable joins two ports. Both may be ports of one node (a loopback cable).
type Cable struct {
	A, B End
	Rate int64 // bit/s in each direction, 0 if unknown
}

// Port is a port with a cable in it, as its own node sees it.
type Port struct {
	Number     int32 // of this port, from 1
	Peer       Node  // at the other end of the cable
	PeerNumber int32 // of the port there
	Out        Link  // the direction that leaves here
}

// Info has the properties of a node besides its cables. Zero values are unknown.
type Info struct {
	Name        string // unique among hosts, and among switches, where not empty
	Description string // the device's own, such as "n001 mlx5_0"
	GUID        uint64 // of the node (InfiniBand)
	LID         uint16 // of the host's first port, or of the switch (InfiniBand)
}

// Graph is a network. It is immutable; methods may be called from anywhere at
// once. Slices that it returns are its own: callers do not write to them.
type Graph struct {
	hosts  int
	info   []Info
	first  []int32 // ports of node n are ports[first[n]:first[n+1]]
	ports  []Port  // of each node, by number
	cables []Cable
	family Family
}

// Hosts returns the number of hosts.
func (g *Graph) Hosts() int { return g.hosts }

// Switches returns the number of switches.
func (g *Graph) Switches() int { return len(g.info) - g.hosts }

// Nodes returns the number of hosts and switches.
func (g *Graph) Nodes() int { return len(g.info) }

// Cables returns the number of cables.
func (g *Graph) Cables() int { return len(g.cables) }

// Links returns the number of directed links, two for each cable.
func (g *Graph) Links() int { return 2 * len(g.cables) }

// IsHost says whether n is a host.
func (g *Graph) IsHost(n Node) bool { return int(n) < g.hosts }

// Switch returns the node of switch s, 0..Switches()-1.
func (g *Graph) Switch(s int) Node { return Node(g.hosts + s) }

// SwitchIndex returns the s with g.Switch(s) == n; negative for a host.
func (g *Graph) SwitchIndex(n Node) int { return int(n) - g.hosts }

// Info returns the properties of a node.
func (g *Graph) Info(n Node) Info { return g.info[n] }

// Name returns the node's name, or one made of its kind and index if it has none.
func (g *Graph) Name(n Node) string {
	switch name := g.info[n].Name; {
	case name != "":
		return name
	case g.IsHost(n):
		return numbered("h", int(n))
	default:
		return numbered("s", g.SwitchIndex(n))
	}
}

// Ports returns the ports of a node that have a cable, by number.
func (g *Graph) Ports(n Node) []Port { return g.ports[g.first[n]:g.first[n+1]] }

// Port returns the port of n with that number, and false if it has no cable.
func (g *Graph) Port(n Node, number int32) (Port, bool) {
	ports := g.Ports(n)
	i, ok := slices.BinarySearchFunc(ports, number, func(p Port, number int32) int { return int(p.Number - number) })
	if !ok {
		return Port{}, false
	}
	return ports[i], true
}

// Cable is cable i, 0..Cables()-1.
func (g *Graph) Cable(i int) Cable { return g.cables[i] }

// From returns the end that a link leaves.
func (g *Graph) From(l Link) End {
	if c := &g.cables[l>>1]; l&1 == 0 {
		return c.A
	}
	return g.cables[l>>1].B
}

// To returns the end that a link goes to.
func (g *Graph) To(l Link) End { return g.From(l ^ 1) }

// Rate returns a link's rate in bit/s, 0 if unknown.
func (g *Graph) Rate(l Link) int64 { return g.cables[l>>1].Rate }

// Family returns the regular network that g is, or is part of; nil if none is known.
func (g *Graph) Family() Family { return g.family }

// WithFamily is g with another family, or none. The family has to be one of g's
// nodes.
func (g *Graph) WithFamily(f Family) *Graph {
	with := *g
	with.family = f
	return &with
}

// Leaf returns the switch that a host's first cable goes to, NoNode if there is none.
func (g *Graph) Leaf(host Node) Node {
	for _, p := range g.Ports(host) {
		if !g.IsHost(p.Peer) {
			return p.Peer
		}
	}
	return NoNode
}

// OnlyLeaf returns the switch that all routes from a host begin at, that of its one
// cable; NoNode if it has several cables, none, or one to a host.
func (g *Graph) OnlyLeaf(host Node) Node {
	if ports := g.Ports(host); len(ports) == 1 && !g.IsHost(ports[0].Peer) {
		return ports[0].Peer
	}
	return NoNode
}

// AllHosts yields the hosts in order.
func (g *Graph) AllHosts() iter.Seq[Node] { return nodes(0, g.hosts) }

// AllSwitches yields the switches in order.
func (g *Graph) AllSwitches() iter.Seq[Node] { return nodes(g.hosts, len(g.info)) }

func nodes(from, to int) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for n := from; n < to; n++ {
			if !yield(Node(n)) {
				return
			}
		}
	}
}

// Without is g without the cables that drop names, and without a family (see
// Family.On). Nodes keep their numbers, so that a switch may be left alone.
// Cables are numbered anew, in the same order.
func (g *Graph) Without(drop func(cable int) bool) *Graph {
	var kept []Cable
	for i, c := range g.cables {
		if !drop(i) {
			kept = append(kept, c)
		}
	}
	return assemble(g.hosts, g.info, kept)
}
