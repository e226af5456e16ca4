// Package hwloc reads the inside of a host from hwloc's XML, as lstopo writes it. It is
// apart from package node since agents are linked with that: readers of XML have tables
// made at the start of every process.
package hwloc

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/topology/node"
)

const (
	maxDepth   = 256
	maxObjects = 1 << 20
)

// ParseXML reads hwloc's XML of the formats 2.0 and 3.0. Objects that the file does not
// allow the process are not in it. Where several NUMA nodes are as near to a core
// (ordinary and high-bandwidth memory), the one with the lowest number counts. Errors
// call the file name.
func ParseXML(r io.Reader, name string) (*node.Node, error) {
	p := &reader{d: xml.NewDecoder(r), name: name}
	p.d.Strict = true
	if err := p.read(); err != nil {
		return nil, err
	}
	return p.host()
}

type reader struct {
	d       *xml.Decoder
	name    string
	version string
	closed  bool
	stack   []object
	objects int
	cores   []node.Core
	numas   []numa
	seen    map[int]bool // units
}

// An object of the file that is open, and the numbers of the objects around it.
type object struct {
	kind    string
	core    int // index of the core, node.None outside of one
	pkg, l3 int
}

type numa struct {
	number int
	units  []uint64
}

func (p *reader) errorf(format string, args ...any) error {
	line, _ := p.d.InputPos()
	return fmt.Errorf("%s:%d: %w", p.name, line, fmt.Errorf(format, args...))
}

func (p *reader) read() error {
	p.seen = map[int]bool{}
	for {
		token, err := p.d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p.errorf("%w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "topology":
				if p.version != "" || p.closed {
					return p.errorf("a second topology in one file")
				}
				p.version = attr(t, "version")
				if p.version != "2.0" && p.version != "3.0" {
					return p.errorf("hwloc XML of version %q: expected 2.0 or 3.0", p.version)
				}
			case "object":
				if p.version == "" {
					return p.errorf("an object outside of a topology: expected hwloc's XML, as lstopo --of xml writes it")
				}
				if err := p.open(t); err != nil {
					return err
				}
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "object":
				p.stack = p.stack[:len(p.stack)-1]
			case "topology":
				p.closed = true
			}
		}
	}
	if !p.closed {
		return p.errorf("no topology: expected hwloc's XML, as lstopo --of xml writes it")
	}
	return nil
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (p *reader) open(t xml.StartElement) error {
	if p.objects++; p.objects > maxObjects || len(p.stack) == maxDepth {
		return p.errorf("more than %d objects, or more than %d in each other", maxObjects, maxDepth)
	}
	o := object{core: node.None, pkg: node.None, l3: node.None}
	if len(p.stack) > 0 {
		o = p.stack[len(p.stack)-1]
	}
	o.kind = attr(t, "type")
	switch o.kind {
	case "":
		return p.errorf("an object without type")
	case "Package":
		o.pkg = p.objects
	case "L3Cache":
		o.l3 = p.objects
	case "Core":
		p.cores = append(p.cores, node.Core{Package: o.pkg, L3: o.l3, NUMA: node.None})
		o.core = len(p.cores) - 1
	case "PU", "NUMANode":
		number, err := strconv.Atoi(attr(t, "os_index"))
		if err != nil || number < 0 || number >= node.MaxPUs {
			return p.errorf("%s of os_index=%q: expected a number below %d", o.kind, attr(t, "os_index"), node.MaxPUs)
		}
		if o.kind == "PU" {
			return p.unit(o, number)
		}
		units, err := bitmap(attr(t, "cpuset"))
		if err != nil {
			return p.errorf("NUMA node %d: %w", number, err)
		}
		p.numas = append(p.numas, numa{number, units})
	}
	p.stack = append(p.stack, o)
	return nil
}

// unit enters a processing unit; one that is in no core is a core.
func (p *reader) unit(o object, number int) error {
	if p.seen[number] {
		return p.errorf("PU %d is there twice", number)
	}
	p.seen[number] = true
	if o.core == node.None {
		p.cores = append(p.cores, node.Core{Package: o.pkg, L3: o.l3, NUMA: node.None})
		o.core = len(p.cores) - 1
	}
	c := &p.cores[o.core]
	c.PUs = append(c.PUs, number)
	p.stack = append(p.stack, o)
	return nil
}

func (p *reader) host() (*node.Node, error) {
	cores := slices.DeleteFunc(p.cores, func(c node.Core) bool { return len(c.PUs) == 0 })
	if len(cores) == 0 {
		return nil, p.errorf("no PU: expected at least one processing unit")
	}
	slices.SortFunc(p.numas, func(a, b numa) int { return a.number - b.number })
	of := map[int]int{}
	for _, n := range p.numas {
		for w, word := range n.units {
			for ; word != 0; word &= word - 1 {
				pu := 64*w + bits.TrailingZeros64(word)
				if _, ok := of[pu]; !ok {
					of[pu] = n.number
				}
			}
		}
	}
	for i := range cores {
		slices.Sort(cores[i].PUs)
		if number, ok := of[cores[i].PUs[0]]; ok {
			cores[i].NUMA = number
		}
	}
	return node.New(cores), nil
}

// bitmap reads a set as hwloc writes it: words of 32 bits in hexadecimal, the
// highest first, empty for 0: "0x00000003,,0x0000ffff".
func bitmap(text string) ([]uint64, error) {
	words := strings.Split(text, ",")
	if len(words) > node.MaxPUs/32 {
		return nil, fmt.Errorf("a cpuset of %d words: expected at most %d", len(words), node.MaxPUs/32)
	}
	set := make([]uint64, (len(words)+1)/2)
	for i, word := range words {
		if word == "" {
			continue
		}
		digits, ok := strings.CutPrefix(word, "0x")
		n, err := strconv.ParseUint(digits, 16, 32)
		if !ok || err != nil {
			return nil, fmt.Errorf("cpuset %q: expected words of 32 bits, such as 0x0000ffff,0x00000003", word)
		}
		k := len(words) - 1 - i
		set[k/2] |= n << (32 * (k % 2))
	}
	return set, nil
}
