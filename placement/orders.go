package placement

import (
	"fmt"

	"github.com/golaunch/golaunch/placement/mapping"
	"github.com/golaunch/golaunch/topology"
)

// order numbers the ranks anew over the places that a rule has chosen.
type order struct {
	name string
	help string // for users, in a line
	// of is the order in which hosts, each with its number of places, are taken;
	// each says whether it is one place at a time.
	of      func(in *Input) ([]int, error)
	each    bool
	network bool // it needs one
}

// orders is the table of all that there are, in the order of help.
var orders = [...]order{
	{"slot", "one host after the other", inTheirOrder, false, false},
	{"node", "each host in turn", inTheirOrder, true, false},
	{mapping.Morton, "one host after the other, along Morton's curve through a torus or a mesh", alongCurve(mapping.Morton), false, true},
	{mapping.Hilbert, "the same along Hilbert's curve", alongCurve(mapping.Hilbert), false, true},
}

// Orders returns the name of every order of ranks, in the order of help.
func Orders() []string {
	var all []string
	for i := range orders {
		all = append(all, orders[i].name)
	}
	return all
}

// OrderHelp says in a line, to users, what an order of Orders is.
func OrderHelp(name string) string {
	if o := orderOf(name); o != nil {
		return o.help
	}
	return ""
}

func orderOf(name string) *order {
	for i := range orders {
		if orders[i].name == name {
			return &orders[i]
		}
	}
	return nil
}

// number returns the host of each rank, of as many ranks on each host as hosts has.
func (o *order) number(in *Input, hosts []int) ([]int, error) {
	sequence, err := o.of(in)
	if err != nil {
		return nil, fmt.Errorf("--rank-by %s: %w", o.name, err)
	}
	left := make([]int, len(in.Hosts))
	for _, h := range hosts {
		left[h]++
	}
	out := make([]int, 0, len(hosts))
	for len(out) < len(hosts) {
		for _, h := range sequence {
			for left[h] > 0 {
				out = append(out, h)
				if left[h]--; o.each {
					break
				}
			}
		}
	}
	return out, nil
}

// inTheirOrder is the order of hosts as it is.
func inTheirOrder(in *Input) ([]int, error) {
	all := make([]int, len(in.Hosts))
	for i := range all {
		all[i] = i
	}
	return all, nil
}

// alongCurve is the order along a curve; hosts that the network lacks are last.
func alongCurve(curve string) func(*Input) ([]int, error) {
	return func(in *Input) ([]int, error) {
		if in.Network == nil {
			return nil, errNoNetwork
		}
		var nodes []topology.Node
		var of, lacking []int
		for i, n := range in.Network.Nodes {
			if n == topology.NoNode {
				lacking = append(lacking, i)
			} else {
				nodes, of = append(nodes, n), append(of, i)
			}
		}
		sorted, err := mapping.Along(curve, in.Network.Router.Graph(), nodes)
		if err != nil {
			return nil, err
		}
		out := make([]int, 0, len(in.Hosts))
		for _, i := range sorted {
			out = append(out, of[i])
		}
		return append(out, lacking...), nil
	}
}
