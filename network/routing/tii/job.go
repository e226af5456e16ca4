package tii

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
)

// Job is the network as the hosts of a job see it. It is immutable.
type Job struct {
	network *Network
	ranks   []topology.Node // host of each rank
	hosts   []topology.Node // each once, in the order of the ranks
}

// Job returns the job whose ranks are on these hosts; several may be on one.
func (n *Network) Job(ranks []topology.Node) (*Job, error) {
	j := &Job{network: n, ranks: ranks}
	seen := map[topology.Node]bool{}
	for rank, host := range ranks {
		if host < 0 || !n.graph.IsHost(host) {
			return nil, fmt.Errorf("rank %d: the network has no host %d", rank, host)
		}
		if !seen[host] {
			seen[host] = true
			j.hosts = append(j.hosts, host)
		}
	}
	return j, nil
}

// Hosts returns the hosts of the job, in the order of its ranks.
func (j *Job) Hosts() []topology.Node { return slices.Clone(j.hosts) }

// Clusters is in how many switch clusters the job is at a depth from 1
// (tii_num_switch_clusters_at_depth).
func (j *Job) Clusters(depth int) int {
	seen := map[int]bool{}
	for _, host := range j.hosts {
		seen[j.network.tree.Of(int(host), depth)] = true
	}
	return len(seen)
}

// Cluster returns the identity of the switch cluster that a rank is in at a depth from
// 1 (tii_connected_switch_cluster_at_depth): the same number, not negative, for
// all ranks in it, and for no others, at this depth. MPI_Comm_split takes it for
// a color.
func (j *Job) Cluster(rank, depth int) int {
	return j.network.tree.Of(int(j.ranks[rank]), depth)
}

// Paths has the routes of all pairs of a job's hosts, which are numbered as in
// Hosts.
type Paths struct {
	job  *Job
	bulk []*bulk // by destination
}

// Paths asks for the routes of all pairs of hosts, with one bulk query for each
// host, which loop carries out (tii_get_network_path_matrix).
func (j *Job) Paths(loop topology.Loop) *Paths {
	p := &Paths{job: j, bulk: make([]*bulk, len(j.hosts))}
	loop(len(j.hosts), func(i int) {
		p.bulk[i], _ = j.network.ask(j.hosts[i], j.hosts) // Problems has the errors
	})
	return p
}

// Hops returns the switches on the route from host a to host b: 0 from a host to
// itself, cluster.Unreachable if there is no route.
func (p *Paths) Hops(a, b int) uint8 { return p.bulk[b].hopsFrom(p.job.network.routes, p.job.hosts[a]) }

// SharingLinks returns the hosts, in order, that share a link just above their leaf
// switch with another of the job: messages of the job to both come down by the
// same link to their leaf switch (tii_get_hosts_sharing_links).
func (j *Job) SharingLinks(loop topology.Loop) []topology.Node {
	links := make([][]topology.Link, len(j.hosts))
	loop(len(j.hosts), func(i int) {
		b, _ := j.network.ask(j.hosts[i], j.hosts)
		for s, hops := range b.hops {
			if hops == 2 {
				links[i] = append(links[i], b.next[s])
			}
		}
	})
	hosts := map[topology.Link]int{}
	for _, list := range links {
		for _, l := range list {
			hosts[l]++
		}
	}
	var sharing []topology.Node
	for i, list := range links {
		if slices.ContainsFunc(list, func(l topology.Link) bool { return hosts[l] > 1 }) {
			sharing = append(sharing, j.hosts[i])
		}
	}
	return sharing
}

// Leaves returns the hosts of the job on each leaf switch, in the order of the
// switches' first hosts. Hosts without a switch are in none.
func (j *Job) Leaves() [][]topology.Node {
	var leaves [][]topology.Node
	number := map[topology.Node]int{}
	for _, host := range j.hosts {
		leaf := j.network.graph.Leaf(host)
		if leaf == topology.NoNode {
			continue
		}
		i, ok := number[leaf]
		if !ok {
			i = len(leaves)
			number[leaf], leaves = i, append(leaves, nil)
		}
		leaves[i] = append(leaves[i], host)
	}
	return leaves
}

// HostsPerLeaf returns the mean number of the job's hosts on the leaf switches that it
// is on, 0 if there are none (tii_get_avg_hosts_per_leaf_switch).
func (j *Job) HostsPerLeaf() float64 {
	leaves := j.Leaves()
	if len(leaves) == 0 {
		return 0
	}
	hosts := 0
	for _, list := range leaves {
		hosts += len(list)
	}
	return float64(hosts) / float64(len(leaves))
}

// Balance measures how unevenly the job's hosts are on leaf switches: of the switch
// farthest from the mean, its hosts over the mean [Subramoni 6].
func (j *Job) Balance() float64 { return topology.Balance(j.network.graph, j.hosts) }
