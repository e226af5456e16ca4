package cluster

import "slices"

// Tree is the result of Join. Its clusters are numbered 0..Clusters()-1 in the order in
// which they were joined: a cluster's parent has a higher number than it. A depth
// counts from the top, where the widest cluster has depth 1, to Depth, which is that of
// leaf switches ([Subramoni 5.2.4]: "level 1 is the top level").
type Tree struct {
	hosts    int
	parent   []int32   // cluster of each host, then of each cluster; -1 for none
	children [][]int32 // of each cluster: hosts, and hosts + number of a cluster
	hops     []uint8   // of each cluster
	level    []int32   // depth of each cluster
	depth    int
}

func newTree(hosts int) *Tree {
	t := &Tree{hosts: hosts, parent: make([]int32, hosts)}
	for i := range t.parent {
		t.parent[i] = -1
	}
	return t
}

// add makes a cluster of hosts and of others; it returns hosts + its number.
func (t *Tree) add(children []int32, hops uint8) int32 {
	c := int32(len(t.children))
	for _, child := range children {
		t.parent[child] = c
	}
	t.parent = append(t.parent, -1)
	t.children, t.hops = append(t.children, children), append(t.hops, hops)
	return int32(t.hosts) + c
}

func (t *Tree) finish() {
	t.level = make([]int32, len(t.children))
	for c := len(t.children) - 1; c >= 0; c-- {
		t.level[c] = 1
		if p := t.parent[t.hosts+c]; p >= 0 {
			t.level[c] = t.level[p] + 1
		}
		t.depth = max(t.depth, int(t.level[c]))
	}
}

// Hosts returns the number of hosts.
func (t *Tree) Hosts() int { return t.hosts }

// Clusters returns the number of clusters, at all depths.
func (t *Tree) Clusters() int { return len(t.children) }

// Depth returns the number of clusters around the host that is in most: the levels of
// switches. It is 0 if no two hosts are connected.
func (t *Tree) Depth() int { return t.depth }

// Of returns the identity of a host's cluster at a depth from 1: the number of a
// cluster, or Clusters() + host if it is alone there. Below the deepest cluster of a
// host it stays in that if that is a leaf switch, and is alone if it is not: hosts that
// are the only ones of their switches have only switches above in common.
func (t *Tree) Of(host, depth int) int {
	c := t.parent[host]
	if c < 0 || int(t.level[c]) < depth && t.hops[c] > 1 {
		return len(t.children) + host
	}
	for int(t.level[c]) > depth {
		c = t.parent[t.hosts+int(c)]
	}
	return int(c)
}

// Levels returns the distances, in hops, at which hosts were joined, each once, the
// widest first. The last is always 1, that of leaf switches, even where each host is
// the only one of its leaf switch.
func (t *Tree) Levels() []uint8 {
	levels := []uint8{1}
	for _, hops := range t.hops {
		levels = append(levels, max(hops, 1)) // 0 is a cable from host to host
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	slices.Reverse(levels)
	return levels
}

// Within returns the identity of the widest cluster around a host that was joined at no
// more than so many hops: the number of a cluster, or Clusters() + host if the host
// is alone there.
func (t *Tree) Within(host int, hops uint8) int {
	at := host
	for p := t.parent[at]; p >= 0 && t.hops[p] <= hops; p = t.parent[at] {
		at = t.hosts + int(p)
	}
	if at == host {
		return len(t.children) + host
	}
	return at - t.hosts
}

// Groups returns the hosts that are together at a depth, each group by host, groups by
// their lowest host.
func (t *Tree) Groups(depth int) [][]int {
	var groups [][]int
	number := map[int]int{}
	for host := range t.hosts {
		id := t.Of(host, depth)
		g, ok := number[id]
		if !ok {
			g = len(groups)
			number[id], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], host)
	}
	return groups
}
