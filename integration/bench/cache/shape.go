package cache

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// shape is a tree as the agents grow it, nodes in pre-order, with as many ranks
// on each.
type shape struct {
	ranks  int   // per node
	parent []int // of each node; -1 for the root
	end    []int // the subtree of node i is i..end[i]-1
}

// grow makes the tree of degree k over n nodes.
func grow(n, k, ranks int) shape {
	s := shape{ranks: ranks, parent: make([]int, n), end: make([]int, n)}
	hosts := make([]job.HostIndex, n)
	for i := range hosts {
		hosts[i] = job.HostIndex(i)
	}
	var add func(list []job.HostIndex, parent int)
	add = func(list []job.HostIndex, parent int) {
		at := int(list[0])
		s.parent[at], s.end[at] = parent, at+len(list)
		for _, part := range tree.Split(list[1:], k) {
			add(part, at)
		}
	}
	add(hosts, -1)
	return s
}

// below reports whether node is in the subtree of top.
func (s shape) below(node, top int) bool { return top <= node && node < s.end[top] }

// toward returns the node next to at on the way to another.
func (s shape) toward(at, to int) int {
	if !s.below(to, at) {
		return s.parent[at]
	}
	for s.parent[to] != at {
		to = s.parent[to]
	}
	return to
}
