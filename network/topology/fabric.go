package topology

import (
	"fmt"
	"slices"
)

// A fabric is a graph's switches with parallel cables taken for one edge.
type fabric struct {
	peers [][]int32 // of each switch, ascending
	edges [][]int32 // edges[s][i]: number of the edge to peers[s][i]
	count int       // of edges
	hosts int       // of the switch that has the most
}

func newFabric(g *Graph) (*fabric, error) {
	f := &fabric{peers: make([][]int32, g.Switches()), edges: make([][]int32, g.Switches())}
	hosts := make([]int, g.Switches())
	for n := range g.AllHosts() {
		for i, p := range g.Ports(n) {
			if g.IsHost(p.Peer) {
				return nil, fmt.Errorf("hosts %s and %s are joined directly", g.Name(n), g.Name(p.Peer))
			}
			if i > 0 && p.Peer != g.Ports(n)[0].Peer {
				return nil, fmt.Errorf("%s has cables to more than one switch", g.Name(n))
			}
		}
		if leaf := g.Leaf(n); leaf != NoNode {
			hosts[g.SwitchIndex(leaf)]++
			f.hosts = max(f.hosts, hosts[g.SwitchIndex(leaf)])
		}
	}
	for s := range f.peers {
		for _, p := range g.Ports(g.Switch(s)) {
			if !g.IsHost(p.Peer) && p.Peer != g.Switch(s) {
				f.peers[s] = append(f.peers[s], int32(g.SwitchIndex(p.Peer)))
			}
		}
		slices.Sort(f.peers[s])
		f.peers[s] = slices.Compact(f.peers[s])
		f.edges[s] = make([]int32, len(f.peers[s]))
		for i, t := range f.peers[s] {
			if int(t) > s {
				f.edges[s][i] = int32(f.count)
				f.count++
			} else {
				f.edges[s][i] = f.edge(int(t), s)
			}
		}
	}
	return f, nil
}

// edge returns the number of the edge between two switches, -1 if there is none.
func (f *fabric) edge(s, t int) int32 {
	i, ok := slices.BinarySearch(f.peers[s], int32(t))
	if !ok {
		return -1
	}
	return f.edges[s][i]
}

// common calls do for each switch that is joined to both s and t.
func (f *fabric) common(s, t int, do func(u int)) {
	a, b := f.peers[s], f.peers[t]
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			do(int(a[0]))
			a, b = a[1:], b[1:]
		}
	}
}

// commons has, for each edge, how many switches are joined to both of its ends, and
// the most that any edge has.
func (f *fabric) commons() (common []int, most int) {
	common = make([]int, f.count)
	f.each(func(s, t int, e int32) {
		f.common(s, t, func(int) { common[e]++ })
		most = max(most, common[e])
	})
	return common, most
}
