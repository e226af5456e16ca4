package levels

import (
	"errors"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/levels"
	"github.com/golaunch/golaunch/network/placement/partition"
)

// numa is LAMMPS's NUMA mapping [Sahoo 4.3]: each host has a box of the grid, of the
// shape that leaves the least volume between hosts; boxes are in the grid's order.
func numa(t *trial) ([]int32, error) {
	var best []int32
	least := 0.0
	for x := 1; x <= coresPerHost; x++ {
		for y := 1; y <= coresPerHost/x; y++ {
			box := []int{x, y, coresPerHost / x / y}
			if x*y*box[2] != coresPerHost || t.dims[0]%x+t.dims[1]%y+t.dims[2]%box[2] > 0 {
				continue
			}
			at := boxes(t.dims, box)
			mb := t.megabytes(at)
			if off := mb[0] + mb[1] + mb[2] + mb[3]; best == nil || off < least {
				best, least = at, off
			}
		}
	}
	if best == nil {
		return nil, errors.New("no box of 24 divides the grid")
	}
	return best, nil
}

// boxes numbers the ranks of a grid box by box.
func boxes(dims, box []int) []int32 {
	var at []int32
	for x := range dims[0] {
		for y := range dims[1] {
			for z := range dims[2] {
				number := (x/box[0]*(dims[1]/box[1])+y/box[1])*(dims[2]/box[2]) + z/box[2]
				within := (x%box[0]*box[1]+y%box[1])*box[2] + z%box[2]
				at = append(at, int32(number*coresPerHost+within))
			}
		}
	}
	return at
}

// hierTopoMap is as HierTopoMap does [Sahoo 2.2]: processes are joined to those of a
// host first; the graph of hosts is divided in equal parts, entity by entity, which are
// repaired where entities are of other sizes. A host's ranks are divided among its
// sockets at last.
func hierTopoMap(g *commgraph.Graph, m *levels.Machine) ([]int32, error) {
	hosts := m.Entities(3)
	host, err := partition.Parts(g, slices.Repeat([]int{coresPerHost}, hosts), partition.Options{})
	if err != nil {
		return nil, err
	}
	graph, err := quotient(g, host, hosts)
	if err != nil {
		return nil, err
	}
	all := make([]int32, hosts)
	for i := range all {
		all[i] = int32(i)
	}
	onto := make([]int32, hosts)
	if err := divideHosts(graph, m, 0, all, all, onto); err != nil {
		return nil, err
	}
	at := make([]int32, g.Ranks())
	for h := range int32(hosts) {
		var ranks []int32
		for r, x := range host {
			if x == h {
				ranks = append(ranks, int32(r))
			}
		}
		sub, err := g.Induced(ranks)
		if err != nil {
			return nil, err
		}
		socket, err := partition.Parts(sub, []int{coresPerHost / 2, coresPerHost / 2}, partition.Options{})
		if err != nil {
			return nil, err
		}
		next := [2]int32{onto[h] * coresPerHost, onto[h]*coresPerHost + coresPerHost/2}
		for i, r := range ranks {
			at[r] = next[socket[i]]
			next[socket[i]]++
		}
	}
	return at, nil
}

// quotient returns the graph of parts.
func quotient(g *commgraph.Graph, part []int32, parts int) (*commgraph.Graph, error) {
	var edges []commgraph.Edge
	for r := range int32(g.Ranks()) {
		peers, weights := g.Peers(r)
		for i, p := range peers {
			if p > r {
				edges = append(edges, commgraph.Edge{A: part[r], B: part[p], Weight: weights[i]})
			}
		}
	}
	return commgraph.New(parts, edges)
}

// divideHosts maps vertices of a graph of hosts onto the hosts of one entity, which are
// in the order of entities; those of a blade are taken in order.
func divideHosts(g *commgraph.Graph, m *levels.Machine, level int, vertices, hosts, onto []int32) error {
	if level == 3 {
		for i, v := range vertices {
			onto[v] = hosts[i]
		}
		return nil
	}
	var within [][]int32
	for i, h := range hosts {
		if i == 0 || m.Entity(level, h*coresPerHost) != m.Entity(level, hosts[i-1]*coresPerHost) {
			within = append(within, nil)
		}
		within[len(within)-1] = append(within[len(within)-1], h)
	}
	equal, sizes := make([]int, len(within)), make([]int, len(within))
	for i, part := range within {
		equal[i], sizes[i] = (len(vertices)+i)/len(within), len(part)
	}
	part, err := partition.Parts(g, equal, partition.Options{})
	if err != nil {
		return err
	}
	repair(g, part, sizes)
	for i := range within {
		var local, own []int32
		for v, p := range part {
			if int(p) == i {
				local, own = append(local, int32(v)), append(own, vertices[v])
			}
		}
		sub, err := g.Induced(local)
		if err != nil {
			return err
		}
		if err := divideHosts(sub, m, level+1, own, within[i], onto); err != nil {
			return err
		}
	}
	return nil
}

// repair moves vertices from parts that are too large to those that are too small,
// each time the one that costs least.
func repair(g *commgraph.Graph, part []int32, sizes []int) {
	over := make([]int, len(sizes))
	for p, size := range sizes {
		over[p] = -size
	}
	for _, p := range part {
		over[p]++
	}
	for {
		vertex, to, best := int32(-1), int32(-1), int64(0)
		for v, p := range part {
			if over[p] <= 0 {
				continue
			}
			tie := make([]int64, len(sizes))
			peers, weights := g.Peers(int32(v))
			for i, u := range peers {
				tie[part[u]] += weights[i]
			}
			for q := range sizes {
				if gain := tie[q] - tie[p]; over[q] < 0 && (vertex < 0 || gain > best) {
					vertex, to, best = int32(v), int32(q), gain
				}
			}
		}
		if vertex < 0 {
			return
		}
		over[part[vertex]]--
		over[to]++
		part[vertex] = to
	}
}
