package placement

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// nodeRule deals ranks out: one to each host that has room, and again.
type nodeRule struct{}

func (nodeRule) Place(in *Input) ([]Run, error) {
	each := make([][]int, len(in.Hosts))
	for i := range each {
		each[i] = []int{i}
	}
	return deal(in, each)
}

// leafRule deals ranks out: one below each leaf switch that has room, and again. Below
// a switch it fills one host after the other.
type leafRule struct{}

func (leafRule) Place(in *Input) ([]Run, error) {
	if in.Network == nil {
		return nil, fmt.Errorf("--map-by %s: %w", Switch, errNoNetwork)
	}
	groups, _ := in.leaves()
	return deal(in, groups)
}

// deal deals ranks out to groups of hosts.
func deal(in *Input, groups [][]int) ([]Run, error) {
	room, n, err := in.room()
	if err != nil {
		return nil, err
	}
	hosts := make([]int, 0, n)
	for len(hosts) < n {
		for g, group := range groups {
			for len(group) > 0 && room[group[0]] == 0 {
				group = group[1:]
			}
			if groups[g] = group; len(group) > 0 && len(hosts) < n {
				room[group[0]]--
				hosts = append(hosts, group[0])
			}
		}
	}
	return Fold(hosts), nil
}

// leaves returns the hosts below each leaf switch, the switches as they first come. A
// host that the network lacks, or that has several switches, is alone. nodes counts
// those that have a switch.
func (in *Input) leaves() (groups [][]int, nodes int) {
	g := in.Network.Router.Graph()
	group := map[topology.Node]int{}
	for i, n := range in.Network.Nodes {
		leaf := topology.NoNode
		if n != topology.NoNode {
			leaf = g.OnlyLeaf(n)
		}
		k, ok := group[leaf]
		if leaf == topology.NoNode || !ok {
			k = len(groups)
			groups = append(groups, nil)
		}
		if leaf != topology.NoNode {
			group[leaf] = k
			nodes++
		}
		groups[k] = append(groups[k], i)
	}
	return groups, nodes
}

// errNoNetwork says that a rule, or an order, needs to know the network.
var errNoNetwork = errors.New("it is not known which host is below which switch; name the network with --topology")
