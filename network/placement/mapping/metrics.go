package mapping

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Map is the place of each rank.
type Map []int32

// Identity returns the default order: rank i at place i.
func Identity(ranks int) Map {
	m := make(Map, ranks)
	for r := range m {
		m[r] = int32(r)
	}
	return m
}

// Check refuses a map that does not give each rank of n a place of its own.
func (m Map) Check(n int) error {
	if len(m) != n {
		return fmt.Errorf("a map of %d ranks: expected %d", len(m), n)
	}
	taken := make([]bool, n)
	for r, p := range m {
		if p < 0 || int(p) >= n || taken[p] {
			return fmt.Errorf("rank %d is at place %d, which is none, or taken", r, p)
		}
		taken[p] = true
	}
	return nil
}

// HopBytes returns the sum over all edges, each once, of weight times distance, in the
// graph's unit times the target's. It is exact up to 2^53.
func HopBytes(g *commgraph.Graph, t *Target, m Map) float64 {
	sum := 0.0
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			if p > r {
				sum += float64(float64(weights[i]) * float64(t.Distance(m[r], m[p]))) // rounded alike on all machines
			}
		}
	}
	return sum
}

// Volume adds up the messages between ranks that have a distance, or a level of the
// network, in common. Edges and weight count each edge once.
type Volume struct {
	Name   string // of the level, such as "host"; that of a distance is its number and unit
	Edges  int
	Weight int64
}

// Histogram returns the volume of each distance that edges have, the least first.
func Histogram(g *commgraph.Graph, t *Target, m Map) []Volume {
	at := map[int32]*Volume{}
	var list []int32
	each(g, func(a, b int32, weight int64) {
		d := t.Distance(m[a], m[b])
		v := at[d]
		if v == nil {
			v = &Volume{Name: t.unit.count(d)}
			at[d], list = v, append(list, d)
		}
		v.Edges++
		v.Weight += weight
	})
	slices.Sort(list)
	var out []Volume
	for _, d := range list {
		out = append(out, *at[d])
	}
	return out
}

// Levels returns the volume of each level of the target, the widest first: of edges
// whose ranks are together there, and at no narrower level. The first is
// "network", that of ranks that are together at no level.
func Levels(g *commgraph.Graph, t *Target, m Map) []Volume {
	out := []Volume{{Name: "network"}}
	for _, l := range t.levels {
		out = append(out, Volume{Name: l.name})
	}
	each(g, func(a, b int32, weight int64) {
		v := &out[t.common(m[a], m[b])]
		v.Edges++
		v.Weight += weight
	})
	return out
}

// common returns the number of levels at which two places are together.
func (t *Target) common(a, b int32) int {
	for i := len(t.levels) - 1; i >= 0; i-- {
		if t.levels[i].group[a] == t.levels[i].group[b] {
			return i + 1
		}
	}
	return 0
}

// each calls do with each edge, once.
func each(g *commgraph.Graph, do func(a, b int32, weight int64)) {
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			if p > r {
				do(r, p, weights[i])
			}
		}
	}
}

// MaxLoad returns the weight on the directed link that has most, where half of each
// edge goes either way, by the routes of r. The error is that of a pair without a
// route.
func MaxLoad(g *commgraph.Graph, r routing.Router, t *Target, m Map) (float64, error) {
	order := make([]topology.Node, len(m))
	for rank, place := range m {
		order[rank] = t.hosts[place]
	}
	network, err := netsim.New(r, order)
	if err != nil {
		return 0, err
	}
	load := netsim.NewLoad(network)
	each(g, func(a, b int32, weight int64) {
		if err == nil {
			err = load.Add([]netsim.Message{{From: a, To: b, Size: weight}, {From: b, To: a, Size: weight}})
		}
	})
	return float64(load.Max()) / 2, err
}
