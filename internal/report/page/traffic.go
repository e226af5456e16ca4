package page

import (
	"bytes"
	"compress/flate"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
)

// Bounds of cells, so that a page stays small: more of them are added up, two by two
// senders and receivers, until they fit.
const (
	maxData  = 600_000 // bytes of a Grain, compressed
	maxFine  = 1 << 21 // pairs of ranks that are looked at one by one
	maxDense = 1 << 10 // senders of more pairs
)

// world is a profile of one world's ranks.
type world struct {
	title  string
	about  string   // command, ranks, nodes
	hosts  []string // as they are shown
	names  []string // of the hosts, whole
	nodeOf []int32  // of each rank
	timed  bool
	pairs  int
	// sent yields each pair of ranks once, with the messages of the first to the
	// second.
	sent   iter.Seq2[[2]int32, amount]
	notes  []string
	tables []Table
}

// Run is a world of a profile.
type Run struct {
	Title    string   `json:"title"`
	About    string   `json:"about"`
	Ranks    int      `json:"ranks"`
	Nodes    []string `json:"nodes"`
	NodeOf   []int32  `json:"node_of"`   // of each rank
	Switches []string `json:"switches"`  // leaf switches of the nodes; none without a network
	SwitchOf []int32  `json:"switch_of"` // of each node
	Timed    bool     `json:"timed"`
	Grains   []Grain  `json:"grains"`
	Notes    []string `json:"notes"`
	Tables   []Table  `json:"tables"`
}

// Grain adds up the messages of a run, by process, node or switch.
type Grain struct {
	Name  string `json:"name"`
	Count int    `json:"count"` // processes, nodes or switches
	Per   int    `json:"per"`   // of these in a row or column of cells: a power of two
	Cells int    `json:"cells"`
	Data  Part   `json:"data"` // as encode writes it
}

// total adds up the messages of a distance.
type total struct {
	pairs int64 // of ranks
	amount
}

// traffic adds up the messages of worlds.
func (p *Page) traffic(worlds []*world, net *Network) error {
	var totals [][numClasses]total
	seen := [numClasses]map[int]bool{}
	for i := range seen {
		seen[i] = map[int]bool{}
	}
	for _, w := range worlds {
		d, missing, err := newDistances(net, w.names)
		if err != nil {
			return err
		}
		run := Run{
			Title: w.title, About: w.about, Ranks: len(w.nodeOf), Nodes: w.hosts, NodeOf: w.nodeOf, Switches: []string{}, SwitchOf: []int32{},
			Timed: w.timed, Notes: append([]string{}, w.notes...), Tables: append([]Table{}, w.tables...),
		}
		if len(missing) > 0 {
			run.Notes = append(run.Notes, fmt.Sprintf("not in the network %s: %s; --map says which of its hosts they are", net.From, some(missing)))
		}
		if net != nil {
			run.leaves(net.Router.Graph(), d.at)
		}
		sum, nodes, err := p.grains(&run, w, d)
		if err != nil {
			return fmt.Errorf("%s: %w", w.title, err)
		}
		if net != nil {
			links, err := linksOf(w.title, d, nodes)
			if err != nil {
				return fmt.Errorf("%s: %w", w.title, err)
			}
			if links != nil {
				p.Links = append(p.Links, *links)
			}
		}
		for class, hops := range d.seen {
			for h := range hops {
				seen[class][h] = true
			}
		}
		p.Runs, totals = append(p.Runs, run), append(totals, sum)
	}
	for class, hops := range seen {
		if len(hops) > 0 {
			p.Classes = append(p.Classes, Class{class, classKeys[class], label(class, hops)})
		}
	}
	if len(worlds) > 0 {
		p.Levels = p.levels(totals)
	}
	return nil
}

// some returns a few of many names.
func some(names []string) string {
	const few = 5
	if len(names) > few+1 {
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return and(names)
}

// leaves fills in the leaf switches of nodes. Those without one, or without a place in the network, come last, together.
func (r *Run) leaves(g *topology.Graph, at []topology.Node) {
	number := map[topology.Node]int32{}
	of := slices.Clone(at) // the leaf switch of each
	for i, node := range of {
		if node != topology.NoNode {
			of[i] = g.Leaf(node)
		}
		leaf := of[i]
		if _, ok := number[leaf]; !ok && leaf != topology.NoNode {
			number[leaf] = int32(len(r.Switches))
			r.Switches = append(r.Switches, shown(g.Name(leaf)))
		}
	}
	if slices.Contains(of, topology.NoNode) {
		number[topology.NoNode] = int32(len(r.Switches))
		r.Switches = append(r.Switches, "no known switch")
	}
	for _, leaf := range of {
		r.SwitchOf = append(r.SwitchOf, number[leaf])
	}
}

// grains adds up the messages of w by process, node and switch, and by distance. It
// returns the cells of nodes, too.
func (p *Page) grains(r *Run, w *world, d *distances) (sum [numClasses]total, byNode []cell, err error) {
	per := 1
	if w.pairs > maxFine {
		for len(w.nodeOf)/per > maxDense {
			per *= 2
		}
	}
	processes, nodes := newGather(), newGather()
	for pair, a := range w.sent {
		x, y := w.nodeOf[pair[0]], w.nodeOf[pair[1]]
		class, err := d.class(x, y)
		if err != nil {
			return sum, nil, err
		}
		sum[class].pairs++
		sum[class].add(a)
		processes.add(cell{from: pair[0] / int32(per), to: pair[1] / int32(per), class: class, amount: a})
		nodes.add(cell{from: x, to: y, class: class, amount: a})
	}
	byNode = nodes.sorted()
	r.Grains = []Grain{p.grain("process", len(w.nodeOf), per, processes.sorted()), p.grain("node", len(w.hosts), 1, byNode)}
	if len(r.Switches) > 0 {
		switches := newGather()
		for _, c := range byNode {
			c.from, c.to = r.SwitchOf[c.from], r.SwitchOf[c.to]
			switches.add(c)
		}
		r.Grains = append(r.Grains, p.grain("switch", len(r.Switches), 1, switches.sorted()))
	}
	return sum, byNode, nil
}

// grain keeps cells, as fine as they fit.
func (p *Page) grain(name string, n, per int, cells []cell) Grain {
	for {
		kept := slices.Clone(cells)
		for i := range kept {
			kept[i].amount[duration] = rounded(kept[i].amount[duration])
		}
		data := encode(kept, (n+per-1)/per)
		if compressed(data) <= maxData || per >= n {
			return Grain{Name: name, Count: n, Per: per, Cells: len(cells), Data: p.keep(data)}
		}
		cells, per = halved(cells), 2*per
	}
}

// compressed returns the size of data in the page, before it becomes letters.
func compressed(data []byte) int {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression) // a level that there is
	_, _ = w.Write(data)                                    // a buffer takes all
	_ = w.Close()
	return out.Len()
}
