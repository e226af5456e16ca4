package topology

import (
	"fmt"
	"strings"
)

// Layout describes a dragonfly: G groups of A routers with P hosts each, and H
// ports of a router to other groups. The routers of a group are all joined to
// each other; where Chassis is more than 1, they are in that many rows (chassis)
// of equal length, and a router is joined to those of its row and of its column,
// as in a Cray XC.
//
// Sockets and Cores are of a node of a Cray, 0 where unknown.
type Layout struct {
	P, A, H, G     int
	Chassis        int
	Sockets, Cores int
}

// Check fails where a number is not possible, or the network were larger than a
// Graph may be.
func (d Layout) Check() error {
	for _, x := range []struct {
		name      string
		n, lo, hi int
	}{{name: "p", n: d.P, hi: MaxPort / 4}, {name: "a", n: d.A, lo: 1, hi: MaxPort / 4}, {name: "h", n: d.H, hi: MaxPort / 4}, {name: "g", n: d.G, lo: 1, hi: MaxNodes}} {
		if x.n < x.lo || x.n > x.hi {
			return fmt.Errorf("%s=%d: expected %d..%d", x.name, x.n, x.lo, x.hi)
		}
	}
	if d.Chassis < 1 || d.A%d.Chassis != 0 {
		return fmt.Errorf("%d chassis for %d routers of a group: expected equal rows", d.Chassis, d.A)
	}
	if d.A*d.H < d.G-1 {
		return fmt.Errorf("h=%d: a group has %d ports to %d other groups", d.H, d.A*d.H, d.G-1)
	}
	if d.A > MaxNodes/d.G || d.A*d.G*(1+d.P) > MaxNodes {
		return fmt.Errorf("more than %d hosts and routers: too large", MaxNodes)
	}
	if d.A*d.G*(d.P+d.H+d.A) > MaxCables {
		return fmt.Errorf("more than %d cables: too large", MaxCables)
	}
	return nil
}

// joined says whether routers r and s of one group have a cable.
func (d Layout) joined(r, s int) bool {
	row := d.A / d.Chassis
	return r != s && (d.Chassis == 1 || r/row == s/row || r%row == s%row)
}

// offset is which of the cables from group a goes to group b, in the arrangement
// that NewDragonflyGraph makes.
func (d Layout) offset(a, b int) int { return (b - a - 1 + d.G) % d.G }

// Dragonfly is the Family of dragonflies, with any arrangement of the cables between
// groups, and of degraded ones.
type Dragonfly struct {
	Layout
	graph *Graph
	index []int32 // of each switch: group*A + router
	at    []Node
	gates [][]Link // gates[a*G+b]: links from group a to group b
	ours  bool     // the arrangement is NewDragonflyGraph's
}

// Rates are the rates of a dragonfly's cables in bit/s, 0 where unknown.
type Rates struct{ Host, Row, Column, Global int64 }

// CrayRates are the nominal rates of a Cray XC40 [Sahoo, table 3.1].
var CrayRates = Rates{Host: 16e9, Row: 14e9, Column: 14e9, Global: 12.5e9}

// NewDragonflyGraph makes a whole dragonfly. Routers come group by group, their
// hosts in the same order. Each pair of groups has as many cables as fit, at
// least one. Cable number i of group a, at port i mod H of router i / H, goes to
// group a + 1 + i mod (G-1), so that the first G-1 go to the groups that follow,
// in order and around.
func NewDragonflyGraph(d Layout, rates Rates) (*Graph, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	b, err := NewBuilder(d.G*d.A*d.P, d.G*d.A)
	if err != nil {
		return nil, err
	}
	for x := range d.G * d.A {
		for i := range d.P {
			b.Cable(Cable{A: End{Node(x*d.P + i), 1}, B: End{b.Switch(x), int32(i + 1)}, Rate: rates.Host})
		}
		group, r := x/d.A, x%d.A
		for s := r + 1; s < d.A; s++ {
			if !d.joined(r, s) {
				continue
			}
			rate := rates.Row
			if r/(d.A/d.Chassis) != s/(d.A/d.Chassis) {
				rate = rates.Column
			}
			b.Cable(Cable{A: End{b.Switch(x), d.localPort(r, s)}, B: End{b.Switch(group*d.A + s), d.localPort(s, r)}, Rate: rate})
		}
	}
	if d.G > 1 {
		copies := d.A * d.H / (d.G - 1)
		for a := range d.G {
			for to := a + 1; to < d.G; to++ {
				for k := range copies {
					b.Cable(Cable{A: d.gate(b, a, to, k), B: d.gate(b, to, a, k), Rate: rates.Global})
				}
			}
		}
	}
	g, err := b.Build()
	if err != nil {
		return nil, err
	}
	index := make([]int32, g.Switches())
	for i := range index {
		index[i] = int32(i)
	}
	f, err := NewDragonfly(g, d, index)
	if err != nil {
		return nil, err
	}
	return g.WithFamily(f), nil
}

