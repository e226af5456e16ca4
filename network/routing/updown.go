package routing

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
)

// UpDown is up/down routing of any network [Schroeder]: each cable has an upper end,
// and no route goes up once it has gone down, so that there is no credit loop. In a fat
// tree, up leads away from the hosts; elsewhere, and in a tree of which so much is
// missing that not all hosts reach each other that way, it leads toward a root. Of
// several links that are as short, the destination's index picks one as D-Mod-K does:
// on a whole PGFT the routes are those of D-Mod-K, and on a degraded one as evenly
// spread as its rest allows [Gliksberg].
type UpDown struct {
	graph *topology.Graph
	name  string
	order []int32   // of each switch: the upper end of a cable has the lower number
	index []int     // of each host, for the choice among equal links
	div   []int     // of each switch: the index is divided by it first
	group []int32   // of each host: those with the same switches share costs; -1 for none
	at    [][]int32 // switches of a group's hosts
	up    [][]edge  // of each switch, by port
	down  [][]edge
	cost  []uint16 // [group*switches+switch]: switches to go, up to a leaf; goesDown set if all are down
}

const (
	goesDown    = 1 << 15
	unreachable = goesDown - 1
)

// NewUpDown works out up/down routes for each pair of hosts that cables connect.
func NewUpDown(g *topology.Graph, loop topology.Loop) (*UpDown, error) {
	if g.Switches() >= unreachable {
		return nil, fmt.Errorf("up/down: %d switches: expected fewer than %d", g.Switches(), unreachable)
	}
	u := &UpDown{graph: g}
	u.groups()
	parts := components(g)
	if f, ok := g.Family().(*topology.FatTree); ok {
		u.treeOrder(f)
		if u.costs(loop); u.connected(parts) {
			u.name = "up/down"
			return u, nil
		}
	}
	roots := u.rootOrder(parts)
	u.name = "up/down from root " + roots
	if roots == "" {
		u.name = "up/down"
	}
	u.costs(loop)
	return u, nil
}

// groups puts hosts together that are attached to the same switches.
func (u *UpDown) groups() {
	g := u.graph
	u.group, u.index = make([]int32, g.Hosts()), make([]int, g.Hosts())
	tree, _ := g.Family().(*topology.FatTree)
	number := map[string]int32{}
	for h := range g.AllHosts() {
		u.index[h] = int(h)
		if tree != nil {
			u.index[h] = max(0, tree.Index(h))
		}
		var at []int32
		for _, p := range g.Ports(h) {
			if !g.IsHost(p.Peer) {
				at = append(at, int32(g.SwitchIndex(p.Peer)))
			}
		}
		u.group[h] = -1
		if len(at) == 0 {
			continue
		}
		slices.Sort(at)
		at = slices.Compact(at)
		key := fmt.Sprint(at)
		if _, known := number[key]; !known {
			number[key] = int32(len(u.at))
			u.at = append(u.at, at)
		}
		u.group[h] = number[key]
	}
}

// treeOrder takes the levels of a fat tree for the order.
func (u *UpDown) treeOrder(f *topology.FatTree) {
	g := u.graph
	u.order, u.div = make([]int32, g.Switches()), make([]int, g.Switches())
	for s := range u.order {
		level := max(0, f.Level(g.Switch(s)))
		u.order[s] = int32((f.Levels()-level)*g.Switches() + s)
		u.div[s] = f.Roots(level)
	}
}

// costs fills in the costs of each group of hosts.
func (u *UpDown) costs(loop topology.Loop) {
	n := u.graph.Switches()
	u.cost = make([]uint16, len(u.at)*n)
	u.up, u.down = make([][]edge, n), make([][]edge, n)
	byOrder := make([]int, n) // switches, the uppermost first
	for s := range byOrder {
		byOrder[s] = s
		for _, p := range u.graph.Ports(u.graph.Switch(s)) {
			switch t, ok := u.peer(p); {
			case ok && u.order[t] < u.order[s]:
				u.up[s] = append(u.up[s], edge{int32(t), p.Out})
			case ok && t != s:
				u.down[s] = append(u.down[s], edge{int32(t), p.Out})
			}
		}
	}
	slices.SortFunc(byOrder, func(a, b int) int { return int(u.order[a] - u.order[b]) })
	loop(len(u.at), func(i int) {
		cost := u.cost[i*n : (i+1)*n]
		for s := range cost {
			cost[s] = unreachable
		}
		queue := append(make([]int32, 0, n), u.at[i]...)
		for _, s := range queue {
			cost[s] = goesDown
		}
		for k := 0; k < len(queue); k++ {
			for _, e := range u.up[queue[k]] {
				if cost[e.peer] == unreachable {
					cost[e.peer] = cost[queue[k]] + 1
					queue = append(queue, e.peer)
				}
			}
		}
		for _, s := range byOrder {
			if cost[s] != unreachable {
				continue
			}
			least := uint16(unreachable)
			for _, e := range u.up[s] {
				least = min(least, cost[e.peer]&^goesDown)
			}
			if least != unreachable {
				cost[s] = least + 1
			}
		}
	})
}

