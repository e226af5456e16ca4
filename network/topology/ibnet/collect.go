package ibnet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/topology"
)

// A collector gathers nodes and the ends of cables in the order of a file, checks
// them against each other, and makes a fabric of them.
type collector struct {
	in    *lines.Reader
	nodes []*node
	byID  map[string]*node
}

type node struct {
	id     string
	line   int
	sw     bool
	ports  int // 0 if unknown
	desc   string
	guid   uint64
	lid    uint16 // of a switch
	lmc    uint8
	ends   map[int32]*end
	number topology.Node
}

// An end of a cable, as described at its own port.
type end struct {
	line       int
	guid       uint64
	lid        uint16
	lmc        uint8
	peer       string
	peerNumber int32
	peerLID    uint16
	rate       int64
}

func newCollector(in *lines.Reader) *collector {
	return &collector{in: in, byID: map[string]*node{}}
}

// add enters a node of the present line.
func (c *collector) add(n *node) error {
	if other := c.byID[n.id]; other != nil {
		return c.in.Errorf("node %s is described in line %d already", lines.Show(n.id), other.line)
	}
	if len(c.nodes) == topology.MaxNodes {
		return c.in.Errorf("more than %d nodes", topology.MaxNodes)
	}
	n.line, n.ends = c.in.Line(), map[int32]*end{}
	c.nodes, c.byID[n.id] = append(c.nodes, n), n
	return nil
}

// plug enters an end of the present line.
func (c *collector) plug(n *node, number int32, e *end) error {
	if n.ports > 0 && int(number) > n.ports {
		return c.in.Errorf("port %d: node %s has ports 1 to %d", number, lines.Show(n.id), n.ports)
	}
	if other := n.ends[number]; other != nil {
		return c.in.Errorf("port %d of node %s is described in line %d already", number, lines.Show(n.id), other.line)
	}
	e.line = c.in.Line()
	n.ends[number] = e
	return nil
}

// aggregation is in the descriptions of the adapters that switches have for
// reductions inside the network.
const aggregation = "Aggregation Node"

func (n *node) isHost() bool { return !n.sw && !strings.Contains(n.desc, aggregation) }

// fabric checks that the ends agree, and makes the fabric.
func (c *collector) fabric() (*Fabric, error) {
	f := &Fabric{}
	var hosts, switches int
	for _, n := range c.nodes {
		switch {
		case n.isHost():
			n.number = topology.Node(hosts)
			hosts++
		case n.sw:
			switches++
		default:
			n.number = topology.NoNode
			f.Aside = append(f.Aside, n.desc)
		}
	}
	if hosts+switches == 0 {
		return nil, c.in.At(0, "no node is described: expected a line such as Switch 36 \"S-0002c90200000001\"")
	}
	b, err := topology.NewBuilder(hosts, switches)
	if err != nil {
		return nil, c.in.At(0, "%w", err)
	}
	switches = 0
	for _, n := range c.nodes {
		if n.sw {
			n.number = b.Switch(switches)
			switches++
		}
	}
	c.name(b)
	for _, n := range c.nodes {
		if err := c.cables(b, f, n); err != nil {
			return nil, err
		}
	}
	if f.Graph, err = b.Build(); err != nil {
		return nil, c.in.At(0, "%w", err)
	}
	slices.SortStableFunc(f.Ports, func(a, b Port) int { return cmp.Compare(a.LID-1, b.LID-1) })
	for i := 1; i < len(f.Ports); i++ {
		if a, b := f.Ports[i-1], f.Ports[i]; b.LID != 0 && a.LID == b.LID {
			return nil, c.in.At(0, "LID %d is that of %s and of %s", a.LID, f.Graph.Name(a.End.Node), f.Graph.Name(b.End.Node))
		}
	}
	return f, nil
}

