package ibnet

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// SubnetList reads OpenSM's opensm-subnet.lst: a line for each end of each cable,
//
//	{ CA Ports:01 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:.. Rev:.. {n001 HCA-1} LID:0001 PN:01 } { SW .. } PHY=4x LOG=ACT SPD=10
//
// Errors call the file name.
func SubnetList(r io.Reader, name string) (*Fabric, error) {
	in := lines.New(r, name)
	c := newCollector(in)
	for in.Next() {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		if err := subnetLine(c, text); err != nil {
			return nil, err
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return c.fabric()
}

// A side is one end of a cable in a subnet list.
type side struct {
	node   node
	port   int32
	guid   uint64
	lid    uint16
	holder *node
}

func subnetLine(c *collector, text string) error {
	here, rest, err := subnetSide(text)
	if err != nil {
		return c.in.Errorf("%w", err)
	}
	there, rest, err := subnetSide(rest)
	if err != nil {
		return c.in.Errorf("%w", err)
	}
	width, speed := int64(0), int64(0)
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "PHY":
			width, _ = strconv.ParseInt(strings.TrimSuffix(value, "x"), 10, 8)
		case "SPD":
			speed = lanes[value]
		case "LOG":
			if value == "DWN" {
				return nil
			}
		default:
			return c.in.Expected(word, "PHY=4x LOG=ACT SPD=14")
		}
	}
	for _, s := range []*side{&here, &there} {
		if s.holder = c.byID[s.node.id]; s.holder == nil {
			n := s.node
			if err := c.add(&n); err != nil {
				return err
			}
			s.holder = &n
		} else if s.holder.sw != s.node.sw || s.holder.desc != s.node.desc || s.holder.lid != s.node.lid || s.holder.ports != s.node.ports {
			return c.in.Errorf("node %s is another in line %d", lines.Show(s.node.id), s.holder.line)
		}
	}
	return c.plug(here.holder, here.port, &end{guid: here.guid, lid: here.lid,
		peer: there.node.id, peerNumber: there.port, peerLID: there.lid, rate: max(0, width) * speed})
}

// lanes are the data rates of a lane, in bit/s, by the word for its speed.
var lanes = map[string]int64{
	"2.5": speeds["SDR"], "5": speeds["DDR"], "10": speeds["QDR"], "FDR10": speeds["FDR10"], "14": speeds["FDR"],
	"25": speeds["EDR"], "50": speeds["HDR"], "100": speeds["NDR"], "200": speeds["XDR"],
}

// subnetSide cuts { .. } off the front of s.
func subnetSide(s string) (side, string, error) {
	var d side
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") {
		return d, "", fmt.Errorf("%s: expected { CA Ports:.. } or { SW Ports:.. }", lines.Show(s))
	}
	// A description in braces of its own ends before the LID.
	open := strings.IndexByte(s[1:], '{')
	shut := strings.Index(s, "} LID:")
	if open < 0 || shut < open+2 {
		return d, "", fmt.Errorf("%s: expected {description} LID:.. PN:.. there", lines.Show(s))
	}
	d.node.desc = strings.TrimSpace(s[open+2 : shut])
	tail, rest, ok := strings.Cut(s[shut+2:], "}")
	if !ok {
		return d, "", fmt.Errorf("%s: expected LID:.. PN:.. }", lines.Show(s[shut+2:]))
	}
	words := strings.Fields(s[1 : open+1])
	if len(words) == 0 {
		return d, "", errors.New("expected CA, SW or Rt")
	}
	switch kind, _, _ := strings.Cut(words[0], "-"); strings.ToUpper(kind) { // CA-SM runs the subnet manager
	case "SW":
		d.node.sw = true
	case "CA", "RT":
	default:
		return d, "", fmt.Errorf("%s: expected CA, SW or Rt", lines.Show(words[0]))
	}
	seen := map[string]bool{}
	for _, word := range append(words[1:], strings.Fields(tail)...) {
		key, value, _ := strings.Cut(word, ":")
		base, bits := 16, 64
		switch key {
		case "Ports", "PN":
			bits = 8
		case "LID":
			bits = 16
		}
		n, err := strconv.ParseUint(value, base, bits)
		if err != nil {
			return d, "", fmt.Errorf("%s: expected %s: and a hexadecimal number of %d bits", lines.Show(word), key, bits)
		}
		seen[key] = true
		switch key {
		case "Ports":
			d.node.ports = int(n)
		case "NodeGUID":
			d.node.guid = n
			d.node.id = fmt.Sprintf("%016x", n)
		case "PortGUID":
			d.guid = n
		case "LID":
			d.lid = uint16(n)
		case "PN":
			d.port = int32(n)
		}
	}
	for _, key := range []string{"Ports", "NodeGUID", "LID", "PN"} {
		if !seen[key] {
			return d, "", fmt.Errorf("%s: expected %s: there", lines.Show(s), key)
		}
	}
	if d.port == 0 {
		return d, "", errors.New("PN:00: expected a port from 1")
	}
	if d.node.sw {
		d.node.lid = d.lid
	}
	return d, rest, nil
}
