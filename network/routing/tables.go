package routing

import (
	"fmt"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
)

// Tables routes as the linear forwarding tables of a fabric's switches say.
type Tables struct {
	graph *topology.Graph
	next  []topology.Link // [switch*hosts+host]
}

// NewTables takes the tables of a fabric's switches, for the base LID of each host. The
// error names a switch without a table, or a contradiction of tables and fabric: then
// they were written at different times. A switch that has no entry for a host, or one
// to a port without a cable, is no error: there are no such routes.
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

// Graph returns the network.
func (t *Tables) Graph() *topology.Graph { return t.graph }

// String is "forwarding tables".
func (t *Tables) String() string { return "forwarding tables" }

// Lanes is 1: the tables do not say which lane a message is on.
func (t *Tables) Lanes() int { return 1 }

// Next returns the step from a node toward a host.
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
