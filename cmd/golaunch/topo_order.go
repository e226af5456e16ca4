package main

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/arrange"
)

// ordered is the output of topo order in JSON.
type ordered struct {
	Rule   string   `json:"rule"`
	Free   bool     `json:"free_of_contention"`
	Mean   float64  `json:"mean_messages_on_busiest_link"`
	Max    int      `json:"most_messages_on_a_link"`
	Stages int      `json:"stages_counted"`
	Hosts  []string `json:"hosts"`
	// Missing hosts are the last of Hosts.
	Missing string `json:"missing,omitempty"`
	Others  []rule `json:"others,omitempty"`
}

// rule is an order that was not taken.
type rule struct {
	Rule string  `json:"rule"`
	Mean float64 `json:"mean_messages_on_busiest_link"`
	Max  int     `json:"most_messages_on_a_link"`
}

// order prints the chosen hosts, best order first, as a host file.
func (t *topoFlags) order(e env, _ []string) (int, error) {
	n, err := t.loadText(e)
	if err != nil {
		return 0, err
	}
	nodes, of := n.chosen()
	hosts := n.hosts
	if n.found == nil {
		hosts = make([]job.Host, len(nodes))
		for i, node := range nodes {
			hosts[i].Name = firstWord(n.Graph.Name(node))
		}
	}
	sorted, orders, err := arrange.Order(n.router, hosts, nodes, of, t.seed, progress(e.stdio.Stderr, "stages"))
	if err != nil {
		return 0, err
	}
	best := orders[0]
	if t.format == "json" {
		o := ordered{Rule: best.Rule, Free: best.Free, Mean: best.Mean, Max: best.Max, Stages: best.Stages, Missing: n.missing()}
		for _, other := range orders[1:] {
			o.Others = append(o.Others, rule{other.Rule, other.Mean, other.Max})
		}
		for _, h := range sorted {
			o.Hosts = append(o.Hosts, h.Name)
		}
		return e.printJSON(o)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", &best)
	for _, other := range orders[1:] {
		fmt.Fprintf(&b, "# not taken: %s\n", &other)
	}
	for _, h := range sorted {
		b.WriteString(hostLine(h))
	}
	return e.print(b.String())
}

// firstWord returns the machine's name in that of an adapter, such as n001 HCA-1.
func firstWord(name string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(name), " ")
	return word
}

// hostLine renders a line of a host file.
func hostLine(h job.Host) string {
	line := h.Name
	if h.Slots > 0 {
		line += fmt.Sprintf(" slots=%d", h.Slots)
	}
	if h.User != "" {
		line += " user=" + h.User
	}
	if h.Port > 0 {
		line += fmt.Sprintf(" port=%d", h.Port)
	}
	return line + "\n"
}
