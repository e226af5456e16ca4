package placement

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/topology"
)

// rankOrder numbers the ranks anew over the places that a rule has chosen.
type rankOrder struct {
	name string
	help string // for users, in a line
	// of is the order in which hosts, each with its number of places, are taken;
	// each is the number of places at a time, 0 for all.
	of      func(in *Input) ([]int, error)
	each    int
	network bool // it needs one
}

// orders is the table of all that there are, in the order of help.
var orders = [...]rankOrder{
	{name: "slot", help: "one host after the other", of: inTheirOrder},
	{name: "node", help: "each host in turn", of: inTheirOrder, each: 1},
	{name: mapping.Morton, help: "one host after the other, along Morton's curve through a torus or a mesh", of: alongCurve(mapping.Morton), network: true},
	{name: mapping.Hilbert, help: "the same along Hilbert's curve", of: alongCurve(mapping.Hilbert), network: true},
}

// Plane begins the name of the order by which each host takes so many ranks in turn: plane:2.
const Plane = "plane:"

// IsOrder reports whether a word is an order: one of Orders, or Plane and a number.
func IsOrder(word string) bool { return orderOf(word) != nil }

// Orders returns the name of every order of ranks, in the order of help.
func Orders() []string {
	var all []string
	for i := range orders {
		all = append(all, orders[i].name)
	}
	return all
}

// OrderHelp describes an order of Orders to users, in a line.
func OrderHelp(name string) string {
	if o := orderOf(name); o != nil {
		return o.help
	}
	return ""
}

func orderOf(name string) *rankOrder {
	if size, ok := strings.CutPrefix(name, Plane); ok {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return nil
		}
		return &rankOrder{name: name, of: inTheirOrder, each: n}
	}
	for i := range orders {
		if orders[i].name == name {
			return &orders[i]
		}
	}
	return nil
}

// number returns the host of each rank, of as many ranks on each host as hosts has.
func (o *rankOrder) number(in *Input, hosts []int) ([]int, error) {
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
			for n := 0; left[h] > 0 && (o.each == 0 || n < o.each); n++ {
				out = append(out, h)
				left[h]--
			}
		}
	}
	return out, nil
}

// inTheirOrder returns the order of hosts as it is.
func inTheirOrder(in *Input) ([]int, error) {
	all := make([]int, len(in.Hosts))
	for i := range all {
		all[i] = i
	}
	return all, nil
}

// alongCurve returns the order along a curve; hosts that the network lacks are last.
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
