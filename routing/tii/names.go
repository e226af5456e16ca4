package tii

import (
	"strings"

	"github.com/golaunch/golaunch/topology"
)

// Names finds hosts of a network by name: in any case the whole name, its first
// word ("n001" of "n001 HCA-1"), or that up to its first dot. Of several adapters
// of a machine it finds the first. A short name of several machines finds none.
type Names map[string]topology.Node

// NewNames has the names of all hosts.
func NewNames(g *topology.Graph) Names {
	names := Names{}
	add := func(word func(name string) string) {
		found, first := map[string]topology.Node{}, map[string]string{}
		for host := range g.AllHosts() {
			name := strings.ToLower(g.Name(host))
			key, machine := word(name), firstWord(name)
			if other, ok := first[key]; !ok {
				found[key], first[key] = host, machine
			} else if other != machine {
				found[key] = topology.NoNode
			}
		}
		for key, host := range found {
			if _, ok := names[key]; !ok && host != topology.NoNode {
				names[key] = host
			}
		}
	}
	add(func(name string) string { return name })
	add(firstWord)
	add(func(name string) string {
		short, _, _ := strings.Cut(firstWord(name), ".")
		return short
	})
	return names
}

func firstWord(name string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(name), " ")
	return word
}

// Find is the host of a name, false if there is none.
func (n Names) Find(name string) (topology.Node, bool) {
	name = strings.ToLower(name)
	host, ok := n[name]
	if !ok {
		short, _, cut := strings.Cut(name, ".")
		if host, ok = n[short]; !cut || !ok {
			return topology.NoNode, false
		}
	}
	return host, true
}
