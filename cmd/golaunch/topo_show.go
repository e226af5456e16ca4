package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
)

// shown is the output of topo show.
type shown struct {
	Network   string       `json:"network"`
	Form      string       `json:"form"`
	Kind      string       `json:"kind"` // of the family, or irregular
	Family    string       `json:"family,omitempty"`
	Irregular string       `json:"irregular,omitempty"` // why
	Hosts     int          `json:"hosts"`
	Switches  int          `json:"switches"`
	Cables    int          `json:"cables"`
	Rates     []shownRate  `json:"rates,omitempty"`
	Routes    string       `json:"routes"`
	Depth     int          `json:"depth"`
	Depths    []shownDepth `json:"depths,omitempty"`
	Job       *shownJob    `json:"job,omitempty"`
	Skipped   string       `json:"skipped,omitempty"` // why there is no depth
}

// shownRate counts the cables of a rate.
type shownRate struct {
	Rate   int64 `json:"bits_per_second"`
	Cables int   `json:"cables"`
}

// shownDepth is a depth of the tree of clusters, from the top.
type shownDepth struct {
	Depth    int `json:"depth"`
	Clusters int `json:"clusters"`
	Smallest int `json:"smallest"` // in hosts
	Largest  int `json:"largest"`
}

// shownJob describes the network between a job's hosts.
type shownJob struct {
	Hosts        int     `json:"hosts"`
	Missing      string  `json:"missing,omitempty"`
	Leaves       int     `json:"leaf_switches"`
	HostsPerLeaf float64 `json:"hosts_per_leaf_switch"`
	Balance      float64 `json:"balance"`
	Sharing      int     `json:"hosts_sharing_links"`
	Clusters     []int   `json:"clusters"` // at depth 1, 2, ...
}

// show describes the network.
func (t *topoFlags) show(e env, _ []string) (int, error) {
	n, err := t.load(e.stdio.Stderr)
	if err != nil {
		return 0, err
	}
	n.warn(e.stdio.Stderr)
	if t.format == "dot" {
		var b strings.Builder
		writeDot(&b, n.Graph, nil)
		return e.print(b.String())
	}
	s := describe(n)
	if n.Graph.Hosts() > cluster.MaxHosts {
		s.Skipped = fmt.Sprintf("more than %d hosts", cluster.MaxHosts)
	} else if err := s.discover(n, progress(e.stdio.Stderr, "routes")); err != nil {
		return 0, err
	}
	if t.format == "json" {
		return e.printJSON(s)
	}
	return e.print(s.text())
}

// describe returns the facts that cables alone tell.
func describe(n *network) *shown {
	g := n.Graph
	s := &shown{Network: n.from, Form: n.Form, Kind: "irregular", Hosts: g.Hosts(), Switches: g.Switches(), Cables: g.Cables(), Routes: n.router.String()}
	if f := g.Family(); f != nil {
		s.Kind, s.Family = f.Kind(), f.String()
	} else if n.Irregular != nil {
		s.Irregular = strings.TrimPrefix(n.Irregular.Error(), "irregular: ")
	}
	count := map[int64]int{}
	for i := range g.Cables() {
		count[g.Cable(i).Rate]++
	}
	for rate, cables := range count {
		if rate > 0 {
			s.Rates = append(s.Rates, shownRate{rate, cables})
		}
	}
	slices.SortFunc(s.Rates, func(a, b shownRate) int { return int(min(max(a.Rate-b.Rate, -1), 1)) })
	return s
}

// discover adds the facts that the routes tell.
func (s *shown) discover(n *network, loop topology.Loop) error {
	known, err := tii.Discover(n.router, loop)
	if err != nil {
		return err
	}
	s.Depth = known.Depth()
	for depth := 1; depth <= s.Depth; depth++ {
		groups := known.Tree().Groups(depth)
		d := shownDepth{Depth: depth, Clusters: len(groups), Smallest: len(groups[0])}
		for _, group := range groups {
			d.Smallest, d.Largest = min(d.Smallest, len(group)), max(d.Largest, len(group))
		}
		s.Depths = append(s.Depths, d)
	}
	nodes, _ := n.chosen()
	if n.found == nil {
		return nil
	}
	job, err := known.Job(nodes)
	if err != nil {
		return err
	}
	s.Job = &shownJob{Hosts: len(nodes), Missing: n.missing(), Leaves: len(job.Leaves()), HostsPerLeaf: job.HostsPerLeaf(),
		Balance: job.Balance(), Sharing: len(job.SharingLinks(loop))}
	for depth := 1; depth <= s.Depth; depth++ {
		s.Job.Clusters = append(s.Job.Clusters, job.Clusters(depth))
	}
	return nil
}

