package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
)

// Step is a link of a route and the virtual lane (virtual channel) that the
// message has there, from 0.
type Step struct {
	Link topology.Link
	Lane uint8
}

// Router gives routes. It is immutable; its methods may be called from anywhere
// at once.
type Router interface {
	// Graph is the network.
	Graph() *topology.Graph
	// String names the rule, such as "d-mod-k".
	String() string
	// Lanes is the number of virtual lanes that routes use.
	Lanes() int
	// Append appends the route between two hosts to steps: Links of them, none if
	// src is dst. The error says which node has no way on.
	Append(steps []Step, src, dst topology.Node) ([]Step, error)
}

// ByDestination is a Router that forwards by the destination alone, as tables in
// switches do.
type ByDestination interface {
	Router
	// Next is the step from a node toward a host, false if there is none.
	Next(at, dst topology.Node) (Step, bool)
}

// Hops returns the number of switches on a route.
func Hops(route []Step) int { return max(0, len(route)-1) }

// Links returns the number of links on a route.
func Links(route []Step) int { return len(route) }

// Walk appends the route between two hosts that r.Next makes, step by step. The
// error says which node has no way on, or where the route ends or goes in a circle.
func Walk(r ByDestination, steps []Step, src, dst topology.Node) ([]Step, error) {
	g, first := r.Graph(), len(steps)
	for at := src; at != dst; {
		s, ok := r.Next(at, dst)
		if !ok {
			return steps, noRoute(g, src, dst, at)
		}
		steps = append(steps, s)
		at = g.To(s.Link).Node
		if g.IsHost(at) && at != dst {
			return steps, fmt.Errorf("%s to %s: the route ends at %s, which is another host", g.Name(src), g.Name(dst), g.Name(at))
		}
		if len(steps)-first > g.Nodes() {
			return steps, fmt.Errorf("%s to %s: the route goes in a circle through %s", g.Name(src), g.Name(dst), g.Name(at))
		}
	}
	return steps, nil
}

func noRoute(g *topology.Graph, src, dst, at topology.Node) error {
	return fmt.Errorf("%s to %s: %s has no way on", g.Name(src), g.Name(dst), g.Name(at))
}

// New returns the router that suits a network: the closed form of its family where
// the network is whole enough for it, and else UpDown.
func New(g *topology.Graph, loop topology.Loop) (ByDestination, error) {
	switch g.Family().(type) {
	case *topology.FatTree:
		if r, err := NewDModK(g); err == nil {
			return r, nil
		}
	case *topology.Torus:
		if r, err := NewDimensionOrder(g); err == nil {
			return r, nil
		}
	case *topology.Dragonfly:
		if r, err := NewMinimal(g); err == nil {
			return r, nil
		}
	}
	return NewUpDown(g, loop)
}
