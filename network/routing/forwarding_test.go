package routing

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
)

// forwarding makes the linear forwarding tables by which a fabric's switches
// route as r does. Hosts and switches that have no LID in the fabric are left
// out. The way to a switch itself, for which r has no routes, is that to the
// first host below it, or else any shortest one.
func forwarding(f *ibnet.Fabric, r ByDestination) (*ibnet.Tables, error) {
	g := f.Graph
	if r.Graph() != g {
		return nil, fmt.Errorf("the routes are of another network than the fabric")
	}
	t := &ibnet.Tables{}
	highest := uint16(0)
	for _, p := range f.Ports {
		if p.LID != 0 {
			highest = max(highest, p.LID)
			n := p.End.Node
			t.Destinations = append(t.Destinations, ibnet.Destination{LID: p.LID, Switch: !g.IsHost(n), GUID: p.GUID, Name: g.Info(n).Description})
		}
	}
	slices.SortFunc(t.Destinations, func(a, b ibnet.Destination) int { return int(a.LID) - int(b.LID) })
	for n := range g.AllSwitches() {
		info := g.Info(n)
		t.Switches = append(t.Switches, ibnet.Table{GUID: info.GUID, LID: info.LID, Name: info.Name,
			Ports: slices.Repeat([]uint8{ibnet.Unreachable}, int(highest)+1)})
	}
	var err error
	set := func(s int, lid uint16, l topology.Link) {
		port := g.From(l).Port
		if port >= int32(ibnet.Unreachable) {
			err = fmt.Errorf("port %d of %s: expected at most 254", port, g.Name(g.Switch(s)))
		}
		t.Switches[s].Ports[lid] = uint8(port)
	}
	for _, p := range f.Ports {
		if p.LID == 0 {
			continue
		}
		if g.IsHost(p.End.Node) {
			for s := range t.Switches {
				if next, ok := r.Next(g.Switch(s), p.End.Node); ok {
					set(s, p.LID, next.Link)
				}
			}
			continue
		}
		to := g.SwitchIndex(p.End.Node)
		t.Switches[to].Ports[p.LID] = 0
		toSwitch(g, r, to, func(s int, l topology.Link) { set(s, p.LID, l) })
	}
	return t, err
}

// toSwitch finds each switch's link toward switch to.
func toSwitch(g *topology.Graph, r ByDestination, to int, set func(s int, l topology.Link)) {
	for _, p := range g.Ports(g.Switch(to)) {
		if !g.IsHost(p.Peer) {
			continue
		}
		for s := range g.Switches() {
			if next, ok := r.Next(g.Switch(s), p.Peer); ok && s != to {
				set(s, next.Link)
			}
		}
		return
	}
	distance := make([]int32, g.Switches())
	for _, s := range breadth(g, to, distance)[1:] {
		for _, p := range g.Ports(g.Switch(s)) {
			if t := g.SwitchIndex(p.Peer); t >= 0 && distance[t] == distance[s]-1 {
				set(s, p.Out)
				break
			}
		}
	}
}
