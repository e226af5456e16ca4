package routing

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
)

// Tables routes as the linear forwarding tables of a fabric's switches say.
type Tables struct {
	graph *topology.Graph
	next  []topology.Link // [switch*hosts+host]
}

// NewTables takes the tables of a fabric's switches, for the base LID of each
// host. The error names a switch without a table, or what the tables and the
// fabric say differently: then they were written at different times. A switch
// that has no entry for a host, or one to a port without a cable, is no error:
// there are no such routes.
func NewTables(f *ibnet.Fabric, t *ibnet.Tables, loop topology.Loop) (*Tables, error) {
	g := f.Graph
	bySwitch := make([]*ibnet.Table, g.Switches())
	byGUID := make(map[uint64]*ibnet.Table, len(t.Switches))
	for i := range t.Switches {
		byGUID[t.Switches[i].GUID] = &t.Switches[i]
	}
	for n := range g.AllSwitches() {
		info := g.Info(n)
		table := byGUID[info.GUID]
		if table == nil {
			return nil, fmt.Errorf("no forwarding table of switch %s, guid 0x%016x", g.Name(n), info.GUID)
		}
		if table.LID != 0 && info.LID != 0 && table.LID != info.LID {
			return nil, fmt.Errorf("switch %s has lid %d in the fabric and %d in its table: were they written at the same time?", g.Name(n), info.LID, table.LID)
		}
		bySwitch[g.SwitchIndex(n)] = table
	}
	if err := sameAddresses(f, t); err != nil {
		return nil, err
	}
	for h := range g.AllHosts() {
		if g.Info(h).LID == 0 && len(g.Ports(h)) > 0 {
			return nil, fmt.Errorf("host %s has no lid: is a subnet manager running?", g.Name(h))
		}
	}
	r := &Tables{graph: g, next: make([]topology.Link, g.Switches()*g.Hosts())}
	loop(g.Switches(), func(s int) {
		row := r.next[s*g.Hosts() : (s+1)*g.Hosts()]
		for h := range row {
			row[h] = topology.NoLink
			number := bySwitch[s].Port(g.Info(topology.Node(h)).LID)
			if p, ok := g.Port(g.Switch(s), int32(number)); ok && number != ibnet.Unreachable {
				row[h] = p.Out
			}
		}
	})
	return r, nil
}

// sameAddresses compares which port has which LID in the fabric and in the
// tables, where both say.
func sameAddresses(f *ibnet.Fabric, t *ibnet.Tables) error {
	guids := make(map[uint16]uint64, len(t.Destinations))
	for _, d := range t.Destinations {
		guids[d.LID] = d.GUID
	}
	for _, p := range f.Ports {
		if guid := guids[p.LID]; p.LID != 0 && guid != 0 && p.GUID != 0 && guid != p.GUID {
			return fmt.Errorf("lid %d is port 0x%016x of %s in the fabric, and port 0x%016x in the forwarding tables: were they written at the same time?",
				p.LID, p.GUID, f.Graph.Name(p.End.Node), guid)
		}
	}
	return nil
}

// Graph is the network.
func (t *Tables) Graph() *topology.Graph { return t.graph }

// String is "forwarding tables".
func (t *Tables) String() string { return "forwarding tables" }

// Lanes is 1: the tables do not say which lane a message is on.
func (t *Tables) Lanes() int { return 1 }

// Next is the step from a node toward a host.
func (t *Tables) Next(at, dst topology.Node) (Step, bool) {
	g := t.graph
	if g.IsHost(at) {
		ports := g.Ports(at)
		if len(ports) == 0 {
			return Step{}, false
		}
		return Step{Link: ports[0].Out}, true
	}
	l := t.next[g.SwitchIndex(at)*g.Hosts()+int(dst)]
	return Step{Link: l}, l != topology.NoLink
}

// Append appends the route between two hosts.
func (t *Tables) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	return Walk(t, steps, src, dst)
}

// Forwarding makes the linear forwarding tables by which a fabric's switches
// route as r does. Hosts and switches that have no LID in the fabric are left
// out. The way to a switch itself, for which r has no routes, is that to the
// first host below it, or else any shortest one.
func Forwarding(f *ibnet.Fabric, r ByDestination) (*ibnet.Tables, error) {
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
