package ibnet

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

const (
	// maxLID is the highest unicast LID.
	maxLID = 0xbfff
	// maxEntries bounds all tables of a file.
	maxEntries = 1 << 29
)

// Unreachable stands for a LID that a switch does not forward.
const Unreachable uint8 = 255

// Tables are the linear forwarding tables of a fabric's switches.
type Tables struct {
	Switches []Table // in the order of the file; no GUID twice
	// Destinations lists the LIDs that the file names.
	Destinations []Destination
}

// Table is a switch's linear forwarding table.
type Table struct {
	GUID uint64
	LID  uint16 // 0 where the file does not say
	Name string // empty where the file does not say
	// Ports has the port by which the switch forwards to each LID from 0 on:
	// 0 is the switch itself. LIDs beyond its end are unreachable.
	Ports []uint8
}

// Port returns the port to a LID, Unreachable if there is none.
func (t *Table) Port(lid uint16) uint8 {
	if int(lid) >= len(t.Ports) {
		return Unreachable
	}
	return t.Ports[lid]
}

// Destination is the device that answers to a LID.
type Destination struct {
	LID    uint16
	Switch bool
	GUID   uint64 // of the port
	Name   string // the node's description
}

// ParseTables reads forwarding tables as they are printed by OpenSM (opensm-lfts.dump,
// opensm.fdbs), dump_lfts, dump_fts or ibroute, one switch after the other. Dump_lfts
// leaves out the highest LID: OpenSM's are to be preferred. Errors call the file name.
func ParseTables(r io.Reader, name string) (*Tables, error) {
	p := &tablesParser{in: lines.New(r, name), seen: map[uint64]int{}, names: map[uint16]Destination{}}
	for p.in.Next() {
		if err := p.line(strings.TrimSpace(p.in.Text())); err != nil {
			return nil, err
		}
	}
	if err := p.in.Err(); err != nil {
		return nil, err
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	if len(p.out.Switches) == 0 {
		return nil, p.in.At(0, "no table: expected a line such as Unicast lids [0-22] of switch Lid 2 guid 0x0002c90201000004 ('leaf1'):")
	}
	for _, lid := range slices.Sorted(maps.Keys(p.names)) {
		p.out.Destinations = append(p.out.Destinations, p.names[lid])
	}
	return &p.out, nil
}

type tablesParser struct {
	in      *lines.Reader
	out     Tables
	seen    map[uint64]int // line of each switch
	names   map[uint16]Destination
	entries int  // of all tables
	started int  // line of the table that is read, 0 for none
	counted int  // its entries
	footer  bool // it ends in a line that counts them
}

func (p *tablesParser) line(text string) error {
	switch {
	case text == "" || text[0] == '#' || strings.HasPrefix(text, "Lid ") || strings.HasPrefix(text, "LID ") || text == "Port     Info" ||
		strings.HasPrefix(text, "***"):
		return nil
	case strings.HasPrefix(text, "Unicast lids "):
		return p.begin(text, "guid ", true)
	case strings.HasPrefix(text, "dump_ucast_routes: Switch "):
		return p.begin(text, "Switch ", false)
	case strings.HasPrefix(text, "0x"):
		return p.entry(text)
	case strings.HasSuffix(text, "lids dumped"):
		return p.count(text)
	}
	return p.in.Expected(text, "a switch (Unicast lids ..), or a LID and a port (0x0001 005)")
}

// begin reads the line before a table.
func (p *tablesParser) begin(text, before string, footer bool) error {
	if err := p.end(); err != nil {
		return err
	}
	i := strings.LastIndex(text, before)
	if i < 0 {
		return p.in.Expected(text, "the switch's guid")
	}
	word, rest, _ := strings.Cut(text[i+len(before):], " ")
	guid, err := hex(word)
	if err != nil {
		return p.in.Errorf("%w", err)
	}
	if line := p.seen[guid]; line > 0 {
		return p.in.Errorf("switch 0x%016x has a table in line %d already", guid, line)
	}
	t := Table{GUID: guid}
	t.Name = strings.Trim(strings.TrimSuffix(strings.TrimSpace(rest), ":"), "()'")
	words := strings.Fields(text[:i])
	for k, word := range words {
		if word == "Lid" && k+1 < len(words) {
			lid, err := strconv.ParseUint(words[k+1], 10, 16)
			if err != nil || lid == 0 || lid > maxLID {
				return p.in.Expected(words[k+1], "a LID")
			}
			t.LID = uint16(lid)
		}
	}
	p.seen[guid] = p.in.Line()
	p.out.Switches = append(p.out.Switches, t)
	p.started, p.counted, p.footer = p.in.Line(), 0, footer
	return nil
}

// end checks that the last table is whole.
func (p *tablesParser) end() error {
	if p.started > 0 && p.footer {
		return p.in.At(p.started, "the table that begins here is cut off: expected a line such as \"%d lids dumped\" at its end", p.counted)
	}
	p.started = 0
	return nil
}

// count reads "22 lids dumped" or "22 valid lids dumped".
func (p *tablesParser) count(text string) error {
	n, err := strconv.Atoi(strings.Fields(text)[0])
	if err != nil || p.started == 0 {
		return p.in.Expected(text, "the number of lids after a table")
	}
	// OpenSM counts the unreachable ones that it leaves out.
	if n < p.counted || n > p.counted && strings.Contains(text, "valid") {
		return p.in.Errorf("%s: expected %d, the lids since line %d", lines.Show(text), p.counted, p.started)
	}
	p.started = 0
	return nil
}

var errEntry = errors.New("expected a LID and a port, such as 0x0001 005")

// entry reads a LID, a port, and mostly the destination.
func (p *tablesParser) entry(text string) error {
	if p.started == 0 {
		return p.in.Expected(text, "a switch before its table")
	}
	word, rest, _ := strings.Cut(text, " ")
	lid, err := strconv.ParseUint(word[2:], 16, 16)
	if err != nil || lid > maxLID {
		return p.in.Expected(word, fmt.Sprintf("a LID, 0x0001 to %#x", maxLID))
	}
	rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), ":"))
	word, rest, _ = strings.Cut(rest, " ")
	port := Unreachable
	if word != "UNREACHABLE" {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil || n == uint64(Unreachable) {
			return p.in.Errorf("%s: %w", lines.Show(text), errEntry)
		}
		port = uint8(n)
	}
	t := &p.out.Switches[len(p.out.Switches)-1]
	for len(t.Ports) <= int(lid) {
		if p.entries == maxEntries {
			return p.in.Errorf("more than %d entries in all tables", maxEntries)
		}
		t.Ports = append(t.Ports, Unreachable)
		p.entries++
	}
	if t.Ports[lid] != Unreachable {
		return p.in.Errorf("LID %#x is in this table already, by port %d", lid, t.Ports[lid])
	}
	t.Ports[lid] = port
	p.counted++
	if port == 0 && t.LID == 0 {
		t.LID = uint16(lid)
	}
	return p.destination(uint16(lid), rest)
}

// destination reads Channel Adapter portguid 0x..: 'n001 HCA-1', which stands in
// parentheses or behind #. Other text says nothing.
func (p *tablesParser) destination(lid uint16, text string) error {
	kind, rest, ok := strings.Cut(strings.TrimLeft(text, ":#( "), "portguid ")
	if !ok {
		return nil
	}
	word, desc, _ := strings.Cut(rest, ":")
	guid, err := hex(word)
	if err != nil {
		return p.in.Errorf("%w", err)
	}
	d := Destination{LID: lid, Switch: strings.HasPrefix(kind, "Switch"), GUID: guid,
		Name: strings.TrimSuffix(strings.TrimSpace(desc), ")")}
	d.Name = strings.TrimSpace(strings.Trim(d.Name, "'"))
	if other, ok := p.names[lid]; ok && other.GUID != guid {
		return p.in.Errorf("LID %#x is port 0x%016x here, 0x%016x in another table", lid, guid, other.GUID)
	} else if ok {
		return nil
	}
	p.names[lid] = d
	return nil
}
