package page

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
)

// Limits of a drawing.
const (
	maxDrawnHosts    = 48  // else those of a switch are one
	maxDrawnSwitches = 160 // else those at the ends of the hottest links
	hottestDrawn     = 60
)

// Drawing is a network, as far as messages of a run go through it. Places are from 0 to 1.
type Drawing struct {
	Nodes []DrawnNode `json:"nodes"`
	Edges []DrawnEdge `json:"edges"`
	Kind  string      `json:"kind"` // tree, torus or ring
	Note  string      `json:"note"`
}

// DrawnNode is a host, a switch, or the hosts below a switch.
type DrawnNode struct {
	Name  string  `json:"name"`
	Hosts int     `json:"hosts"` // 0 for a switch
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
}

// DrawnEdge is the cables between two nodes. There and Back are the load of the busiest
// link in either direction.
type DrawnEdge struct {
	A      int    `json:"a"`
	B      int    `json:"b"`
	Cables int    `json:"cables"`
	There  int64  `json:"there"`
	Back   int64  `json:"back"`
	Text   string `json:"text"`
	Marks  []int  `json:"marks"` // rows of the table of links, from 1
}

// drawer makes a Drawing.
type drawer struct {
	*loads
	Drawing
	number map[topology.Node]int // of what is drawn; hosts that are drawn together have one number
	fold   bool
}

// draw draws the part of the network that carries messages.
func (l *loads) draw() Drawing {
	d := drawer{loads: l, Drawing: Drawing{Nodes: []DrawnNode{}, Edges: []DrawnEdge{}}, number: map[topology.Node]int{}, fold: len(l.hosts) > maxDrawnHosts}
	switches := d.chosen()
	place, kind := d.layout(switches)
	d.Kind = kind
	for i, s := range switches {
		d.number[s] = len(d.Nodes)
		d.Nodes = append(d.Nodes, DrawnNode{Name: shown(l.graph.Name(s)), X: place[i][0], Y: place[i][1]})
	}
	d.drawHosts()
	d.edges()
	return d.Drawing
}

// chosen returns the switches that are drawn, in their order.
func (d *drawer) chosen() []topology.Node {
	ends := func(links []topology.Link) (switches []topology.Node) {
		for _, link := range links {
			for _, n := range []topology.Node{d.graph.From(link).Node, d.graph.To(link).Node} {
				if !d.graph.IsHost(n) {
					switches = append(switches, n)
				}
			}
		}
		slices.Sort(switches)
		return slices.Compact(switches)
	}
	switches := ends(d.used)
	if len(switches) <= maxDrawnSwitches {
		return switches
	}
	var inner []topology.Link
	for _, link := range d.used {
		if !d.graph.IsHost(d.graph.From(link).Node) && !d.graph.IsHost(d.graph.To(link).Node) && len(inner) < hottestDrawn {
			inner = append(inner, link)
		}
	}
	some := ends(inner)
	d.Note = fmt.Sprintf("Drawn are %d of %d switches: those at the ends of the %d links between switches that carry most.", len(some), len(switches), len(inner))
	return some
}

// drawHosts adds the hosts of the switches that are drawn.
func (d *drawer) drawHosts() {
	below := map[topology.Node][]topology.Node{}
	for _, h := range d.hosts {
		leaf := d.graph.Leaf(h)
		if _, ok := d.number[leaf]; ok && !slices.Contains(below[leaf], h) {
			below[leaf] = append(below[leaf], h)
		}
	}
	var leaves []topology.Node
	for leaf := range below {
		leaves = append(leaves, leaf)
	}
	slices.Sort(leaves)
	for _, leaf := range leaves {
		hosts, at := below[leaf], d.Nodes[d.number[leaf]]
		if d.fold {
			name := plural(int64(len(hosts)), "host")
			if len(hosts) == 1 {
				name = shown(d.graph.Name(hosts[0]))
			}
			for _, h := range hosts {
				d.number[h] = len(d.Nodes)
			}
			d.Nodes = append(d.Nodes, DrawnNode{Name: name, Hosts: len(hosts), X: at.X, Y: at.Y})
			continue
		}
		for _, h := range hosts {
			d.number[h] = len(d.Nodes)
			d.Nodes = append(d.Nodes, DrawnNode{Name: shown(d.graph.Name(h)), Hosts: 1, X: at.X, Y: at.Y})
		}
	}
	d.placeHosts()
}

// edges joins drawn nodes, and has the hottest links marked.
func (d *drawer) edges() {
	at := map[[2]int]int{}
	cables := map[int]bool{}
	for i, link := range d.used {
		a, ok := d.number[d.graph.From(link).Node]
		b, okToo := d.number[d.graph.To(link).Node]
		if !ok || !okToo {
			continue
		}
		key := [2]int{min(a, b), max(a, b)}
		e, ok := at[key]
		if !ok {
			e = len(d.Edges)
			at[key] = e
			d.Edges = append(d.Edges, DrawnEdge{A: key[0], B: key[1], Marks: []int{}})
		}
		edge := &d.Edges[e]
		if !cables[link.Cable()] {
			cables[link.Cable()] = true
			edge.Cables++
		}
		if a == key[0] {
			edge.There = max(edge.There, d.on(link))
		} else {
			edge.Back = max(edge.Back, d.on(link))
		}
		if i < hotMarks {
			edge.Marks = append(edge.Marks, i+1)
		}
	}
	for i := range d.Edges {
		e := &d.Edges[i]
		e.Text = fmt.Sprintf("%s to %s: %s; back: %s", d.Nodes[e.A].Name, d.Nodes[e.B].Name, bytesText(e.There), bytesText(e.Back))
		if e.Cables > 1 {
			e.Text += fmt.Sprintf(" on the busiest of %d cables", e.Cables)
		}
	}
}
