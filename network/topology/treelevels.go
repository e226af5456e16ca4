package topology

import (
	"errors"
	"fmt"
	"slices"
)

// levels gives hosts 0, the switches that have hosts 1, and the others their
// distance from those.
func (f *treeFinder) levels() error {
	g := f.g
	f.level = slices.Repeat([]int8{-1}, g.Nodes())
	var queue []Node
	for n := range g.AllHosts() {
		for _, p := range g.Ports(n) {
			f.level[n] = 0
			if g.IsHost(p.Peer) {
				return fmt.Errorf("hosts %s and %s are joined directly", g.Name(n), g.Name(p.Peer))
			}
			if f.level[p.Peer] < 0 {
				f.level[p.Peer] = 1
				queue = append(queue, p.Peer)
			}
		}
	}
	if len(queue) == 0 {
		return errors.New("no host has a cable to a switch")
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		f.height = max(f.height, int(f.level[n]))
		for _, p := range g.Ports(n) {
			if f.level[p.Peer] < 0 {
				if f.level[n] == maxLevels {
					return fmt.Errorf("more than %d levels", maxLevels)
				}
				f.level[p.Peer] = f.level[n] + 1
				queue = append(queue, p.Peer)
			}
		}
	}
	return f.check()
}

// check fails where a cable joins two switches of one level.
func (f *treeFinder) check() error {
	g := f.g
	for n := range g.AllSwitches() {
		for _, p := range g.Ports(n) {
			if f.level[n] < 0 {
				return fmt.Errorf("%s is not connected to any host", g.Name(n))
			}
			if f.level[n] == f.level[p.Peer] {
				return fmt.Errorf("%s and %s are both at level %d and joined", g.Name(n), g.Name(p.Peer), f.level[n])
			}
		}
	}
	return nil
}

// lower finds leaf switches whose hosts are all away: they look like switches of
// level 3, but all that they are joined to is in one component below, and they
// have the cables upward of a leaf switch. It says whether there are any.
func (f *treeFinder) lower() bool {
	g, joined := f.g, newSets(f.g.Nodes())
	most := 0 // neighbors upward of a leaf switch
	for n := range g.AllSwitches() {
		peers := 0
		for _, p := range g.Ports(n) {
			if f.level[n] <= 2 && f.level[p.Peer] < f.level[n] {
				joined.join(int32(n), int32(p.Peer))
			}
			if f.level[n] == 1 && f.level[p.Peer] == 2 {
				peers++
			}
		}
		most = max(most, peers)
	}
	var found []Node
	for n := range g.AllSwitches() {
		if f.level[n] != 3 {
			continue
		}
		ports := g.Ports(n)
		leaf := 2*len(ports) > most
		for _, p := range ports {
			leaf = leaf && f.level[p.Peer] == 2 && joined.find(int32(p.Peer)) == joined.find(int32(ports[0].Peer))
		}
		if leaf {
			found = append(found, n)
		}
	}
	for _, n := range found {
		f.level[n] = 1
	}
	f.height = 0
	for _, l := range f.level {
		f.height = max(f.height, int(l))
	}
	return len(found) > 0
}
