package ibnet

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// Discover reads the output of ibnetdiscover, or a network file of ibsim (whose include
// and do lines it refuses). Errors call the file name.
func Discover(r io.Reader, name string) (*Fabric, error) {
	in := lines.New(r, name)
	d := &discover{collector: newCollector(in)}
	for in.Next() {
		if err := d.line(strings.TrimSpace(in.Text())); err != nil {
			return nil, err
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return d.fabric()
}

type discover struct {
	*collector
	now  *node  // node whose ports follow
	guid uint64 // of the node that follows, from the line before
}

func (d *discover) line(text string) error {
	word, rest, _ := strings.Cut(strings.Replace(text, "\t", " ", 1), " ")
	switch kind := strings.ToLower(word); {
	case text == "" || text[0] == '#':
		return nil
	case text[0] == '[':
		return d.port(text)
	case strings.HasPrefix(rest, "-") || strings.HasPrefix(text, "Chassis ") || text == "Non-Chassis Nodes":
		return nil
	case kind == "switch":
		return d.node(rest, true)
	case kind == "ca" || kind == "hca" || kind == "rt":
		return d.node(rest, false)
	case word == "include" || word == "do":
		return d.in.Expected(text, "a network in one file, without ibsim's commands")
	case noise(word):
		return nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(key, " \"") {
		return d.in.Expected(text, "a node (Switch 36 \"S-..\"), a port ([1] \"H-..\"[1]) or key=value")
	}
	if key == "switchguid" || key == "caguid" || key == "rtguid" || key == "nodeguid" {
		value, _, _ = strings.Cut(value, "(")
		guid, err := hex(strings.TrimSpace(value))
		if err != nil {
			return d.in.Errorf("%w", err)
		}
		d.guid = guid
	}
	d.now = nil
	return nil
}

// noise says whether a line begins with a place in the tools' source, as their
// warnings do: "src/query_smp.c:195;".
func noise(word string) bool {
	file, line, ok := strings.Cut(word, ":")
	line = strings.TrimRight(line, ";:")
	_, err := strconv.Atoi(line)
	return ok && err == nil && strings.HasSuffix(file, ".c")
}

var errCut = errors.New("cut off")

// quoted cuts a text in quotes off the front of s.
func quoted(s string) (inner, rest string, err error) {
	if s == "" || s[0] != '"' {
		return "", s, errCut
	}
	inner, rest, ok := strings.Cut(s[1:], `"`)
	if !ok {
		return "", s, errCut
	}
	return inner, strings.TrimSpace(rest), nil
}

// bracketed cuts a number in brackets off the front of s.
func bracketed(s string) (n int32, rest string, err error) {
	if s == "" || s[0] != '[' {
		return 0, s, errCut
	}
	inner, rest, ok := strings.Cut(s[1:], "]")
	x, err := strconv.Atoi(strings.TrimSpace(inner))
	if !ok || err != nil || x < 1 || x > 255 {
		return 0, s, errCut
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "[ext ") { // the port's label on a chassis
		_, rest, _ = strings.Cut(rest, "]")
	}
	return int32(x), strings.TrimSpace(rest), nil
}

// node reads the rest of a line behind Switch or Ca: 36 "S-..." # "name" base port 0
// lid 6 lmc 0.
func (d *discover) node(text string, sw bool) error {
	text = strings.TrimSpace(text)
	i := strings.IndexByte(text, '"')
	if i < 0 {
		return d.in.Expected(text, `a number of ports and a name: 36 "S-0002c90200000001"`)
	}
	ports, err := strconv.Atoi(strings.TrimSpace(text[:i]))
	if err != nil || ports < 1 || ports > 255 {
		return d.in.Expected(text[:i], "1 to 255 ports")
	}
	id, rest, err := quoted(text[i:])
	if err != nil || id == "" {
		return d.in.Expected(text[i:], `a name in quotes: "S-0002c90200000001"`)
	}
	n := &node{id: id, sw: sw, ports: ports, desc: id, guid: d.guid}
	d.guid = 0
	if _, digits, ok := strings.Cut(id, "-"); ok && len(digits) == 16 {
		if guid, err := hex(digits); err == nil {
			if n.guid != 0 && n.guid != guid {
				return d.in.Errorf("node %s: the line before has GUID 0x%016x for it", lines.Show(id), n.guid)
			}
			n.guid = guid
		}
	}
	if comment, ok := strings.CutPrefix(rest, "#"); ok {
		if desc, more, err := quoted(strings.TrimSpace(comment)); err == nil {
			n.desc = strings.TrimSpace(desc)
			rest = more
		}
	}
	if n.lid, n.lmc, _, err = lidOf(rest); err != nil {
		return d.in.Errorf("%w", err)
	}
	d.now = n
	return d.add(n)
}

// lidOf reads the first "lid 6 lmc 0" and the rate of a comment.
func lidOf(text string) (lid uint16, lmc uint8, rate int64, err error) {
	words := strings.Fields(text)
	seen := false
	for i, word := range words {
		switch {
		case word == "lid" && i+1 < len(words) && !seen:
			n, err := strconv.Atoi(words[i+1])
			if err != nil || n < 0 || n > maxLID {
				return 0, 0, 0, errors.New(lines.Show(words[i+1]) + ": expected a LID, 0 to " + strconv.Itoa(maxLID))
			}
			lid, seen = uint16(n), true
		case word == "lmc" && i+1 < len(words):
			n, err := strconv.Atoi(words[i+1])
			if err != nil || n < 0 || n > 7 {
				return 0, 0, 0, errors.New(lines.Show(words[i+1]) + ": expected an LMC, 0 to 7")
			}
			lmc = uint8(n)
		default:
			rate = max(rate, rateOf(word))
		}
	}
	return lid, lmc, rate, nil
}

// port reads [1](guid) "S-..."[7](guid) # lid 16 lmc 1 "name" lid 3 4xSDR, of an
// adapter, or [7] "H-..."[1](guid) # "name" lid 16 4xSDR, of a switch.
func (d *discover) port(text string) error {
	const form = `a port and where its cable goes: [1] "S-0002c90200000001"[7]`
	if d.now == nil {
		return d.in.Expected(text, "a node before its ports")
	}
	var e end
	number, rest, err := bracketed(text)
	if err != nil {
		return d.in.Expected(text, form)
	}
	if e.guid, rest, err = guidIn(rest); err != nil {
		return d.in.Errorf("%w", err)
	}
	if e.peer, rest, err = quoted(rest); err != nil {
		return d.in.Expected(text, form)
	}
	if e.peerNumber, rest, err = bracketed(rest); err != nil {
		return d.in.Expected(text, form)
	}
	if _, rest, err = guidIn(rest); err != nil {
		return d.in.Errorf("%w", err)
	}
	comment, _ := strings.CutPrefix(rest, "#")
	own, after := comment, ""
	if i := strings.IndexByte(comment, '"'); i >= 0 {
		own = comment[:i]
		_, after, err = quoted(comment[i:])
		if err != nil {
			return d.in.Expected(comment[i:], "a name in quotes")
		}
	}
	var rate int64
	if e.lid, e.lmc, rate, err = lidOf(own); err != nil {
		return d.in.Errorf("%w", err)
	}
	if e.peerLID, _, e.rate, err = lidOf(after); err != nil {
		return d.in.Errorf("%w", err)
	}
	e.rate = max(e.rate, rate)
	return d.plug(d.now, number, &e)
}

// guidIn cuts a GUID in parentheses off the front of s, if there is one.
func guidIn(s string) (uint64, string, error) {
	if s == "" || s[0] != '(' {
		return 0, s, nil
	}
	inner, rest, ok := strings.Cut(s[1:], ")")
	if !ok {
		return 0, s, errors.New(lines.Show(s) + ": expected a GUID in parentheses")
	}
	guid, err := hex(inner)
	return guid, strings.TrimSpace(rest), err
}
