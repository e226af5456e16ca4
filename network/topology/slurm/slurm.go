// Package slurm reads Slurm's topology.conf, of the plugins topology/tree and
// topology/block, and makes a graph of it.
//
// A topology.conf knows neither ports nor how many cables join two switches: each
// pair that it joins gets one. Switches are numbered in the order of the file,
// hosts in the order of their first mention.
package slurm

import (
	"io"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/topology"
)

// Parse reads a topology.conf. Errors call the file name.
//
// In the tree form each line has SwitchName= and Nodes= or Switches=, with ranges
// as in n[001-018]. In the block form (BlockName= Nodes=) each block is a switch,
// and one switch more, named "blocks", joins them: a block is the unit in which
// hosts are near each other; the file says no more. BlockSizes= is checked and
// otherwise of no use here.
func Parse(r io.Reader, name string) (*topology.Graph, error) {
	p := &parser{in: lines.New(r, name), switches: map[string]int{}, hosts: map[string]int{}}
	for line := ""; p.in.Next(); {
		text, _, _ := strings.Cut(p.in.Text(), "#")
		line += text
		if before, ok := strings.CutSuffix(strings.TrimSpace(line), `\`); ok {
			if line = before + " "; len(line) > lines.MaxLine {
				return nil, p.in.Errorf("more than %d bytes in continued lines", lines.MaxLine)
			}
			continue
		}
		if err := p.line(line); err != nil {
			return nil, err
		}
		line = ""
	}
	if err := p.in.Err(); err != nil {
		return nil, err
	}
	return p.graph()
}

type parser struct {
	in       *lines.Reader
	list     []entry
	blocks   bool
	switches map[string]int // by name
	hosts    map[string]int
	names    []string // of hosts
	members  int      // mentions of hosts and switches
}

// An entry is a line: a switch with the nodes or switches below it.
type entry struct {
	line     int
	name     string
	nodes    []string
	switches []string
}

func (p *parser) line(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	e := entry{line: p.in.Line()}
	seen := map[string]bool{}
	block := false
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		key = strings.ToLower(key)
		if !ok || value == "" {
			return p.in.Expected(word, "key=value, such as SwitchName=leaf1 Nodes=n[001-018]")
		}
		if seen[key] {
			return p.in.Errorf("%s= is given twice", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "switchname":
			e.name = value
		case "blockname":
			e.name, block = value, true
		case "nodes":
			e.nodes, err = p.expand(value)
		case "switches":
			e.switches, err = p.expand(value)
		case "linkspeed":
			_, err = strconv.ParseUint(value, 10, 32) // a number without a unit: Slurm says it is of no use
			if err != nil {
				err = p.in.Expected(word, "LinkSpeed=number")
			}
		case "blocksizes":
			err = p.sizes(value)
		default:
			err = p.in.Expected(word, "one of SwitchName=, Nodes=, Switches=, LinkSpeed=, BlockName=, BlockSizes=")
		}
		if err != nil {
			return err
		}
	}
	if seen["blocksizes"] && len(seen) == 1 {
		return nil
	}
	switch {
	case e.name == "":
		return p.in.Expected(text, "SwitchName= or BlockName=")
	case seen["switchname"] && block || len(p.list) > 0 && block != p.blocks:
		return p.in.Errorf("both SwitchName= and BlockName=: expected the one or the other in a file")
	case block && seen["switches"]:
		return p.in.Errorf("block %s has Switches=: expected Nodes=", lines.Show(e.name))
	case len(e.nodes)+len(e.switches) == 0:
		return p.in.Errorf("switch %s: expected Nodes= or Switches=", lines.Show(e.name))
	}
	if other, ok := p.switches[e.name]; ok {
		return p.in.Errorf("switch %s is in line %d already", lines.Show(e.name), p.list[other].line)
	}
	p.blocks = block
	p.switches[e.name] = len(p.list)
	p.list = append(p.list, e)
	for _, host := range e.nodes {
		if _, ok := p.hosts[host]; !ok {
			p.hosts[host] = len(p.names)
			p.names = append(p.names, host)
		}
	}
	return nil
}

func (p *parser) sizes(value string) error {
	for word := range strings.SplitSeq(value, ",") {
		if n, err := strconv.Atoi(word); err != nil || n < 1 {
			return p.in.Expected(word, "a size of blocks, from 1")
		}
	}
	return nil
}

// expand reads names with ranges.
func (p *parser) expand(value string) ([]string, error) {
	hosts, err := hostlist.Parse(value, "names")
	if err != nil {
		return nil, p.in.Errorf("%w", err)
	}
	if p.members += len(hosts); p.members > topology.MaxCables {
		return nil, p.in.Errorf("more than %d names", topology.MaxCables)
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return names, nil
}

func (p *parser) graph() (*topology.Graph, error) {
	if len(p.list) == 0 {
		return nil, p.in.At(0, "no switch: expected lines such as SwitchName=leaf1 Nodes=n[001-018]")
	}
	switches := len(p.list)
	if p.blocks {
		if _, ok := p.switches[top]; ok {
			return nil, p.in.At(p.list[p.switches[top]].line, "a block is named %q: expected another name", top)
		}
		switches++
	}
	b, err := topology.NewBuilder(len(p.names), switches)
	if err != nil {
		return nil, p.in.At(0, "%w", err)
	}
	for i, name := range p.names {
		b.SetInfo(topology.Node(i), topology.Info{Name: name, Description: name})
	}
	ports := make(map[topology.Node]int32, len(p.names)+switches)
	cable := func(a, c topology.Node) {
		ports[a]++
		ports[c]++
		b.Cable(topology.Cable{A: topology.End{Node: a, Port: ports[a]}, B: topology.End{Node: c, Port: ports[c]}})
	}
	for i, e := range p.list {
		b.SetInfo(b.Switch(i), topology.Info{Name: e.name, Description: e.name})
		for _, host := range e.nodes {
			cable(topology.Node(p.hosts[host]), b.Switch(i))
		}
		if p.blocks {
			cable(b.Switch(i), b.Switch(switches-1))
		}
	}
	for i, e := range p.list {
		for _, below := range e.switches {
			k, ok := p.switches[below]
			if !ok {
				return nil, p.in.At(e.line, "switch %s is in no line of its own", lines.Show(below))
			}
			if k == i {
				return nil, p.in.At(e.line, "switch %s is below itself", lines.Show(below))
			}
			cable(b.Switch(k), b.Switch(i))
		}
	}
	if p.blocks {
		b.SetInfo(b.Switch(switches-1), topology.Info{Name: top})
	} else if err := p.acyclic(); err != nil {
		return nil, err
	}
	g, err := b.Build()
	if err != nil {
		return nil, p.in.At(0, "%w", err)
	}
	return g, nil
}

// top is the switch above all blocks.
const top = "blocks"

// acyclic fails where a switch is below itself over others.
func (p *parser) acyclic() error {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(p.list))
	type step struct{ sw, next int }
	for root := range p.list {
		if state[root] != unseen {
			continue
		}
		path := []step{{sw: root}}
		state[root] = open
		for len(path) > 0 {
			at := &path[len(path)-1]
			below := p.list[at.sw].switches
			if at.next == len(below) {
				state[at.sw] = done
				path = path[:len(path)-1]
				continue
			}
			k := p.switches[below[at.next]]
			at.next++
			switch state[k] {
			case open:
				return p.in.At(p.list[at.sw].line, "switch %s is below itself, over %s", lines.Show(p.list[k].name),
					lines.Show(p.list[at.sw].name))
			case unseen:
				state[k] = open
				path = append(path, step{sw: k})
			}
		}
	}
	return nil
}
