package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// refineSteps bounds the refinement of a job's maps: well below a second.
const refineSteps = mapping.Steps / 3

// seed decides on random choices in maps.
const seed = 1

// Mapped reports a mapping of ranks by their messages.
type Mapped struct {
	Name    string // of the candidate that won, such as "bisection, refined"
	Unit    string // of distances
	Figures []Figure
}

// Figure is a metric of the map, and of the default order on the same hosts.
type Figure struct {
	Name         string
	Default, Map float64
}

// mapRanks returns the host of each rank, given those of the default order. It notes
// obstacles, with the choice made instead.
func (p *Placed) mapRanks(w *Wish, in *Input, hosts []int) []int {
	switch n := len(hosts); {
	case w.Graph == nil:
		p.note("it is not known what ranks send each other: all count as alike, and follow the order of hosts; --map-by comm:GRAPH names a communication graph")
		return hosts
	case w.Graph.Ranks() != n:
		p.note("communication graph %s has %s, the job %d: all ranks count as alike, and follow the order of hosts",
			w.Graph.From, plural(w.Graph.Ranks(), "rank"), n)
		return hosts
	}
	used := slices.Compact(slices.Sorted(slices.Values(hosts)))
	if len(used) < 2 {
		return hosts // one host is as good as any
	}
	if w.Graph.Uniform() {
		p.note("communication graph %s: all ranks send each other the same, so that no order is better than that of hosts, which they follow", w.Graph.From)
		return hosts
	}
	router, nodes, err := in.network(used)
	if err == nil {
		var mapped []int
		if mapped, err = p.mapOn(w, router, nodes, hosts); err == nil {
			return mapped
		}
		err = fmt.Errorf("network %s: %w", in.Network.From, err)
	}
	router, nodes, flatErr := flat(used, len(in.Hosts))
	if flatErr == nil {
		var mapped []int
		if mapped, flatErr = p.mapOn(w, router, nodes, hosts); flatErr == nil {
			p.note("%v: all hosts count as equally far from each other", err)
			return mapped
		}
	}
	p.note("%v: ranks follow the order of hosts", flatErr)
	return hosts
}

func (p *Placed) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// mapOn maps the ranks of places on some hosts by a network, in which nodes has the
// node of each host.
func (p *Placed) mapOn(w *Wish, router routing.Router, nodes []topology.Node, hosts []int) ([]int, error) {
	places := make([]topology.Node, len(hosts))
	for i, h := range hosts {
		places[i] = nodes[h]
	}
	target, err := mapping.OnNetwork(router, places, mapping.Links)
	if err != nil {
		return nil, err
	}
	g := w.Graph.Graph
	out, err := mapping.Choose(g, target, mapping.Options{Seed: seed, Steps: refineSteps, Metric: w.Metric, Router: router})
	if err != nil {
		return nil, err
	}
	m := &Mapped{Name: out.Name, Unit: target.Unit().String()}
	m.add("hop-bytes", out.Default, out.HopBytes)
	identity := mapping.Identity(len(hosts))
	before, err := mapping.MaxLoad(g, router, target, identity)
	if err != nil {
		return nil, err
	}
	after, err := mapping.MaxLoad(g, router, target, out.Map)
	if err != nil {
		return nil, err
	}
	m.add("max-load", before, after)
	old := mapping.Levels(g, target, identity)
	for i, v := range mapping.Levels(g, target, out.Map) {
		name := "within " + strings.TrimPrefix(v.Name, "within ")
		if i == 0 {
			name = "across the network"
		}
		m.add(name, float64(old[i].Weight), float64(v.Weight))
	}
	p.Mapped = m
	mapped := make([]int, len(hosts))
	for rank, place := range out.Map {
		mapped[rank] = hosts[place]
	}
	return mapped, nil
}

func (m *Mapped) add(name string, before, after float64) {
	m.Figures = append(m.Figures, Figure{name, before, after})
}

// network is that between some hosts. The error says that it is not known, or which
// hosts it lacks.
func (in *Input) network(some []int) (routing.Router, []topology.Node, error) {
	if in.Network == nil {
		return nil, nil, errors.New("no network is known (--topology names it)")
	}
	var lacking []int
	for _, h := range some {
		if in.Network.Nodes[h] == topology.NoNode {
			lacking = append(lacking, h)
		}
	}
	if len(lacking) > 0 {
		return nil, nil, fmt.Errorf("network %s lacks %s", in.Network.From, fold(in, lacking))
	}
	return in.Network.Router, in.Network.Nodes, nil
}

// flat returns a network in which some of so many hosts are below one switch.
func flat(some []int, hosts int) (routing.Router, []topology.Node, error) {
	b, err := topology.NewBuilder(len(some), 1)
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]topology.Node, hosts)
	for i, h := range some {
		nodes[h] = topology.Node(i)
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(i), Port: 1}, B: topology.End{Node: b.Switch(0), Port: int32(i + 1)}})
	}
	g, err := b.Build()
	if err != nil {
		return nil, nil, err
	}
	router, err := routing.NewUpDown(g, topology.Serial)
	return router, nodes, err
}
