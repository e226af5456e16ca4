package launcher

import (
	"fmt"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/placement"
	"github.com/golaunch/golaunch/placement/arrange"
	"github.com/golaunch/golaunch/routing"
	"github.com/golaunch/golaunch/topology"
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

// planNetwork is what a plan has of the network; the zero value where none is known.
type planNetwork struct {
	order    string // where it comes from, and how it orders the hosts; "" if it does not
	notes    []string
	depth    int                // levels of switches between the hosts
	clusters map[job.Host][]int // at each depth from 1, by arrange.Arranged.Clusters
	// tree is the hosts in the pre-order of a tree that follows the network, cut how many
	// are below each; nil if the network has no say in the tree.
	tree   []job.HostIndex
	cut    []int
	from   string
	router routing.Router             // nil where the network is not used
	nodes  map[job.Host]topology.Node // of the hosts that it has
}

// among is the network between some of the hosts, nil where it is not known.
func (n *planNetwork) among(hosts []job.Host, some []job.HostIndex) *placement.Network {
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

// arrangeHosts puts hosts into the order of the network, if one is known.
func arrangeHosts(o *Options, hosts []job.Host) (planNetwork, []job.Host, error) {
	var n planNetwork
	if o.Network == nil {
		return n, hosts, nil
	}
	a, err := o.Network.Arrange(hosts)
	switch {
	case err != nil && o.Network.Optional:
		n.notes = []string{fmt.Sprintf("network %s is not used: %v", o.Network.From, err)}
		return n, hosts, nil
	case err != nil:
		return n, nil, fmt.Errorf("--topology: %s: %w", o.Network.From, err)
	case a.Rule == "" && a.Unrouted == "" && o.Network.Given:
		return n, nil, fmt.Errorf("--topology: %s: %s", o.Network.From, a.Lacking)
	}
	if a.Unrouted != "" {
		n.notes = append(n.notes, fmt.Sprintf("network %s: %s; the hosts keep their order", o.Network.From, a.Unrouted))
	}
	for _, note := range []string{a.Lacking, a.Unclustered} {
		if note != "" {
			n.notes = append(n.notes, fmt.Sprintf("network %s: %s", o.Network.From, note))
		}
	}
	n.know(o.Network, a)
	if a.Rule != "" {
		n.order = fmt.Sprintf("%s, by network %s", a.Rule, o.Network.From)
	}
	if n.depth = a.Depth; n.depth > 0 {
		n.order += fmt.Sprintf(", %s of switches between the hosts", plural(n.depth, "level"))
		n.clusters = make(map[job.Host][]int, len(hosts))
		for i, h := range a.Hosts {
			n.clusters[h] = a.Clusters[i]
		}
	}
	return n, a.Hosts, nil
}

// know keeps which hosts the network has.
func (n *planNetwork) know(network *Network, a *arrange.Arranged) {
	n.from, n.nodes = network.From, make(map[job.Host]topology.Node, len(a.Hosts))
	for i, h := range a.Hosts {
		if a.Nodes[i] != topology.NoNode {
			n.nodes[h] = a.Nodes[i]
		}
	}
	if len(n.nodes) > 0 {
		n.router = network.Router
	}
}

// clustersOf are the switch clusters of some hosts, of each at depth 1 to the
// last; none where it is not known.
func (p *Plan) clustersOf(hosts []job.HostIndex) []int {
	list := make([]int, 0, len(hosts)*p.network.depth)
	for _, h := range hosts {
		list = append(list, p.network.clusters[p.Hosts[h]]...)
	}
	return list
}
