package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/match"
)

// Network tells the distance of messages.
type Network struct {
	From   string // file or word
	Router routing.Router
	Names  match.Map // the user's word for its hosts
}

// The classes of distance, whose colors [Subramoni 7.3] prescribes: red within a node, green, blue, pink and cyan for 1,
// 3, 5 and 7 hops. Networks that are no fat trees have the numbers between, too.
const (
	withinNode = iota
	hop1
	hops3
	hops5
	hops7
	hopsMore
	unknownHops // between nodes
	numClasses
)

var classKeys = [numClasses]string{"node", "h1", "h3", "h5", "h7", "more", "unknown"}

// classOf returns the class of a number of hops.
func classOf(hops int) uint8 {
	switch {
	case hops <= 1:
		return hop1
	case hops <= 3:
		return hops3
	case hops <= 5:
		return hops5
	case hops <= 7:
		return hops7
	}
	return hopsMore
}

// distances are the classes of pairs of nodes.
type distances struct {
	net   *Network
	at    []topology.Node // of each node; NoNode where the network lacks it
	known map[uint64]uint8
	seen  [numClasses]map[int]bool // hops that there are
	route []routing.Step
}

// newDistances looks for hosts in the network. Missing lists those that it lacks.
func newDistances(net *Network, hosts []string) (d *distances, missing []string, err error) {
	d = &distances{net: net, known: map[uint64]uint8{}, at: slices.Repeat([]topology.Node{topology.NoNode}, len(hosts))}
	for i := range d.seen {
		d.seen[i] = map[int]bool{}
	}
	if net == nil {
		return d, nil, nil
	}
	found, err := match.Hosts(net.Router.Graph(), hosts, net.Names)
	if err != nil {
		return nil, nil, err
	}
	nodes, of := found.First()
	for i, node := range nodes {
		d.at[of[i]] = node
	}
	return d, found.Missing(), nil
}

// class returns the class of messages from node a to node b.
func (d *distances) class(a, b int32) (uint8, error) {
	if a == b {
		d.seen[withinNode][0] = true
		return withinNode, nil
	}
	key := uint64(a)<<32 | uint64(b)
	if c, ok := d.known[key]; ok {
		return c, nil
	}
	c := uint8(unknownHops)
	if x, y := d.at[a], d.at[b]; x != topology.NoNode && y != topology.NoNode {
		var err error
		if d.route, err = d.net.Router.Append(d.route[:0], x, y); err != nil {
			return 0, fmt.Errorf("%s: %w", d.net.From, err)
		}
		hops := routing.Hops(d.route)
		c = classOf(hops)
		d.seen[c][hops] = true
	} else {
		d.seen[c][0] = true
	}
	d.known[key] = c
	return c, nil
}

// label names a class by the hops seen in it.
func label(class int, seen map[int]bool) string {
	switch class {
	case withinNode:
		return "within a node"
	case unknownHops:
		return "between nodes, hops unknown"
	}
	var hops []int
	for h := range seen {
		hops = append(hops, h)
	}
	slices.Sort(hops)
	if class == hopsMore && len(hops) > 2 {
		return fmt.Sprintf("%d to %d hops", hops[0], hops[len(hops)-1])
	}
	var words []string
	for _, h := range hops {
		words = append(words, fmt.Sprint(h))
	}
	text := strings.Join(words, " or ") + " hop"
	if !slices.Equal(hops, []int{1}) {
		text += "s"
	}
	return text
}
