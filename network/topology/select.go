package topology

import "fmt"

// Select is g with only the given hosts, numbered 0, 1, ... in that order, and
// all switches. The hosts keep their names and their places in the family. It
// fails if one is no host of g or is given twice.
func (g *Graph) Select(hosts []Node) (*Graph, error) {
	number := make([]Node, g.Nodes())
	for n := range number {
		number[n] = NoNode
		if !g.IsHost(Node(n)) {
			number[n] = Node(n - g.hosts + len(hosts))
		}
	}
	info := make([]Info, 0, len(hosts)+g.Switches())
	for i, n := range hosts {
		if n < 0 || !g.IsHost(n) {
			return nil, fmt.Errorf("node %d: expected a host, 0..%d", n, g.hosts-1)
		}
		if number[n] != NoNode {
			return nil, fmt.Errorf("host %s is given twice", g.Name(n))
		}
		number[n] = Node(i)
		info = append(info, g.info[n])
		info[i].Name = g.Name(n)
	}
	info = append(info, g.info[g.hosts:]...)
	var cables []Cable
	var kept []int
	for i, c := range g.cables {
		c.A.Node, c.B.Node = number[c.A.Node], number[c.B.Node]
		if c.A.Node != NoNode && c.B.Node != NoNode {
			cables, kept = append(cables, c), append(kept, i)
		}
	}
	less := assemble(len(hosts), info, cables)
	var err error
	switch f := g.family.(type) {
	case nil:
	case *FatTree:
		less.family, err = f.selected(less, number, kept)
	default:
		less.family, err = f.On(less)
	}
	return less, err
}

// selected returns the tree of a graph whose nodes have other numbers.
func (f *FatTree) selected(g *Graph, number []Node, kept []int) (*FatTree, error) {
	level, index := make([]int8, g.Nodes()), make([]int32, g.Nodes())
	for n, m := range number {
		if m != NoNode {
			level[m], index[m] = f.level[n], f.index[n]
		}
	}
	order := make([]int32, len(kept))
	for i, c := range kept {
		order[i] = f.order[c]
	}
	return newFatTree(g, f.Tuple, level, index, order)
}

// Named is g with other names of its hosts, one for each.
func (g *Graph) Named(hosts []string) (*Graph, error) {
	if len(hosts) != g.hosts {
		return nil, fmt.Errorf("%d names for %d hosts", len(hosts), g.hosts)
	}
	with := *g
	with.info = append([]Info(nil), g.info...)
	for i, name := range hosts {
		with.info[i].Name = name
	}
	return &with, checkNames(with.info[:g.hosts], "host")
}