// name gives each node its description for a name, with the GUID or the file's
// own word for it where several have the same.
func (c *collector) name(b *topology.Builder) {
	times := map[string]int{}
	key := func(n *node) string { return strconv.FormatBool(n.sw) + n.desc }
	for _, n := range c.nodes {
		times[key(n)]++
		if n.desc != n.id {
			times[strconv.FormatBool(n.sw)+n.id]++
		}
	}
	for _, n := range c.nodes {
		if n.number == topology.NoNode {
			continue
		}
		info := topology.Info{Name: n.desc, Description: n.desc, GUID: n.guid, LID: n.lid}
		if n.desc == "" || times[key(n)] > 1 {
			info.Name = n.id
		}
		for _, number := range n.numbers() {
			if info.LID == 0 && !n.sw {
				info.LID = c.lid(n, number)
			}
		}
		b.SetInfo(n.number, info)
	}
}

// lid is that of a port of an adapter, which its own line or the other end's has.
func (c *collector) lid(n *node, number int32) uint16 {
	e := n.ends[number]
	if e.lid == 0 {
		if peer := c.byID[e.peer]; peer != nil && peer.ends[e.peerNumber] != nil {
			return peer.ends[e.peerNumber].peerLID
		}
	}
	return e.lid
}

// numbers returns those of the node's ports, ascending.
func (n *node) numbers() []int32 { return slices.Sorted(maps.Keys(n.ends)) }

// cables checks each end of n against the other, and enters those that are in the
// graph.
func (c *collector) cables(b *topology.Builder, f *Fabric, n *node) error {
	if n.sw {
		f.Ports = append(f.Ports, Port{End: topology.End{Node: n.number}, GUID: n.guid, LID: n.lid, LMC: n.lmc})
	}
	for _, number := range n.numbers() {
		e := n.ends[number]
		peer := c.byID[e.peer]
		if peer == nil {
			return c.in.At(e.line, "node %s is nowhere described: expected all nodes (is the file cut off?)", lines.Show(e.peer))
		}
		back := peer.ends[e.peerNumber]
		if back == nil {
			return c.in.At(e.line, "port %d of node %s is not described there: expected both ends of each cable (is the file cut off?)",
				e.peerNumber, lines.Show(e.peer))
		}
		if back.peer != n.id || back.peerNumber != number {
			return c.in.At(e.line, "cable to port %d of node %s: line %d has that go to port %d of node %s",
				e.peerNumber, lines.Show(e.peer), back.line, back.peerNumber, lines.Show(back.peer))
		}
		lid := e.lid
		if n.sw {
			lid = n.lid
		}
		if lid != 0 && back.peerLID != 0 && lid != back.peerLID {
			return c.in.At(e.line, "LID %d: line %d has LID %d for it", lid, back.line, back.peerLID)
		}
		if n.number == topology.NoNode || peer.number == topology.NoNode {
			continue
		}
		here := topology.End{Node: n.number, Port: number}
		if !n.sw {
			f.Ports = append(f.Ports, Port{End: here, GUID: e.guid, LID: c.lid(n, number), LMC: e.lmc})
		}
		there := topology.End{Node: peer.number, Port: e.peerNumber}
		if here == there {
			return c.in.At(e.line, "port %d is cabled to itself", number)
		}
		if here.Node < there.Node || here.Node == there.Node && here.Port < there.Port {
			b.Cable(topology.Cable{A: here, B: there, Rate: least(e.rate, back.rate)})
		}
	}
	return nil
}

// least returns the lesser of two rates of which one may be unknown: the slower end of a
// cable limits it.
func least(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// speeds are the data rates of one lane, in bit/s.
var speeds = map[string]int64{
	"SDR": 2e9, "DDR": 4e9, "QDR": 8e9, "FDR10": 10e9, "FDR": 13.64e9, "EDR": 25e9, "HDR": 50e9, "NDR": 100e9, "XDR": 200e9,
}

// rateOf reads a rate such as "4xEDR"; 0 if it is none.
func rateOf(word string) int64 {
	width, speed, ok := strings.Cut(word, "x")
	n, err := strconv.Atoi(width)
	if !ok || err != nil || n < 1 || n > 12 {
		return 0
	}
	return int64(n) * speeds[speed]
}

// hex reads a GUID of at most 16 digits, with or without 0x.
func hex(text string) (uint64, error) {
	digits := strings.TrimPrefix(text, "0x")
	guid, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: expected a GUID of up to 16 hexadecimal digits", lines.Show(text))
	}
	return guid, nil
}
