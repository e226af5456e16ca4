package main

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
)

// shownRoute is the output of topo route.
type shownRoute struct {
	From     string      `json:"from"`
	To       string      `json:"to"`
	Routes   string      `json:"routes"` // the rule
	Hops     int         `json:"hops"`   // switches
	Links    int         `json:"links"`
	Switches []shownStep `json:"switches"`
}

// shownStep is a switch on a route.
type shownStep struct {
	Switch string `json:"switch"`
	ID     string `json:"id"` // GUID, or the name
	In     int32  `json:"in"` // ports
	Out    int32  `json:"out"`
	Lane   uint8  `json:"lane"` // on the link behind it
}

// route tells the route between two hosts, or asks a service.
func (t *topoFlags) route(e env, words []string) (int, error) {
	if t.socket != "" {
		if err := t.askable(words); err != nil {
			return 0, err
		}
		return t.ask(e, "query "+words[0]+":"+words[1])
	}
	n, err := t.load(e.stdio.Stderr)
	if err != nil {
		return 0, err
	}
	var ends [2]topology.Node
	for i, name := range words {
		if ends[i], err = n.find(name); err != nil {
			return 0, err
		}
	}
	steps, err := n.router.Append(nil, ends[0], ends[1])
	if err != nil {
		fmt.Fprintf(e.stdio.Stderr, "golaunch: topo: no route from %v\n", err)
		return exitProblem, nil
	}
	g := n.Graph
	if t.format == "dot" {
		on := map[int]bool{}
		for _, s := range steps {
			on[s.Link.Cable()] = true
		}
		var b strings.Builder
		writeDot(&b, g, on)
		return e.print(b.String())
	}
	s := shownRoute{From: g.Name(ends[0]), To: g.Name(ends[1]), Routes: n.router.String(),
		Hops: routing.Hops(steps), Links: routing.Links(steps), Switches: []shownStep{}}
	for i, step := range steps[min(1, len(steps)):] {
		in, out := g.To(steps[i].Link), g.From(step.Link)
		s.Switches = append(s.Switches, shownStep{g.Name(out.Node), tii.SwitchID(g, out.Node), in.Port, out.Port, step.Lane})
	}
	if t.format == "json" {
		return e.printJSON(s)
	}
	return e.print(s.text(n.router.Lanes()))
}

// askable refuses flags that a service cannot serve for the route between two hosts: it
// has a network of its own, and answers in a line of text.
func (t *topoFlags) askable(words []string) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--topology", t.topology != ""},
		{"--tables", t.tables != ""},
		{"--map", t.mapFile != ""},
		{"--hosts", len(t.hosts) > 0},
		{"--hostfile", t.hostfile != ""},
		{"--format", t.format != "text"},
	} {
		if f.given {
			return fmt.Errorf("%s: the service at --socket has its own network and answers in text; leave one of the two out", f.name)
		}
	}
	for _, name := range words {
		if strings.ContainsAny(name, "[],*: ") {
			return fmt.Errorf("%q: expected the name of one host", name)
		}
	}
	return nil
}

func (s *shownRoute) text(lanes int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s: %s (%s), by %s\n", s.From, s.To, count(s.Hops, "hop"), count(s.Links, "link"), s.Routes)
	for _, step := range s.Switches {
		fmt.Fprintf(&b, "  %s", step.Switch)
		if step.ID != step.Switch {
			fmt.Fprintf(&b, " %s", step.ID)
		}
		fmt.Fprintf(&b, ": in at port %d, out at port %d", step.In, step.Out)
		if lanes > 1 {
			fmt.Fprintf(&b, ", lane %d", step.Lane)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
