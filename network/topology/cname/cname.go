// Package cname reads the coordinates of a Cray XC's nodes and makes a graph of
// the machine that they are in.
//
// A node's name, c3-0c2s15n1, has its cabinet in the row, the row, the chassis of
// the cabinet, the slot (blade) of the chassis, and the node of the blade. A group
// is two neighboring cabinets of three chassis [Sahoo 3.1].
package cname

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/topology"
)

// Sizes of a Cray XC.
const (
	Cabinets = 2 // of a group
	Chassis  = 3 // of a cabinet
	Slots    = 16
	Nodes    = 4 // of a blade
)

// Coordinate is the place of a node.
type Coordinate struct {
	Cabinet, Row, Chassis, Slot, Node int
}

// String returns the node's name, such as c3-0c2s15n1.
func (c Coordinate) String() string {
	return fmt.Sprintf("c%d-%dc%ds%dn%d", c.Cabinet, c.Row, c.Chassis, c.Slot, c.Node)
}

// Parse reads a node's name. A name of its router (c0-0c0s3a0n1) is the node's as
// well.
func Parse(text string) (Coordinate, error) {
	var c Coordinate
	rest := text
	for _, x := range []struct {
		letter string
		n      *int
		limit  int
	}{
		{"c", &c.Cabinet, 1024}, {"-", &c.Row, 1024}, {"c", &c.Chassis, Chassis}, {"s", &c.Slot, Slots}, {"n", &c.Node, Nodes},
	} {
		if x.letter == "n" {
			rest = strings.Replace(rest, "a0n", "n", 1)
		}
		after, ok := strings.CutPrefix(rest, x.letter)
		digits := 0
		for digits < len(after) && digits < 5 && after[digits] >= '0' && after[digits] <= '9' {
			digits++
		}
		if !ok || digits == 0 {
			return Coordinate{}, fmt.Errorf("%s: expected a Cray node's name, such as c3-0c2s15n1", lines.Show(text))
		}
		*x.n, _ = strconv.Atoi(after[:digits])
		if *x.n >= x.limit {
			return Coordinate{}, fmt.Errorf("%s: %s%d: expected at most %d", lines.Show(text), x.letter, *x.n, x.limit-1)
		}
		rest = after[digits:]
	}
	if rest != "" {
		return Coordinate{}, fmt.Errorf("%s: expected nothing behind the node", lines.Show(text))
	}
	return c, nil
}

// Host is a node of the machine and its name.
type Host struct {
	Name string
	At   Coordinate
}

// ParseHosts reads the places of hosts. A line has a host's name and the content of its
// /proc/cray_xt/cname ("nid00012 c0-0c0s3n0", "nid00012: c0-0c0s3n0"), or is one of
// xtprocadmin: then the first number N makes the name nid0000N. Errors call the file
// name.
func ParseHosts(r io.Reader, name string) ([]Host, error) {
	in := lines.New(r, name)
	var hosts []Host
	names, places := map[string]int{}, map[Coordinate]int{}
	for in.Next() {
		text, _, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 || words[0] == "NID" {
			continue
		}
		h, err := host(words)
		if err != nil {
			return nil, in.Errorf("%w", err)
		}
		if line := names[h.Name]; line > 0 {
			return nil, in.Errorf("host %s is in line %d already", lines.Show(h.Name), line)
		}
		if line := places[h.At]; line > 0 {
			return nil, in.Errorf("%s has another host in line %d", h.At, line)
		}
		if len(hosts) == topology.MaxNodes {
			return nil, in.Errorf("more than %d hosts", topology.MaxNodes)
		}
		names[h.Name], places[h.At] = in.Line(), in.Line()
		hosts = append(hosts, h)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, in.At(0, "no host: expected lines such as nid00012 c0-0c0s3n0")
	}
	return hosts, nil
}

func host(words []string) (Host, error) {
	var h Host
	found := -1
	var bad error
	for i, word := range words {
		at, err := Parse(word)
		if err == nil {
			h.At, found = at, i
			break
		}
		if bad == nil && strings.HasPrefix(word, "c") && strings.Contains(word, "-") {
			bad = err
		}
	}
	if found < 0 && bad != nil {
		return h, bad
	}
	if found < 1 {
		return h, fmt.Errorf("%s: expected a host and its place, such as nid00012 c0-0c0s3n0", lines.Show(strings.Join(words, " ")))
	}
	h.Name = strings.TrimSuffix(words[0], ":")
	if n, err := strconv.ParseUint(words[0], 10, 31); err == nil {
		h.Name = fmt.Sprintf("nid%05d", n)
	}
	if h.Name == "" {
		return h, fmt.Errorf("%s: expected a host's name", lines.Show(words[0]))
	}
	return h, nil
}

// Graph returns the machine as far as the hosts tell it: all routers of the groups that
// they are in, in the order of row and cabinet, each with ports ports to other groups,
// and these hosts, in their order. If groups are not those of Cabinets neighbors, the
// graph is wrong about them: names tell no more.
func Graph(hosts []Host, ports int) (*topology.Graph, error) {
	type group struct{ row, pair int }
	number := map[group]int{}
	var groups []group
	for _, h := range hosts {
		g := group{h.At.Row, h.At.Cabinet / Cabinets}
		if _, ok := number[g]; !ok {
			number[g] = 0
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.pair, b.pair)) })
	for i, g := range groups {
		number[g] = i
	}
	layout := topology.Layout{P: Nodes, A: Cabinets * Chassis * Slots, H: ports, G: len(groups), Chassis: Cabinets * Chassis}
	whole, err := topology.NewDragonflyGraph(layout, topology.CrayRates)
	if err != nil {
		return nil, err
	}
	list := make([]topology.Node, len(hosts))
	for i, h := range hosts {
		chassis := h.At.Cabinet%Cabinets*Chassis + h.At.Chassis
		router := number[group{h.At.Row, h.At.Cabinet / Cabinets}]*layout.A + chassis*Slots + h.At.Slot
		list[i] = topology.Node(router*Nodes + h.At.Node)
	}
	g, err := whole.Select(list)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return g.Named(names)
}
