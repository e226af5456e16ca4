package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/topology"
)

// maxHot bounds the links of a table, and hotMarks those of them that the drawing
// numbers.
const (
	maxHot   = 25
	hotMarks = 10
)

// Links holds the load of a network's links in a run.
type Links struct {
	Run     string  `json:"run"`
	Summary string  `json:"summary"`
	Table   Table   `json:"table"`
	Drawing Drawing `json:"drawing"`
}

// loads are the loads of links, and the links that carry something, the busiest first.
type loads struct {
	graph *topology.Graph
	on    func(topology.Link) int64
	used  []topology.Link
	total int64 // that left its host
	hosts []topology.Node
}

// linksOf works out the loads of links; nil where nothing was sent between hosts of the network.
func linksOf(title string, d *distances, cells []cell) (*Links, error) {
	var order []topology.Node
	rank := make([]int32, len(d.at)) // in order
	for i, node := range d.at {
		rank[i] = int32(len(order))
		if node != topology.NoNode {
			order = append(order, node)
		}
	}
	n, err := netsim.New(d.net.Router, order)
	if err != nil {
		return nil, err
	}
	load := netsim.NewLoad(n)
	l := loads{graph: n.Graph(), on: load.On, hosts: order}
	for _, c := range cells {
		if c.class == withinNode || c.class == unknownHops || c.amount[volume] == 0 {
			continue
		}
		l.total += c.amount[volume]
		if err := load.Add([]netsim.Message{{From: rank[c.from], To: rank[c.to], Size: c.amount[volume]}}); err != nil {
			return nil, err
		}
	}
	if l.used = slices.Clone(load.Used()); len(l.used) == 0 {
		return nil, nil
	}
	slices.SortFunc(l.used, func(a, b topology.Link) int { return cmp.Or(cmp.Compare(load.On(b), load.On(a)), cmp.Compare(a, b)) })
	hot := l.used[0]
	summary := fmt.Sprintf("%s: %s went over %s of %s, by routes of %s. Most, %s (%s), went over the link from %s to %s.",
		title, bytesText(l.total), plural(int64(len(l.used)), "link"), d.net.From, d.net.Router, bytesText(load.On(hot)), share(load.On(hot), l.total),
		l.name(hot, false), l.name(hot, true))
	return &Links{Run: title, Summary: summary, Table: l.table(title), Drawing: l.draw()}, nil
}

// name is that of the node a link leaves or goes to.
func (l *loads) name(link topology.Link, to bool) string {
	end := l.graph.From(link)
	if to {
		end = l.graph.To(link)
	}
	kind := "switch "
	if l.graph.IsHost(end.Node) {
		kind = "host "
	}
	return kind + shown(l.graph.Name(end.Node))
}

// table returns the links that carry most.
func (l *loads) table(title string) Table {
	t := Table{Caption: "The links that carry most, " + title, Columns: columns(3, "link", "from", "to", "volume", "share of all", "busy for")}
	for i, link := range l.used[:min(maxHot, len(l.used))] {
		busy := "rate unknown"
		if rate := l.graph.Rate(link); rate > 0 {
			busy = seconds(8 * float64(l.on(link)) / float64(rate))
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), l.name(link, false), l.name(link, true), bytesText(l.on(link)), share(l.on(link), l.total), busy})
	}
	return t
}
