package match

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/topology"
)

// Map is a user's word for which host of a network a machine is.
type Map struct {
	name    string // of the file
	entries map[string][]entry
}

type entry struct {
	line int    // of the file; 0 as a key
	guid uint64 // of the node, if not 0
	lid  uint16 // if not 0
	text string // else its description or name
}

// String returns the entry's text in a map file.
func (e entry) String() string {
	switch {
	case e.guid != 0:
		return fmt.Sprintf("0x%016x", e.guid)
	case e.lid != 0:
		return fmt.Sprintf("lid %d", e.lid)
	}
	return strconv.Quote(e.text)
}

// ParseMap reads a map file. A line has a host's name in the job, and one in the
// network: the GUID of its adapter (0x0002c90000000034), a LID (lid 19), or the
// adapter's description to the end of the line (n001 mlx5_0), in quotes or not. A host
// with several adapters has several lines, the first adapter first. Lines that begin
// with # are comments. Errors call the file name.
func ParseMap(r io.Reader, name string) (Map, error) {
	in := lines.New(r, name)
	m := Map{name: name, entries: map[string][]entry{}}
	count := 0
	for in.Next() {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		i := strings.IndexAny(text, " \t")
		if i < 0 {
			return Map{}, in.Expected(text, "a host and an adapter, such as n001 0x0002c90000000034")
		}
		if count++; count > topology.MaxNodes {
			return Map{}, in.Errorf("more than %d lines", topology.MaxNodes)
		}
		e := entry{line: in.Line(), text: strings.TrimSpace(text[i:])}
		if digits, ok := strings.CutPrefix(e.text, "0x"); ok {
			guid, err := strconv.ParseUint(digits, 16, 64)
			if err != nil || guid == 0 {
				return Map{}, in.Expected(e.text, "a GUID of up to 16 hexadecimal digits")
			}
			e.guid, e.text = guid, ""
		} else if number, ok := strings.CutPrefix(e.text, "lid "); ok {
			lid, err := strconv.ParseUint(strings.TrimSpace(number), 10, 16)
			if err != nil || lid == 0 {
				return Map{}, in.Expected(e.text, "a LID, such as lid 19")
			}
			e.lid, e.text = uint16(lid), ""
		} else if e.text = strings.Trim(e.text, `"`); e.text == "" {
			return Map{}, in.Expected(text, "a description behind the host")
		}
		key := strings.ToLower(text[:i])
		m.entries[key] = append(m.entries[key], e)
	}
	return m, in.Err()
}

// mapped returns the hosts that the map gives a name; nil if it does not have it.
func (f *Finder) mapped(m Map, name string) ([]topology.Node, error) {
	var hosts []topology.Node
	for _, e := range m.entries[strings.ToLower(name)] {
		found := f.ids[entry{guid: e.guid, lid: e.lid, text: e.text}]
		switch {
		case len(found) == 0:
			return nil, fmt.Errorf("%s:%d: host %s: the network has no host %s", m.name, e.line, name, e)
		case len(found) > 1:
			return nil, fmt.Errorf("%s:%d: host %s: the network has several hosts %s; give a GUID", m.name, e.line, name, e)
		case slices.Contains(hosts, found[0]):
			return nil, fmt.Errorf("%s:%d: host %s: %s is given twice", m.name, e.line, name, e)
		}
		hosts = append(hosts, found[0])
	}
	return hosts, nil
}
