// Package arrange puts a job's hosts into an order in which collective operations share
// few links of their network, and tells which of them are below the same switches. It
// joins routing (the order, package tii) and network/topology/match (the owners of
// hosts); a Rule of package placement then goes by the order.
package arrange

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
	"github.com/golaunch/golaunch/network/topology/match"
)

// Seed shuffles hosts where no rule suits the network.
const Seed = 1

// Network is the network between hosts. It is immutable.
type Network struct {
	Router routing.ByDestination
	Names  match.Map     // the user's word for its hosts
	Loop   topology.Loop // carries out what may be parallel
}

// Arranged is a job's hosts, as their network has them.
type Arranged struct {
	// Hosts are those given, in the order to use; hosts that the network lacks are
	// last, in the order given.
	Hosts []job.Host
	// Nodes has the node of each of Hosts in the network, its first adapter;
	// topology.NoNode for a host that the network lacks.
	Nodes []topology.Node
	// Rule describes the order and its quality (routing.Order.String), "" where the
	// network lacks all hosts, or they do not reach each other.
	Rule string
	// Unrouted names hosts that do not reach each other, "" if all do: then Hosts are
	// as given.
	Unrouted string
	// Lacking names the hosts that the network lacks, "" if there are none.
	Lacking string
	// Depth is the levels of switches between the hosts [Subramoni 5.2], of which the
	// last is that of leaf switches; 0 where that is not known. The whole network may
	// have more.
	Depth int
	// Clusters has for each of Hosts its switch cluster at each depth from 1, where
	// all are together, to Depth: the position in Hosts of the first host in it. A
	// host that the network lacks is alone. It is nil where Depth is 0.
	Clusters [][]int
	// Unclustered gives the reason for which Depth is not known, though the network has
	// hosts of the job; "" if it is known.
	Unclustered string
}

// Arrange arranges hosts. The error names hosts that could be several of the network.
func (n *Network) Arrange(hosts []job.Host) (*Arranged, error) {
	found, err := n.find(hosts)
	if err != nil {
		return nil, err
	}
	a := &Arranged{Hosts: hosts, Nodes: slices.Repeat([]topology.Node{topology.NoNode}, len(hosts)), Lacking: found.Warning()}
	nodes, of := found.First()
	if len(nodes) == 0 {
		return a, nil
	}
	a.Nodes = nodesOf(hosts, hosts, nodes, of)
	sorted, orders, err := Order(n.Router, hosts, nodes, of, Seed, n.Loop)
	if err != nil {
		a.Unrouted = err.Error()
		return a, nil //nolint:nilerr // it is told in a
	}
	a.Hosts, a.Rule = sorted, orders[0].String()
	a.Nodes = nodesOf(sorted, hosts, nodes, of)
	if len(nodes) > cluster.MaxHosts {
		a.Unclustered = fmt.Sprintf("switch clusters are not known: the job has %d hosts of it, more than %d", len(nodes), cluster.MaxHosts)
		return a, nil
	}
	// The best order has the hosts that the network has as the first ones.
	tree, err := tii.Among(n.Router, orders[0].Hosts, n.Loop)
	if err != nil {
		a.Unclustered = fmt.Sprintf("switch clusters are not known: %v", err)
		return a, nil
	}
	a.cluster(tree)
	return a, nil
}

// nodesOf returns the node of each of sorted, which are hosts in another order: host
// of[i] is nodes[i].
func nodesOf(sorted, hosts []job.Host, nodes []topology.Node, of []int) []topology.Node {
	by := make(map[string]topology.Node, len(nodes))
	for i, node := range nodes {
		by[hosts[of[i]].Name] = node
	}
	out := make([]topology.Node, len(sorted))
	for i, h := range sorted {
		out[i] = topology.NoNode
		if node, ok := by[h.Name]; ok {
			out[i] = node
		}
	}
	return out
}

// Nodes returns the hosts of the network that a job's hosts are, of each its first
// adapter. The error names hosts that the network lacks, or that could be several of
// it.
func (n *Network) Nodes(hosts []job.Host) ([]topology.Node, error) {
	found, err := n.find(hosts)
	if err != nil {
		return nil, err
	}
	nodes, _ := found.First()
	if len(nodes) == len(hosts) {
		return nodes, nil
	}
	var lacking []job.Host
	for _, name := range found.Missing() {
		lacking = append(lacking, job.Host{Name: name})
	}
	return nil, fmt.Errorf("not in the network: %s; a map file can say which they are", hostlist.Fold(lacking))
}

// find finds a job's hosts among those of the network.
func (n *Network) find(hosts []job.Host) (*match.Result, error) {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return match.Hosts(n.Router.Graph(), names, n.Names)
}

// cluster numbers the clusters of the hosts, the first of which the tree has.
func (a *Arranged) cluster(tree *cluster.Tree) {
	levels := tree.Levels()
	a.Depth, a.Clusters = len(levels), make([][]int, len(a.Hosts))
	for i := range a.Hosts {
		a.Clusters[i] = make([]int, a.Depth)
	}
	for d, hops := range levels {
		first := map[int]int{} // position of its first host, by cluster
		for i := range a.Hosts {
			a.Clusters[i][d] = i
			if i >= tree.Hosts() {
				continue
			}
			c := tree.Within(i, hops)
			if _, ok := first[c]; !ok {
				first[c] = i
			}
			a.Clusters[i][d] = first[c]
		}
	}
}

// Order puts hosts into the best order that routing.Orders knows: host of[i] is node
// nodes[i] of the network, and the hosts that have no node are last, in the order
// given. A machine with several nodes has its place by the first of them in that
// order. The orders are all that competed, the best first.
func Order(r routing.Router, hosts []job.Host, nodes []topology.Node, of []int, seed uint64, loop topology.Loop) (sorted []job.Host, orders []routing.Order, err error) {
	if orders, err = routing.Orders(r, nodes, seed, loop); err != nil {
		return nil, nil, err
	}
	host := map[topology.Node]int{}
	present := make([]bool, len(hosts))
	for i, node := range nodes {
		host[node], present[of[i]] = of[i], true
	}
	seen := map[string]bool{}
	for _, node := range orders[0].Hosts {
		if h := hosts[host[node]]; !seen[h.Name] {
			seen[h.Name], sorted = true, append(sorted, h)
		}
	}
	for i, h := range hosts {
		if !present[i] {
			sorted = append(sorted, h)
		}
	}
	return sorted, orders, nil
}
