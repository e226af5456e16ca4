package topology

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Limits of a graph, so that a few bytes of input can't ask for all memory.
const (
	MaxNodes  = 1 << 21
	MaxCables = 1 << 23
	MaxPort   = 1 << 20 // highest port number
)

// Builder makes a Graph. The numbers of hosts and switches are fixed at first; names
// and cables come in any order.
type Builder struct {
	hosts  int
	info   []Info
	cables []Cable
}

// NewBuilder begins a graph of unnamed hosts and switches without cables. It
// fails if they are more than MaxNodes.
func NewBuilder(hosts, switches int) (*Builder, error) {
	if hosts < 0 || switches < 0 || hosts > MaxNodes || switches > MaxNodes-hosts {
		return nil, fmt.Errorf("%d hosts and %d switches: at most %d of both are supported", hosts, switches, MaxNodes)
	}
	return &Builder{hosts: hosts, info: make([]Info, hosts+switches)}, nil
}

// Switch returns the node of switch s.
func (b *Builder) Switch(s int) Node { return Node(b.hosts + s) }

// SetInfo sets the properties of a node.
func (b *Builder) SetInfo(n Node, info Info) { b.info[n] = info }

// Grow makes room for n more cables.
func (b *Builder) Grow(n int) { b.cables = slices.Grow(b.cables, n) }

// Cable joins two ports. The first cable is number 0.
func (b *Builder) Cable(c Cable) { b.cables = append(b.cables, c) }

// Build checks the cables and names, and makes the graph. The error names the
// contradiction: a port with two cables, a node or port that cannot be, a name given
// twice.
func (b *Builder) Build() (*Graph, error) {
	if len(b.cables) > MaxCables {
		return nil, fmt.Errorf("%d cables: at most %d are supported", len(b.cables), MaxCables)
	}
	for i, c := range b.cables {
		for _, e := range [...]End{c.A, c.B} {
			if e.Node < 0 || int(e.Node) >= len(b.info) {
				return nil, fmt.Errorf("cable %d: node %d: expected 0..%d", i, e.Node, len(b.info)-1)
			}
			if e.Port < 1 || e.Port > MaxPort {
				return nil, fmt.Errorf("cable %d: port %d: expected 1..%d", i, e.Port, MaxPort)
			}
		}
		if c.Rate < 0 {
			return nil, fmt.Errorf("cable %d: rate %d bit/s is negative", i, c.Rate)
		}
		if c.A == c.B {
			return nil, fmt.Errorf("cable %d: both ends are port %d of one node", i, c.A.Port)
		}
	}
	if err := checkNames(b.info[:b.hosts], "host"); err != nil {
		return nil, err
	}
	if err := checkNames(b.info[b.hosts:], "switch"); err != nil {
		return nil, err
	}
	g := assemble(b.hosts, b.info, b.cables)
	for n := range Node(g.Nodes()) {
		for i, ports := 1, g.Ports(n); i < len(ports); i++ {
			if ports[i].Number == ports[i-1].Number {
				return nil, fmt.Errorf("port %d of %s has two cables: to %s and to %s", ports[i].Number,
					g.Name(n), g.Name(ports[i-1].Peer), g.Name(ports[i].Peer))
			}
		}
	}
	return g, nil
}

func checkNames(infos []Info, kind string) error {
	seen := map[string]bool{}
	for _, info := range infos {
		if info.Name == "" {
			continue
		}
		if seen[info.Name] {
			return errors.New(kind + " " + strconv.Quote(info.Name) + " is named twice")
		}
		seen[info.Name] = true
	}
	return nil
}

// assemble puts cables that are known to be right into the ports of their nodes.
func assemble(hosts int, info []Info, cables []Cable) *Graph {
	g := &Graph{hosts: hosts, info: info, cables: cables, first: make([]int32, len(info)+1)}
	for _, c := range cables {
		g.first[c.A.Node+1]++
		g.first[c.B.Node+1]++
	}
	for n := range info {
		g.first[n+1] += g.first[n]
	}
	g.ports = make([]Port, 2*len(cables))
	next := slices.Clone(g.first)
	for i, c := range cables {
		g.ports[next[c.A.Node]] = Port{Number: c.A.Port, Peer: c.B.Node, PeerNumber: c.B.Port, Out: Link(2 * i)}
		next[c.A.Node]++
		g.ports[next[c.B.Node]] = Port{Number: c.B.Port, Peer: c.A.Node, PeerNumber: c.A.Port, Out: Link(2*i + 1)}
		next[c.B.Node]++
	}
	for n := range Node(len(info)) {
		slices.SortStableFunc(g.Ports(n), func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	}
	return g
}

func numbered(prefix string, i int) string { return prefix + strconv.Itoa(i) }