// edge is a link between switches as the one sees it.
type edge struct {
	peer int32
	out  topology.Link
}

// peer returns the switch at the other end, false for a host.
func (u *UpDown) peer(p topology.Port) (int, bool) {
	s := u.graph.SwitchIndex(p.Peer)
	return s, s >= 0
}

// connected says whether every switch with hosts reaches all hosts that cables
// connect it to. The switches of one host may be in several parts.
func (u *UpDown) connected(parts []int32) bool {
	n := u.graph.Switches()
	hosted := slices.Concat(u.at...)
	for i, at := range u.at {
		for _, s := range hosted {
			same := slices.ContainsFunc(at, func(a int32) bool { return parts[a] == parts[s] })
			if same && u.cost[i*n+int(s)] == unreachable {
				return false
			}
		}
	}
	return true
}

// Graph returns the network.
func (u *UpDown) Graph() *topology.Graph { return u.graph }

// String names the rule, and the roots if it chose any.
func (u *UpDown) String() string { return u.name }

// Lanes is 1.
func (u *UpDown) Lanes() int { return 1 }

// Next returns the step from a node toward a host.
func (u *UpDown) Next(at, dst topology.Node) (Step, bool) {
	g, group := u.graph, int(u.group[dst])
	if g.IsHost(at) {
		return u.leave(at, dst)
	}
	if group < 0 {
		return Step{}, false
	}
	s := g.SwitchIndex(at)
	cost := u.cost[group*g.Switches():][:g.Switches()]
	pick := u.index[dst] / u.div[s]
	own, edges := cost[s], u.up[s]
	switch {
	case own == goesDown:
		return anyLink(g, at, dst, pick)
	case own == unreachable:
		return Step{}, false
	case own&goesDown != 0:
		edges = u.down[s]
	}
	count := 0
	for _, e := range edges {
		if toward(own, cost[e.peer]) {
			count++
		}
	}
	pick %= count
	for _, e := range edges {
		if toward(own, cost[e.peer]) {
			if pick--; pick < 0 {
				return Step{Link: e.out}, true
			}
		}
	}
	return Step{}, false
}

// toward says whether a neighbor with cost next is one switch nearer than one
// with cost own, in the direction in which that goes.
func toward(own, next uint16) bool {
	return own&^goesDown == next&^goesDown+1 && (own&goesDown == 0 || next&goesDown != 0)
}

// leave returns the first step of a host: to dst itself if a cable goes there, else to
// a switch that is nearest.
func (u *UpDown) leave(at, dst topology.Node) (Step, bool) {
	g, group := u.graph, int(u.group[dst])
	if s, ok := anyLink(g, at, dst, u.index[dst]); ok || group < 0 {
		return s, ok
	}
	cost := u.cost[group*g.Switches():][:g.Switches()]
	least, count := uint16(unreachable), 0
	for _, p := range g.Ports(at) {
		if s, ok := u.peer(p); ok {
			switch c := cost[s] &^ goesDown; {
			case c < least:
				least, count = c, 1
			case c == least:
				count++
			}
		}
	}
	if least == unreachable {
		return Step{}, false
	}
	pick := u.index[dst] % count
	for _, p := range g.Ports(at) {
		if s, ok := u.peer(p); ok && cost[s]&^goesDown == least {
			if pick--; pick < 0 {
				return Step{Link: p.Out}, true
			}
		}
	}
	return Step{}, false
}

// Append appends the route between two hosts.
func (u *UpDown) Append(steps []Step, src, dst topology.Node) ([]Step, error) {
	return Walk(u, steps, src, dst)
}
