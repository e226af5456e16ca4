package tree

import (
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// Slot numbers a node's children in the order in which they joined. Slots are
// never reused; Up is the parent.
type Slot int

// Up is the direction of the parent.
const Up Slot = -1

// Node is one node's view of the tree: the hosts below each of its children. The zero
// value is a leaf.
type Node struct {
	children []subtreeOfChild
}

type subtreeOfChild struct {
	hosts Hosts // the child itself and everything below it
	live  bool
}

// Join adds a child and returns its slot. Its hosts become known with Cover.
func (n *Node) Join() Slot {
	n.children = append(n.children, subtreeOfChild{live: true})
	return Slot(len(n.children) - 1)
}

// Cover adds living hosts, in any order, to the subtree of slot.
func (n *Node) Cover(slot Slot, hosts []job.HostIndex) {
	n.children[slot].hosts = MakeHosts(hosts)
}

// Leave takes a child out; nothing is routed to it any more. It reports whether
// the child was still there.
func (n *Node) Leave(slot Slot) bool {
	was := n.children[slot].live
	n.children[slot].live = false
	return was
}

// Live reports whether the child at slot has not left.
func (n *Node) Live(slot Slot) bool { return n.children[slot].live }

// Children calls yield with the slot of each live child: the targets of a
// Broadcast, in order.
func (n *Node) Children(yield func(Slot) bool) {
	for i := range n.children {
		if n.children[i].live && !yield(Slot(i)) {
			return
		}
	}
}

// Degree returns the number of live children.
func (n *Node) Degree() int {
	d := 0
	for range n.Children {
		d++
	}
	return d
}

// Route finds the child whose subtree holds host; ok is false where no live
// child's does.
func (n *Node) Route(host job.HostIndex) (slot Slot, ok bool) {
	for s := range n.Children {
		if n.children[s].hosts.Has(host) {
			return s, true
		}
	}
	return Up, false
}

// Gone reports whether host went with a child that has left, and is in no other
// child's subtree.
func (n *Node) Gone(host job.HostIndex) bool {
	_, ok := n.Route(host)
	return !ok && slices.ContainsFunc(n.children, func(c subtreeOfChild) bool { return !c.live && c.hosts.Has(host) })
}

// Below returns the hosts known to lie in the subtree of slot.
func (n *Node) Below(slot Slot) []job.HostIndex { return n.children[slot].hosts.List() }

// Count counts those of hosts, which ascend, that lie in the subtree of slot.
func (n *Node) Count(slot Slot, hosts []job.HostIndex) int {
	count := 0
	for _, run := range n.children[slot].hosts {
		first, _ := slices.BinarySearch(hosts, run[0])
		end, _ := slices.BinarySearch(hosts, run[1])
		count += end - first
	}
	return count
}

// Hosts is a set of hosts as sorted, disjoint half-open intervals: a subtree is
// one run unless hosts inside it were dead or slow. It never changes.
type Hosts [][2]job.HostIndex

// MakeHosts returns the set of hosts, which may come in any order.
func MakeHosts(hosts []job.HostIndex) Hosts {
	hosts = slices.Clone(hosts)
	slices.Sort(hosts)
	var r Hosts
	for _, h := range hosts {
		if n := len(r); n > 0 && h <= r[n-1][1] {
			r[n-1][1] = max(r[n-1][1], h+1)
			continue
		}
		r = append(r, [2]job.HostIndex{h, h + 1})
	}
	return r
}

// Has reports whether h is in the set.
func (r Hosts) Has(h job.HostIndex) bool {
	_, found := slices.BinarySearchFunc(r, h, func(run [2]job.HostIndex, h job.HostIndex) int {
		switch {
		case h < run[0]:
			return 1
		case h >= run[1]:
			return -1
		}
		return 0
	})
	return found
}

// Holds reports whether runs are a set, and all of its hosts are in r.
func (r Hosts) Holds(runs Hosts) bool {
	i := 0
	for n, run := range runs {
		if run[0] >= run[1] || n > 0 && run[0] <= runs[n-1][1] {
			return false
		}
		for i < len(r) && r[i][1] <= run[0] {
			i++
		}
		if i == len(r) || run[0] < r[i][0] || run[1] > r[i][1] {
			return false
		}
	}
	return true
}

// Len counts the hosts in the set.
func (r Hosts) Len() int {
	n := 0
	for _, run := range r {
		n += int(run[1] - run[0])
	}
	return n
}

// List returns the hosts in order.
func (r Hosts) List() []job.HostIndex {
	var hosts []job.HostIndex
	for _, run := range r {
		for h := run[0]; h < run[1]; h++ {
			hosts = append(hosts, h)
		}
	}
	return hosts
}