// text returns the output for people.
func (s *shown) text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s", name)
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line("network", "%s (%s)", s.Network, s.Form)
	switch {
	case s.Family != "":
		line("family", "%s", s.Family)
	case s.Irregular != "":
		line("family", "irregular: %s", s.Irregular)
	default:
		line("family", "irregular")
	}
	line("hosts", "%d", s.Hosts)
	line("switches", "%d", s.Switches)
	line("cables", "%d", s.Cables)
	for _, r := range s.Rates {
		line("", "%d at %s", r.Cables, bits(r.Rate))
	}
	line("routes", "%s", s.Routes)
	if s.Skipped != "" {
		line("depth", "not looked for: %s", s.Skipped)
		return b.String()
	}
	line("depth", "%d", s.Depth)
	for _, d := range s.Depths {
		line("", "depth %d: %s of %s", d.Depth, count(d.Clusters, "cluster"), between(d.Smallest, d.Largest, "host"))
	}
	if j := s.Job; j != nil {
		line("job", "%s on %s", count(j.Hosts, "host"), count(j.Leaves, "leaf switch"))
		if j.Missing != "" {
			line("", "not in the network: %s", j.Missing)
		}
		line("", "%.2f hosts on a leaf switch, balance %.2f", j.HostsPerLeaf, j.Balance)
		line("", "%s a link above the leaf switch with another", count(j.Sharing, "host shares", "hosts share"))
		for i, clusters := range j.Clusters {
			line("", "depth %d: in %s", i+1, count(clusters, "cluster"))
		}
	}
	return b.String()
}

// count renders a number and a word in its singular or plural.
func count(n int, word string, plural ...string) string {
	switch {
	case n == 1:
	case len(plural) > 0:
		word = plural[0]
	case strings.HasSuffix(word, "ch"):
		word += "es"
	default:
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

func between(low, high int, word string) string {
	if low == high {
		return count(low, word)
	}
	return fmt.Sprintf("%d to %s", low, count(high, word))
}

// bits renders a rate in bit/s.
func bits(rate int64) string {
	switch {
	case rate >= 1e9:
		return fmt.Sprintf("%.4g Gb/s", float64(rate)/1e9)
	case rate >= 1e6:
		return fmt.Sprintf("%.4g Mb/s", float64(rate)/1e6)
	}
	return fmt.Sprintf("%d b/s", rate)
}

// printJSON prints a value as JSON.
func (e env) printJSON(v any) (status int, err error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // a value that cannot be
	}
	return e.print(string(text) + "\n")
}

// writeDot writes a graph for Graphviz: parallel cables as one edge with their
// number, and the cables of bold, if there are any, bold.
func writeDot(w io.Writer, g *topology.Graph, bold map[int]bool) {
	fmt.Fprintln(w, "graph network {\n\tnode [shape=box];")
	for n := range topology.Node(g.Nodes()) {
		shape := ""
		if g.IsHost(n) {
			shape = " [shape=plaintext]"
		}
		fmt.Fprintf(w, "\t%s%s;\n", dotName(g, n), shape)
	}
	type edge struct{ a, b topology.Node }
	cables, thick := map[edge]int{}, map[edge]bool{}
	var order []edge
	for i := range g.Cables() {
		c := g.Cable(i)
		k := edge{min(c.A.Node, c.B.Node), max(c.A.Node, c.B.Node)}
		if cables[k] == 0 {
			order = append(order, k)
		}
		cables[k]++
		thick[k] = thick[k] || bold[i]
	}
	for _, k := range order {
		var attributes []string
		if cables[k] > 1 {
			attributes = append(attributes, fmt.Sprintf("label=%d", cables[k]))
		}
		if thick[k] {
			attributes = append(attributes, "style=bold", "color=red")
		}
		text := ""
		if attributes != nil {
			text = " [" + strings.Join(attributes, ", ") + "]"
		}
		fmt.Fprintf(w, "\t%s -- %s%s;\n", dotName(g, k.a), dotName(g, k.b), text)
	}
	fmt.Fprintln(w, "}")
}

// dotName returns a node's name in quotes. A host and a switch may have the same name.
func dotName(g *topology.Graph, n topology.Node) string {
	name := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(g.Name(n))
	if !g.IsHost(n) {
		name = "switch " + name
	}
	return `"` + name + `"`
}
