package tii

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
)

// Network has the routes of a network, and the clusters of its hosts. It is immutable;
// methods may be called from anywhere at once.
type Network struct {
	*routes
	tree        *cluster.Tree
	fingerprint uint64
	problems    []error
}

// maxProblems bounds the problems that are told of.
const maxProblems = 8

// firstProblems returns the first problems.
func firstProblems(errs []error) (problems []error) {
	for _, err := range errs {
		if err != nil && len(problems) < maxProblems {
			problems = append(problems, err)
		}
	}
	return problems
}

// Discover asks for the routes of all hosts, with one bulk query for each host,
// which loop carries out, and clusters the hosts.
func Discover(r routing.ByDestination, loop topology.Loop) (*Network, error) {
	g := r.Graph()
	n := &Network{routes: newRoutes(r)}
	hosts := slices.Collect(g.AllHosts())
	several := slices.DeleteFunc(slices.Clone(hosts), func(host topology.Node) bool { return n.leaf[host] >= 0 })
	errs, hashes := make([]error, len(hosts)), make([]uint64, len(hosts))
	d, err := cluster.Measure(len(hosts), func(i int, hops []uint8) {
		b, err := n.ask(hosts[i], hosts)
		errs[i], hashes[i] = err, n.hash(b, several)
		for k, host := range hosts {
			hops[k] = b.hopsFrom(n.routes, host)
		}
	}, loop)
	if err != nil {
		return nil, err
	}
	n.problems = firstProblems(errs)
	sum := fnv.New64a()
	_ = binary.Write(sum, binary.LittleEndian, hashes) // never fails
	_ = binary.Write(sum, binary.LittleEndian, n.hashLeaves())
	_ = binary.Write(sum, binary.LittleEndian, int64(g.Cables()))
	for node := range topology.Node(g.Nodes()) {
		fmt.Fprintf(sum, "%q %x ", g.Name(node), g.Info(node).GUID)
	}
	n.fingerprint = sum.Sum64()
	n.tree = cluster.Join(d)
	return n, nil
}

// Among clusters some hosts, each given once, by the routes between them, with one
// bulk query for each, which loop carries out. Hosts have their positions in the
// tree. The other hosts of the network cost nothing: Discover takes them all.
func Among(r routing.ByDestination, hosts []topology.Node, loop topology.Loop) (*cluster.Tree, error) {
	n := newRoutes(r)
	d, err := cluster.Measure(len(hosts), func(i int, hops []uint8) {
		b, _ := n.ask(hosts[i], hosts) // hosts without a route are in no cluster
		for k, host := range hosts {
			hops[k] = b.hopsFrom(n, host)
		}
	}, loop)
	if err != nil {
		return nil, err
	}
	return cluster.Join(d), nil
}

// hash returns a hash of the routes to one host, but for the first steps of hosts with
// one cable, which are the same to all (hashLeaves).
func (n *Network) hash(b *bulk, several []topology.Node) uint64 {
	sum := uint64(hashBegin)
	add := func(at int, l topology.Link) {
		to := n.graph.To(l)
		sum = mix(sum, uint64(at)<<32|uint64(uint32(to.Node)))
		sum = mix(sum, uint64(uint32(to.Port)))
	}
	for s, hops := range b.hops {
		if hops > 0 && hops != cluster.Unreachable {
			add(s, b.next[s])
		}
	}
	for _, host := range several {
		if step, ok := n.router.Next(host, b.to); ok {
			add(int(host), step.Link)
		}
	}
	return sum
}

// hashLeaves returns a hash of which switches the hosts with one cable are on.
func (n *Network) hashLeaves() uint64 {
	sum := uint64(hashBegin)
	for _, s := range n.leaf {
		sum = mix(sum, uint64(s))
	}
	return sum
}

const hashBegin = 14695981039346656037

// mix puts a word into a hash (FNV-1a by words).
func mix(sum, word uint64) uint64 {
	sum = (sum ^ word) * 1099511628211
	return sum ^ sum>>29
}

// Graph returns the network itself.
func (n *Network) Graph() *topology.Graph { return n.graph }

// Tree returns the clusters of all hosts.
func (n *Network) Tree() *cluster.Tree { return n.tree }

// Depth returns the depth of the tree, the levels of switches that the network has
// (tii_get_network_depth).
func (n *Network) Depth() int { return n.tree.Depth() }

// Fingerprint changes if names, the number of cables or the route of any pair do:
// with what a service answers.
func (n *Network) Fingerprint() uint64 { return n.fingerprint }

// Problems returns the first few errors of the routes: hosts that a switch does not
// forward to, and circles. Hosts without a cable are no problem.
func (n *Network) Problems() []error { return n.problems }

// Route returns the steps of a route in order, none if both hosts are one. The error
// says which node has no way on, as routing.Walk does.
func (n *Network) Route(from, to topology.Node) ([]routing.Step, error) {
	steps, err := routing.Walk(n.router, nil, from, to)
	if err != nil {
		return nil, fmt.Errorf("no route from %w", err)
	}
	return steps, nil
}
