package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
)

// exitProblem is the exit status if a network has a problem.
const exitProblem = 1

// errNoPicture is for --format dot where there is nothing to draw.
var errNoPicture = errors.New("--format: there is no picture of it; say text or json")

// checked is the output of topo check.
type checked struct {
	Routes      string      `json:"routes"` // the rule
	Hosts       int         `json:"hosts"`
	Pairs       int         `json:"pairs"`       // of different hosts, in both directions
	Unreachable int         `json:"unreachable"` // of the pairs
	Hops        []hopsCount `json:"hops"`
	CreditLoop  string      `json:"credit_loop,omitempty"`
	Problems    []string    `json:"problems,omitempty"`
}

// hopsCount counts the pairs with so many switches between them.
type hopsCount struct {
	Hops  int `json:"hops"`
	Pairs int `json:"pairs"`
}

// check finds out whether all of the chosen hosts reach each other, and whether routes
// can deadlock.
func (t *topoFlags) check(e env, _ []string) (int, error) {
	n, err := t.loadText(e)
	if err != nil {
		return 0, err
	}
	nodes, _ := n.chosen()
	reached := tii.Reach(n.router, nodes, progress(e.stdio.Stderr, "routes"))
	c := checked{Routes: n.router.String(), Hosts: len(nodes), Pairs: len(nodes) * (len(nodes) - 1), Unreachable: reached.Unreachable}
	for hops, count := range reached.Hops {
		if count > 0 {
			c.Hops = append(c.Hops, hopsCount{hops, count})
		}
	}
	for _, problem := range reached.Problems {
		c.Problems = append(c.Problems, problem.Error())
	}
	if loop := routing.CreditLoop(n.router, progress(e.stdio.Stderr, "credit loops")); loop != nil {
		c.CreditLoop = loop.String()
	}
	status := 0
	if c.Unreachable > 0 || c.CreditLoop != "" || len(c.Problems) > 0 || n.missing() != "" {
		status = exitProblem
	}
	if t.format == "json" {
		_, err = e.printJSON(c)
		return status, err
	}
	_, err = e.print(c.text())
	return status, err
}

func (c *checked) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d pairs, routes by %s\n", count(c.Hosts, "host"), c.Pairs, c.Routes)
	for _, h := range c.Hops {
		fmt.Fprintf(&b, "  %s: %s\n", count(h.Hops, "hop"), count(h.Pairs, "pair"))
	}
	if c.Unreachable > 0 {
		fmt.Fprintf(&b, "  unreachable: %s\n", count(c.Unreachable, "pair"))
	}
	if c.CreditLoop == "" {
		b.WriteString("no credit loop: messages cannot deadlock\n")
	} else {
		fmt.Fprintf(&b, "credit loop, in which messages can wait for each other for ever: %s\n", c.CreditLoop)
	}
	for _, p := range c.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	return b.String()
}