// localPort returns the port of router r for router s of its group: after those of
// the hosts, in the order of the routers.
func (d Layout) localPort(r, s int) int32 {
	if s > r {
		s--
	}
	return int32(d.P + s + 1)
}

// gate returns the end in group a of cable k to group to.
func (d Layout) gate(b *Builder, a, to, k int) End {
	i := k*(d.G-1) + d.offset(a, to)
	return End{b.Switch(a*d.A + i/d.H), int32(d.P + d.A + i%d.H)}
}

// NewDragonfly gives each switch of g its place: index has group*A + router for
// each, and a negative one for a switch without cables that is left aside. The
// error names two in one place, or a cable that the layout has not.
func NewDragonfly(g *Graph, d Layout, index []int32) (*Dragonfly, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	at, err := seats(g, index, d.G*d.A)
	if err != nil {
		return nil, err
	}
	f := &Dragonfly{Layout: d, graph: g, index: index, ours: true, at: at}
	if d.G <= MaxCables/d.G {
		f.gates = make([][]Link, d.G*d.G)
	} else {
		return nil, fmt.Errorf("g=%d: too many groups", d.G)
	}
	for n := range g.AllHosts() {
		if err := f.place(n); err != nil {
			return nil, err
		}
	}
	for _, n := range f.at {
		if n == NoNode {
			continue
		}
		if err := f.place(n); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// place checks the cables of a node and enters those to other groups.
func (f *Dragonfly) place(n Node) error {
	g, global := f.graph, 0
	for _, p := range g.Ports(n) {
		switch {
		case g.IsHost(n) && g.IsHost(p.Peer):
			return fmt.Errorf("cable between %s and %s: both are hosts", g.Name(n), g.Name(p.Peer))
		case g.IsHost(n) || g.IsHost(p.Peer):
		case f.Group(n) != f.Group(p.Peer):
			f.gates[f.Group(n)*f.G+f.Group(p.Peer)] = append(f.gates[f.Group(n)*f.G+f.Group(p.Peer)], p.Out)
			i := f.offset(f.Group(n), f.Group(p.Peer))
			for ; i < f.A*f.H && i/f.H < f.Router(n); i += f.G - 1 {
			}
			f.ours = f.ours && i/f.H == f.Router(n)
			if global++; global > f.H {
				return fmt.Errorf("%s: more than %d cables to other groups", g.Name(n), f.H)
			}
		case !f.joined(f.Router(n), f.Router(p.Peer)):
			return fmt.Errorf("cable between %s and %s: they are in one group, but in no common row or column", g.Name(n), g.Name(p.Peer))
		}
	}
	return nil
}

// Kind is "cray" where the routers of a group are in rows, else "dragonfly".
func (f *Dragonfly) Kind() string {
	if f.Chassis > 1 {
		return "cray"
	}
	return "dragonfly"
}

// String is such as "dragonfly:p=4,a=8,h=2,g=16" or "cray:6,16,4,2,12,groups=4".
// Where the cables between groups are arranged in another way than
// NewDragonflyGraph does, it ends in ",arrangement=other", of which no graph can
// be made.
func (f *Dragonfly) String() string {
	var text strings.Builder
	if f.Chassis > 1 {
		fmt.Fprintf(&text, "cray:%d,%d,%d,%d,%d,groups=%d", f.Chassis, f.A/f.Chassis, f.P, max(1, f.Sockets), max(1, f.Cores), f.G)
		if f.H != 1 {
			fmt.Fprintf(&text, ",h=%d", f.H)
		}
	} else {
		fmt.Fprintf(&text, "dragonfly:p=%d,a=%d,h=%d,g=%d", f.P, f.A, f.H, f.G)
	}
	if !f.ours {
		text.WriteString(",arrangement=other")
	}
	return text.String()
}

// On returns the same dragonfly on a graph of the same nodes.
func (f *Dragonfly) On(g *Graph) (Family, error) { return NewDragonfly(g, f.Layout, f.index) }

// Index returns a switch's group*A + router.
func (f *Dragonfly) Index(n Node) int { return int(f.index[f.graph.SwitchIndex(n)]) }

// Group returns a switch's group, Router its number within it; the router's row is
// Router / (A/Chassis).
func (f *Dragonfly) Group(n Node) int { return f.Index(n) / f.A }

// Router returns a switch's number within its group.
func (f *Dragonfly) Router(n Node) int { return f.Index(n) % f.A }

// Switch returns the switch of a place, NoNode if the graph lacks it.
func (f *Dragonfly) Switch(group, router int) Node { return f.at[group*f.A+router] }

// Gates returns the links that go from one group to another, by router and port of
// the first.
func (f *Dragonfly) Gates(from, to int) []Link { return f.gates[from*f.G+to] }
