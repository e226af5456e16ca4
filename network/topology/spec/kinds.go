package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
)

// lists cuts the words into lists of numbers, which stand between slashes or,
// after the number of levels, between semicolons.
func (r *reader) lists(names ...string) ([][]int, error) {
	text := strings.Join(r.words, ",")
	parts, levels := strings.Split(text, "/"), -1
	if strings.Contains(text, ";") {
		parts = strings.Split(text, ";")
		levels = r.number(parts[0])
		parts = parts[1:]
	}
	if len(parts) != len(names) {
		return nil, fmt.Errorf("%q: expected %d lists of numbers, %s", text, len(names), strings.Join(names, "/"))
	}
	lists := make([][]int, len(parts))
	for i, part := range parts {
		lists[i] = r.numbers(part)
		if want := max(len(lists[0]), levels); r.err == nil && len(lists[i]) != want {
			return nil, fmt.Errorf("%q: expected %d numbers, one of each level", part, want)
		}
	}
	return lists, r.err
}

func fatTree(r *reader) (*topology.Graph, error) {
	lists, err := r.lists("M", "W", "P")
	if err != nil {
		return nil, err
	}
	return r.tree(topology.Tuple{M: lists[0], W: lists[1], P: lists[2]})
}

func xgft(r *reader) (*topology.Graph, error) {
	lists, err := r.lists("M", "W")
	if err != nil {
		return nil, err
	}
	return r.tree(topology.XGFT(lists[0], lists[1]))
}

func clos(r *reader) (*topology.Graph, error) {
	r.bare()
	radix, hosts, levels := r.key("R", -1), r.key("T", 0), r.key("levels", 2)
	r.used["mu"] = true
	mu, err := strconv.ParseFloat(r.keys["mu"], 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%q: expected a number, such as mu=0.8", "mu="+r.keys["mu"])
	}
	if r.err != nil {
		return nil, r.err
	}
	t, err := topology.Clos(radix, hosts, mu, levels)
	if err != nil {
		return nil, err
	}
	return r.tree(t)
}

func (r *reader) tree(t topology.Tuple) (*topology.Graph, error) {
	rate := r.rate()
	if err := r.leftover(); err != nil {
		return nil, err
	}
	return topology.NewPGFT(t, rate)
}

func torus(r *reader) (*topology.Graph, error) {
	s := topology.Shape{Hosts: r.key("hosts", 1)}
	if len(r.words) != 1 {
		return nil, fmt.Errorf("%q: expected sizes, such as 8x8x8", strings.Join(r.words, ","))
	}
	for word := range strings.SplitSeq(r.words[0], "x") {
		size, mesh := strings.CutSuffix(word, "m")
		s.Dims = append(s.Dims, r.number(size))
		s.Wrap = append(s.Wrap, r.kind == "torus" && !mesh)
	}
	rate := r.rate()
	if err := r.leftover(); err != nil {
		return nil, err
	}
	return topology.NewTorusGraph(s, rate)
}

func dragonfly(r *reader) (*topology.Graph, error) {
	r.bare()
	d := topology.Layout{P: r.key("p", -1), A: r.key("a", -1), H: r.key("h", -1), G: r.key("g", -1), Chassis: 1}
	rate := r.rate()
	if err := r.leftover(); err != nil {
		return nil, err
	}
	return topology.NewDragonflyGraph(d, topology.Rates{Host: rate, Row: rate, Column: rate, Global: rate})
}

func cray(r *reader) (*topology.Graph, error) {
	if len(r.words) != 5 {
		return nil, fmt.Errorf("%q: expected 5 numbers: chassis of a group, blades, nodes, sockets, cores", strings.Join(r.words, ","))
	}
	n := r.numbers(strings.Join(r.words, ","))
	groups, h := r.key("groups", 4), r.key("h", 1)
	rates := topology.CrayRates
	if rate := r.rate(); rate > 0 {
		rates = topology.Rates{Host: rate, Row: rate, Column: rate, Global: rate}
	}
	if err := r.leftover(); err != nil {
		return nil, err
	}
	for i, x := range n {
		if x < 1 || x > 1<<16 {
			return nil, fmt.Errorf("%q: expected 1..%d", r.words[i], 1<<16)
		}
	}
	return topology.NewDragonflyGraph(topology.Layout{P: n[2], A: n[0] * n[1], H: h, G: groups,
		Chassis: n[0], Sockets: n[3], Cores: n[4]}, rates)
}
