package topology

import (
	"errors"
	"fmt"
)

// recognizeDragonfly takes switches that have many neighbors in common for a
// group: within one all are joined to each other, and hardly any two switches of
// different groups have a neighbor in common. Common and most are those of
// fabric.commons.
func recognizeDragonfly(g *Graph, f *fabric, common []int, most int) (*Dragonfly, error) {
	if most == 0 {
		return nil, errors.New("no three switches are joined to each other")
	}
	joined := newSets(len(f.peers))
	f.each(func(s, t int, e int32) {
		if 2*common[e] >= most {
			joined.join(int32(s), int32(t))
		}
	})
	d := Layout{P: f.hosts, Chassis: 1}
	group := make([]int, len(f.peers))
	var size []int // of each group
	index := make([]int32, len(f.peers))
	for s := range f.peers {
		if len(f.peers[s]) == 0 {
			index[s] = -1
			continue
		}
		if root := int(joined.find(int32(s))); root == s {
			group[s] = len(size)
			size = append(size, 0)
		} else {
			group[s] = group[root]
		}
		index[s] = int32(size[group[s]])
		size[group[s]]++
		d.A = max(d.A, size[group[s]])
	}
	d.G = len(size)
	local, pairs := 0, map[[2]int]bool{}
	for s := range f.peers {
		global := 0
		for _, p := range g.Ports(g.Switch(s)) {
			if !g.IsHost(p.Peer) && group[g.SwitchIndex(p.Peer)] != group[s] {
				global++
				pairs[[2]int{group[s], group[g.SwitchIndex(p.Peer)]}] = true
			}
		}
		d.H = max(d.H, global)
		if index[s] >= 0 {
			index[s] += int32(group[s] * d.A)
		}
	}
	f.each(func(s, t int, _ int32) {
		if group[s] == group[t] {
			local++
		}
	})
	full, all := 0, d.G*(d.G-1)
	for _, n := range size {
		full += n * (n - 1) / 2
	}
	if 4*local < 3*full {
		return nil, fmt.Errorf("of %d pairs of switches within groups only %d are joined", full, local)
	}
	if 4*len(pairs) < 3*all {
		return nil, fmt.Errorf("of %d pairs of groups only %d are joined", all/2, len(pairs)/2)
	}
	return NewDragonfly(g, d, index)
}
