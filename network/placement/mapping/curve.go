package mapping

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
)

// Names of space-filling curves.
const (
	Morton  = "morton"
	Hilbert = "hilbert"
)

// Along returns the order of hosts along a space-filling curve, Morton or Hilbert,
// through their network: positions in hosts. The network is a torus or a mesh; the
// error says that it is none.
func Along(curve string, g *topology.Graph, hosts []topology.Node) ([]int32, error) {
	torus, ok := g.Family().(*topology.Torus)
	if !ok {
		return nil, fmt.Errorf("hosts of %s have no coordinates: expected a torus or a mesh", familyOf(g))
	}
	at := make([][]int, len(hosts))
	for i, h := range hosts {
		if h < 0 || int(h) >= g.Hosts() {
			return nil, fmt.Errorf("node %d is no host of the network", h)
		}
		if g.OnlyLeaf(h) == topology.NoNode {
			return nil, fmt.Errorf("host %s has no coordinates: it is not cabled to one switch", g.Name(h))
		}
		at[i] = coordinates(torus, g, h)
	}
	key := morton
	if curve == Hilbert {
		key = hilbert
	}
	return along(at, key), nil
}

func familyOf(g *topology.Graph) string {
	if g.Family() == nil {
		return "an irregular network"
	}
	return g.Family().String()
}

// coordinates returns those of a host's switch.
func coordinates(torus *topology.Torus, g *topology.Graph, host topology.Node) []int {
	at := make([]int, len(torus.Dims))
	for d := range at {
		at[d] = torus.Coordinate(g.Leaf(host), d)
	}
	return at
}

// curves places ranks along a space-filling curve through their grid: in the order
// of the places, and on a torus also along the same curve through the hosts.
type curves struct{}

func (curves) maps(p *problem) ([]named, error) {
	var out []named
	for _, curve := range []struct {
		name string
		key  func(at []int, bits int) uint64
	}{{"Morton", morton}, {"Hilbert", hilbert}} {
		places := Identity(p.ranks())
		if p.target.torus != nil {
			at := make([][]int, p.ranks())
			for place, host := range p.target.host {
				at[place] = p.target.at[host]
			}
			places = along(at, curve.key)
			out = append(out, named{curve.name + " of hosts", pair(Identity(p.ranks()), places)})
		}
		if p.grid == nil {
			continue
		}
		ranks := along(gridPlaces(p.grid), curve.key)
		out = append(out, named{curve.name, pair(ranks, Identity(p.ranks()))})
		if p.target.torus != nil {
			out = append(out, named{curve.name + " of both", pair(ranks, places)})
		}
	}
	return out, nil
}

// pair gives the i-th rank the i-th place.
func pair(ranks, places []int32) Map {
	m := make(Map, len(ranks))
	for i, r := range ranks {
		m[r] = places[i]
	}
	return m
}

// along returns the order of points along a curve.
func along(at [][]int, key func(at []int, bits int) uint64) []int32 {
	most := 0
	for _, x := range at {
		most = max(most, slices.Max(x))
	}
	bits := 1
	for most>>bits > 0 {
		bits++
	}
	if bits*len(at[0]) > 64 {
		bits = 64 / len(at[0])
	}
	keys := make([]uint64, len(at))
	for i, x := range at {
		keys[i] = key(x, bits)
	}
	order := Identity(len(at))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// morton interleaves the bits of the coordinates.
func morton(at []int, bits int) uint64 {
	var key uint64
	for b := bits - 1; b >= 0; b-- {
		for _, x := range at {
			key = key<<1 | uint64(x>>b)&1
		}
	}
	return key
}

// hilbert returns the place of a point on Hilbert's curve [Skilling].
func hilbert(at []int, bits int) uint64 {
	x := slices.Clone(at)
	for q := 1 << (bits - 1); q > 1; q >>= 1 {
		low := q - 1
		for i := range x {
			if x[i]&q != 0 {
				x[0] ^= low
			} else {
				t := (x[0] ^ x[i]) & low
				x[0] ^= t
				x[i] ^= t
			}
		}
	}
	for i := 1; i < len(x); i++ {
		x[i] ^= x[i-1]
	}
	t := 0
	for q := 1 << (bits - 1); q > 1; q >>= 1 {
		if x[len(x)-1]&q != 0 {
			t ^= q - 1
		}
	}
	for i := range x {
		x[i] ^= t
	}
	return morton(x, bits)
}
