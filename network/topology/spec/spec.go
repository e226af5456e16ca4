// Package spec reads networks in a compact form that survives a shell:
//
//	fattree:M/W/P         m1,..,mh/w1,..,wh/p1,..,ph: PGFT(h; m; w; p)
//	xgft:M/W              the same with single cables
//	clos:R=36,T=20,mu=0.8 switches of R ports, T hosts below each at the bottom,
//	                      at least mu ports upward for each host; levels=2;
//	                      without T as many hosts as mu allows
//	torus:8x8x8           sizes, first dimension fastest; 8m for one of a torus that
//	mesh:8x8x8            does not wrap; hosts=1 of each switch
//	dragonfly:p=4,a=8,h=2,g=16
//	                      hosts of a router, routers of a group, ports of a
//	                      router to other groups, groups
//	cray:6,16,4,2,12      chassis of a group, blades of a chassis, nodes of a
//	                      blade, sockets of a node, cores of a socket; groups=4,
//	                      h=1 ports of a router to other groups
//
// The papers' forms are read as well; a shell needs them quoted:
// "fattree:3;18,18,6;1,18,6;1,1,3", "PGFT(3;18,18,6;1,18,6;1,1,3)" and
// "XGFT(2;4,4;1,4)". All take rate=100G, the rate of each cable in bit/s.
package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
)

// maxLength bounds a spec, in bytes.
const maxLength = 4096

// A kind of network, by the word before the colon.
type kind struct {
	name    string
	example string
	read    func(*reader) (*topology.Graph, error)
}

var kinds = []kind{
	{"fattree", "fattree:18,18/1,9/1,2", fatTree},
	{"xgft", "xgft:4,4/1,4", xgft},
	{"clos", "clos:R=36,T=20,mu=0.8", clos},
	{"torus", "torus:8x8x8", torus},
	{"mesh", "mesh:8x8x8", torus},
	{"dragonfly", "dragonfly:p=4,a=8,h=2,g=16", dragonfly},
	{"cray", "cray:6,16,4,2,12", cray},
}

// Examples has one spec of each kind.
func Examples() []string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = k.example
	}
	return list
}

// Is says whether text is meant as a spec, so that Parse reports its errors, and not as
// the name of a file.
func Is(text string) bool {
	name, _, _ := split(text)
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name })
}

// split cuts a spec into its kind and the rest; false if it has no such form.
func split(text string) (kind, rest string, ok bool) {
	text = strings.TrimSpace(text)
	if inner, closed := strings.CutSuffix(text, ")"); closed {
		if kind, rest, ok = strings.Cut(inner, "("); ok {
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "pgft":
				return "fattree", rest, true
			case "xgft":
				return "xgft", rest, true
			}
		}
	}
	kind, rest, ok = strings.Cut(text, ":")
	return strings.ToLower(kind), rest, ok
}

// Parse makes the network that text describes. Its errors name the wrong part of the
// text, and the forms expected.
func Parse(text string) (*topology.Graph, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("network of %d bytes: expected at most %d", len(text), maxLength)
	}
	name, rest, ok := split(text)
	for _, k := range kinds {
		if ok && k.name == name {
			g, err := (&reader{kind: name, rest: rest}).parse(k.read)
			if err != nil {
				return nil, fmt.Errorf("network %q: %w (such as %s)", text, err, k.example)
			}
			return g, nil
		}
	}
	return nil, fmt.Errorf("network %q: expected one of %s", text, strings.Join(Examples(), ", "))
}

// A reader has the text behind the colon: words that are separated by commas, some of
// them key=value.
type reader struct {
	kind  string
	rest  string
	words []string // without a key, before the first that has one
	keys  map[string]string
	used  map[string]bool
	err   error // of the first number that is none
}

func (r *reader) parse(read func(*reader) (*topology.Graph, error)) (*topology.Graph, error) {
	r.keys, r.used = map[string]string{}, map[string]bool{}
	for word := range strings.SplitSeq(r.rest, ",") {
		key, value, ok := strings.Cut(word, "=")
		key = strings.TrimSpace(key)
		switch {
		case !ok && len(r.keys) > 0:
			return nil, fmt.Errorf("%q: expected key=value", word)
		case !ok:
			r.words = append(r.words, word)
		case r.keys[key] != "":
			return nil, fmt.Errorf("%q: %s is given twice", word, key)
		case strings.TrimSpace(value) == "":
			return nil, fmt.Errorf("%q: expected a value behind =", word)
		default:
			r.keys[key] = strings.TrimSpace(value)
		}
	}
	g, err := read(r)
	if r.err != nil {
		return nil, r.err
	}
	return g, err
}

// leftover fails for a key that nobody asked for. Readers call it before they
// make a network.
func (r *reader) leftover() error {
	if r.err != nil {
		return r.err
	}
	var unknown, known []string
	for key := range r.keys {
		if !r.used[key] {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	for key := range r.used {
		known = append(known, key)
	}
	slices.Sort(known)
	return fmt.Errorf("%q: expected one of %s", unknown[0]+"="+r.keys[unknown[0]], strings.Join(known, ", "))
}

// number reads a whole number and keeps the first error.
func (r *reader) number(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if (err != nil || n < 0 || n > topology.MaxNodes) && r.err == nil {
		r.err = fmt.Errorf("%q: expected a whole number, at most %d", text, topology.MaxNodes)
	}
	return n
}

// key reads the number of a key; otherwise without it, which is negative if the
// key must be given.
func (r *reader) key(key string, otherwise int) int {
	r.used[key] = true
	text, ok := r.keys[key]
	if !ok {
		if otherwise < 0 && r.err == nil {
			r.err = errors.New("expected " + key + "=number")
		}
		return otherwise
	}
	return r.number(text)
}

// rate reads rate=, in bit/s; 0 without it.
func (r *reader) rate() int64 {
	r.used["rate"] = true
	text, ok := r.keys["rate"]
	if !ok {
		return 0
	}
	number, unit := text, 1.0
	if i := strings.IndexByte("kMGT", text[len(text)-1]); i >= 0 {
		number, unit = text[:len(text)-1], []float64{1e3, 1e6, 1e9, 1e12}[i]
	}
	x, err := strconv.ParseFloat(number, 64)
	if (err != nil || !(x*unit >= 1) || x*unit > 1e15) && r.err == nil {
		r.err = fmt.Errorf("%q: expected bit/s, such as 100G, at most 1000T", "rate="+text)
		return 0
	}
	return int64(x * unit)
}

// bare fails where there are words without a key.
func (r *reader) bare() {
	if len(r.words) > 0 && r.err == nil {
		r.err = fmt.Errorf("%q: expected key=value", r.words[0])
	}
}

func (r *reader) numbers(list string) []int {
	var numbers []int
	for word := range strings.SplitSeq(list, ",") {
		numbers = append(numbers, r.number(word))
	}
	return numbers
}
