package launcher

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/arrange"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Network is the network between a job's hosts.
type Network struct {
	*arrange.Network
	From string // the file or word that it was read from
	// Optional has the job go on as if there were none where it does not suit the
	// hosts.
	Optional bool
	// Given has a job refused of which the network has no host: the user named it for
	// this job.
	Given bool
}

// planNetwork has the network's say in the order of hosts and in the tree; the zero
// value stands for an unknown network.
type planNetwork struct {
	order    string // its source, and its order of the hosts; "" if it has none
	notes    []string
	depth    int                // levels of switches between the hosts
	clusters map[job.Host][]int // at each depth from 1, by arrange.Arranged.Clusters
	// tree is the hosts in the pre-order of a tree that follows the network, cut how many
	// are below each; nil if the network has no say in the tree.
	tree []job.HostIndex
	cut  []int
}

// hostNetwork has the hosts of the network, and the routes between them, for rules of
// placement; the zero value knows no host.
type hostNetwork struct {
	from   string
	router routing.Router
	nodes  map[job.Host]topology.Node // of the hosts that it has
}

// has reports whether the network has a host.
func (n *hostNetwork) has(h job.Host) bool {
	_, ok := n.nodes[h]
	return ok
}

// among returns the network between some of the hosts, nil where it is not known.
func (n *hostNetwork) among(hosts []job.Host, some []job.HostIndex) *placement.Network {
	if n.router == nil {
		return nil
	}
	nodes := make([]topology.Node, len(some))
	for i, h := range some {
		node, ok := n.nodes[hosts[h]]
		if !ok {
			node = topology.NoNode
		}
		nodes[i] = node
	}
	return &placement.Network{Router: n.router, Nodes: nodes, From: n.from}
}

// arrange puts hosts into the order of the network, if one is known, and keeps the
// network's facts about them.
func (p *Plan) arrange(o *Options, hosts []job.Host) ([]job.Host, error) {
	if o.Hosts.Network == nil {
		return hosts, nil
	}
	n := &p.network
	a, err := o.Hosts.Network.Arrange(hosts)
	switch {
	case err != nil && o.Hosts.Network.Optional:
		n.notes = []string{fmt.Sprintf("network %s is not used: %v", o.Hosts.Network.From, err)}
		return hosts, nil
	case err != nil:
		return nil, fmt.Errorf("--topology: %s: %w", o.Hosts.Network.From, err)
	case a.Rule == "" && a.Unrouted == "" && o.Hosts.Network.Given:
		return nil, fmt.Errorf("--topology: %s: %s", o.Hosts.Network.From, a.Lacking)
	}
	if a.Unrouted != "" {
		n.notes = append(n.notes, fmt.Sprintf("network %s: %s; the hosts keep their order", o.Hosts.Network.From, a.Unrouted))
	}
	for _, note := range []string{a.Lacking, a.Unclustered} {
		if note != "" {
			n.notes = append(n.notes, fmt.Sprintf("network %s: %s", o.Hosts.Network.From, note))
		}
	}
	p.rules.network = newHostNetwork(o.Hosts.Network, a)
	if a.Rule != "" {
		n.order = fmt.Sprintf("%s, by network %s", a.Rule, o.Hosts.Network.From)
	}
	if n.depth = a.Depth; n.depth > 0 {
		n.order += fmt.Sprintf(", %s of switches between the hosts", plural(n.depth, "level"))
		n.clusters = make(map[job.Host][]int, len(hosts))
		for i, h := range a.Hosts {
			n.clusters[h] = a.Clusters[i]
		}
	}
	return a.Hosts, nil
}

func newHostNetwork(network *Network, a *arrange.Arranged) hostNetwork {
	nodes := make(map[job.Host]topology.Node, len(a.Hosts))
	for i, h := range a.Hosts {
		if a.Nodes[i] != topology.NoNode {
			nodes[h] = a.Nodes[i]
		}
	}
	if len(nodes) == 0 {
		return hostNetwork{}
	}
	return hostNetwork{network.From, network.Router, nodes}
}

// clustersOf returns the switch clusters of some hosts, of each at depth 1 to the last;
// none if the network is not known.
func (p *Plan) clustersOf(hosts []job.HostIndex) []int {
	list := make([]int, 0, len(hosts)*p.network.depth)
	for _, h := range hosts {
		list = append(list, p.network.clusters[p.Hosts[h]]...)
	}
	return list
}
