package tii

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
)

// routes answers bulk queries.
type routes struct {
	graph  *topology.Graph
	router routing.ByDestination
	leaf   []int32 // of a host with one cable, to a switch: that; else -1
}

func newRoutes(r routing.ByDestination) *routes {
	g := r.Graph()
	n := &routes{graph: g, router: r, leaf: make([]int32, g.Hosts())}
	for host := range g.AllHosts() {
		n.leaf[host] = -1
		if leaf := g.OnlyLeaf(host); leaf != topology.NoNode {
			n.leaf[host] = int32(g.SwitchIndex(leaf))
		}
	}
	return n
}

// bulk is the answer to a bulk query: the routes of many hosts to one. All of
// them together are a tree, of which each switch is looked at once.
type bulk struct {
	to   topology.Node
	next []topology.Link // of each switch that is on a route
	hops []uint8         // switches from there on; 0 for one that is on none
}

// ask makes a bulk query. The error tells of a switch that forwards in a circle or
// nowhere; the hosts before it do not reach the host, but others may.
func (n *routes) ask(to topology.Node, from []topology.Node) (*bulk, error) {
	b := &bulk{to: to, next: make([]topology.Link, n.graph.Switches()), hops: make([]uint8, n.graph.Switches())}
	var err error
	for _, host := range from {
		if host == to {
			continue
		}
		if s, ok := n.first(host, to); ok {
			if problem := n.walk(b, s); err == nil {
				err = problem
			}
		}
	}
	return b, err
}

// first returns the first switch on the route of a host; false if there is none. A
// host with one cable has no choice.
func (n *routes) first(host, to topology.Node) (s int, ok bool) {
	if s := n.leaf[host]; s >= 0 {
		return int(s), true
	}
	step, ok := n.router.Next(host, to)
	if !ok {
		return 0, false
	}
	s = n.graph.SwitchIndex(n.graph.To(step.Link).Node)
	return s, s >= 0
}

// walk follows the route from a switch on until it is known.
func (n *routes) walk(b *bulk, s int) (err error) {
	var path []int
	hops := cluster.Unreachable
	for {
		if b.hops[s] > 0 {
			hops = b.hops[s]
			break
		}
		if len(path) == n.graph.Switches() {
			err = &CircleError{To: n.graph.Name(b.to), Switches: n.circle(b, s)}
			break
		}
		path = append(path, s)
		step, ok := n.router.Next(n.graph.Switch(s), b.to)
		if !ok {
			err = fmt.Errorf("switch %s forwards nothing for %s", n.graph.Name(n.graph.Switch(s)), n.graph.Name(b.to))
			break
		}
		b.next[s] = step.Link
		peer := n.graph.To(step.Link).Node
		if peer == b.to {
			hops = 0
			break
		}
		if s = n.graph.SwitchIndex(peer); s < 0 {
			err = fmt.Errorf("switch %s forwards messages for %s to host %s",
				n.graph.Name(n.graph.From(step.Link).Node), n.graph.Name(b.to), n.graph.Name(peer))
			break
		}
	}
	for _, at := range slices.Backward(path) {
		if hops == cluster.Farthest && err == nil {
			err = fmt.Errorf("the route from switch %s to %s has more than %d switches",
				n.graph.Name(n.graph.Switch(at)), n.graph.Name(b.to), cluster.Farthest)
		}
		if hops < cluster.Unreachable {
			hops++
		}
		b.hops[at] = hops
	}
	return err
}

// circle names the switches of a circle on which s is, from the lowest.
func (n *routes) circle(b *bulk, s int) (names []string) {
	after := func(s int) int { return n.graph.SwitchIndex(n.graph.To(b.next[s]).Node) }
	lowest := s
	for at := after(s); at != s; at = after(at) {
		lowest = min(lowest, at)
	}
	for at := lowest; at != lowest || names == nil; at = after(at) {
		names = append(names, n.graph.Name(n.graph.Switch(at)))
	}
	return names
}

// CircleError says that switches forward messages for a host in a circle.
type CircleError struct {
	To       string   // the host
	Switches []string // each forwards to the next, the last to the first
}

// Error names the first switches of the circle.
func (e *CircleError) Error() string {
	const most = 8
	shown := e.Switches
	more := ""
	if len(shown) > most {
		shown, more = shown[:most], fmt.Sprintf(" and %d more", len(shown)-most)
	}
	return fmt.Sprintf("messages for %s go in a circle: %s%s", e.To, strings.Join(shown, ", "), more)
}

// hopsFrom returns the hops from a host, Unreachable if there is no route.
func (b *bulk) hopsFrom(n *routes, host topology.Node) uint8 {
	if host == b.to {
		return 0
	}
	if s, ok := n.first(host, b.to); ok {
		return b.hops[s]
	}
	if step, ok := n.router.Next(host, b.to); ok && n.graph.To(step.Link).Node == b.to {
		return 0 // a cable from host to host
	}
	return cluster.Unreachable
}
