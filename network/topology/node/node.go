// Package node describes the inside of a host: which cores share a package, a
// NUMA node and a level 3 cache. It reads that from Linux' sysfs (FromSysfs); package
// hwloc reads hwloc's XML.
package node

import (
	"cmp"
	"slices"
)

// None stands for no package, NUMA node or cache.
const None = -1

// MaxPUs bounds the processing units of a host.
const MaxPUs = 1 << 16

// Node is the inside of a host. Packages, NUMA nodes and caches are numbered from
// 0 in the order of their lowest processing unit.
type Node struct {
	Packages, NUMAs, L3s int
	Cores                []Core // in the order of package, NUMA node, cache, lowest unit
}

// Core is a core with the parts around it; None where the host has no such thing.
type Core struct {
	Package, NUMA, L3 int
	PUs               []int // processing units (hardware threads), as the kernel numbers them, ascending
}

// Level is a division of a host's cores.
type Level struct {
	Name string
	Of   []int // the part that each core is in, dense from 0
}

// Levels returns the divisions that nest, from the outside in: package, numa, l3 and
// always core, without those that divide nothing further, or into cores. A NUMA
// node may hold several packages: then it comes first. Cores of no NUMA node, or of
// no cache, are one part.
func (n *Node) Levels() []Level {
	part := func(name string, of func(c *Core) int) Level {
		l := Level{Name: name, Of: make([]int, len(n.Cores))}
		for i := range n.Cores {
			l.Of[i] = of(&n.Cores[i])
		}
		l.Of = dense(l.Of)
		return l
	}
	all := []Level{
		part("package", func(c *Core) int { return c.Package }),
		part("numa", func(c *Core) int { return c.NUMA }),
		part("l3", func(c *Core) int { return c.L3 }),
	}
	// Fewer parts are farther out.
	slices.SortStableFunc(all, func(a, b Level) int { return cmp.Compare(parts(a.Of), parts(b.Of)) })
	cores := Level{Name: "core", Of: make([]int, len(n.Cores))}
	for i := range cores.Of {
		cores.Of[i] = i
	}
	levels := []Level{}
	last := make([]int, len(n.Cores))
	for _, l := range all {
		if within(l.Of, last) && parts(l.Of) > parts(last) && parts(l.Of) < len(n.Cores) {
			levels = append(levels, l)
			last = l.Of
		}
	}
	return append(levels, cores)
}

func parts(of []int) int {
	if len(of) == 0 {
		return 0
	}
	return slices.Max(of) + 1
}

// within says whether each part of inner is in one part of outer.
func within(inner, outer []int) bool {
	of := map[int]int{}
	for i, p := range inner {
		if other, ok := of[p]; ok && other != outer[i] {
			return false
		}
		of[p] = outer[i]
	}
	return true
}

// dense numbers parts from 0 in the order of their first core.
func dense(of []int) []int {
	number := map[int]int{}
	out := make([]int, len(of))
	for i, p := range of {
		if _, ok := number[p]; !ok {
			number[p] = len(number)
		}
		out[i] = number[p]
	}
	return out
}

// New returns a host of these cores, each with a unit or more. It numbers everything
// anew in the order of the lowest units, and sorts cores, which it keeps.
func New(cores []Core) *Node {
	slices.SortFunc(cores, func(a, b Core) int { return cmp.Compare(a.PUs[0], b.PUs[0]) })
	n := &Node{Cores: cores}
	renumber := func(of func(c *Core) *int) int {
		number := map[int]int{None: None}
		for i := range cores {
			p := of(&cores[i])
			if _, ok := number[*p]; !ok {
				number[*p] = len(number) - 1
			}
			*p = number[*p]
		}
		return len(number) - 1
	}
	n.Packages = renumber(func(c *Core) *int { return &c.Package })
	n.NUMAs = renumber(func(c *Core) *int { return &c.NUMA })
	n.L3s = renumber(func(c *Core) *int { return &c.L3 })
	slices.SortStableFunc(cores, func(a, b Core) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.NUMA, b.NUMA), cmp.Compare(a.L3, b.L3))
	})
	return n
}
