package routing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/topology"
)

// Order is an order of hosts, in which they become ranks, with its properties.
type Order struct {
	Hosts []topology.Node // rank i is on Hosts[i]
	// Rule names the method that found it, such as "fat tree" or "shuffled, seed 1".
	Rule string
	// Free says that theorems 1 and 2 hold [Zahavi 5]: Shift has at most one
	// message on each link, and so have all sequences in one direction.
	Free bool
	// Mean and Max are the mean and largest hot-spot degrees of the stages of
	// Shift that were counted: all of them where Stages is len(Hosts)-1, a sample
	// where it is less.
	Mean        float64
	Max, Stages int
}

// String returns the rule and the figures.
func (o *Order) String() string {
	if o.Free {
		return o.Rule + ": no contention"
	}
	all := ""
	if o.Stages < len(o.Hosts)-1 {
		all = fmt.Sprintf(" of %d", len(o.Hosts)-1)
	}
	return fmt.Sprintf("%s: %.3f messages on the busiest link of a stage of shift, mean of %d%s stages, at most %d", o.Rule, o.Mean, o.Stages, all, o.Max)
}

// Unit returns the number of hosts of which a job's size has to be a multiple, besides
// being contiguous modulo the tree's size, for Shift to be free of contention
// under D-Mod-K: M_{h-1}, the hosts below a child of the top. It is 0 for a tree
// that does not have one cable to each host and as many ports upward as downward
// below the top, where there may be no such size.
//
// The source has the product of all w_l [Zahavi 5.B], which is too small where
// cables are parallel: at level l messages repeat their ports after W_l p_l
// hosts, and not after W_l. In these trees W_l p_l is M_{l-1}, so that M_{h-1} is
// a multiple of all; the product of all w_l p_l is one of it.
func Unit(t topology.Tuple) int {
	h := t.Levels()
	if t.W[0] != 1 || t.P[0] != 1 {
		return 0
	}
	for l := 1; l < h; l++ {
		if t.Down(l) != t.Up(l) {
			return 0
		}
	}
	return t.Below(h - 1)
}

// maxRoutes bounds the routes that Orders follows for an order; where there are
// more, a sample of the stages with a quarter as many will do.
const maxRoutes = 4 << 20

// Orders orders a job's hosts by each rule that suits the network, counts the
// contention of Shift, and returns the best order first. The order given competes and
// wins a tie, so that the first is never worse. In a fat tree, hosts go by their index,
// and by the routes (byRoutes); elsewhere leaf switch by leaf switch, and shuffled by
// the seed: a best effort, of which Mean tells how good it is. Where the order of the
// index is Free, it is the only one. Rules that make one order compete once, by the
// name of the first. The error names two hosts without a route.
func Orders(r Router, hosts []topology.Node, seed uint64, loop topology.Loop) ([]Order, error) {
	return orders(r, hosts, seed, loop, maxRoutes)
}

func orders(r Router, hosts []topology.Node, seed uint64, loop topology.Loop, routes int) ([]Order, error) {
	g := r.Graph()
	if free, ok := treeOrder(r, hosts); ok && free.Free {
		return []Order{free}, nil
	}
	var candidates []Order
	enter := func(o Order) error {
		if slices.ContainsFunc(candidates, func(c Order) bool { return slices.Equal(c.Hosts, o.Hosts) }) {
			return nil
		}
		n := len(o.Hosts)
		q := Shift(n)
		if n*n > routes {
			q = q.Sample(max(16, routes/(4*n)))
		}
		c, err := HotSpots(r, o.Hosts, q, loop)
		if err != nil {
			return err
		}
		o.Mean, o.Max, o.Stages = c.Mean(), c.Max(), q.Stages
		candidates = append(candidates, o)
		return nil
	}
	rules := []Order{{Hosts: slices.Clone(hosts), Rule: "as given"}}
	if f, ok := g.Family().(*topology.FatTree); ok {
		tree, _ := treeOrder(r, hosts)
		rules = append(rules, tree, along(byRoutes(r, f), hosts, "routes"))
	}
	rules = append(rules, along(byLeaf(g), hosts, "leaf by leaf"))
	for _, o := range rules {
		if err := enter(o); err != nil {
			return nil, err
		}
	}
	best := slices.MinFunc(candidates, func(a, b Order) int { return cmp.Compare(a.Mean, b.Mean) })
	if best.Max > 1 {
		o := Order{Hosts: slices.Clone(hosts), Rule: fmt.Sprintf("shuffled, seed %d", seed)}
		topology.Shuffle(o.Hosts, seed)
		if err := enter(o); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(candidates, func(a, b Order) int { return cmp.Compare(a.Mean, b.Mean) })
	return candidates, nil
}

// treeOrder orders hosts by their index in a fat tree. It is Free under D-Mod-K if
// the hosts are contiguous, modulo the tree's size, and a multiple of Unit.
func treeOrder(r Router, hosts []topology.Node) (Order, bool) {
	f, ok := r.Graph().Family().(*topology.FatTree)
	if !ok {
		return Order{}, false
	}
	position := make([]int, r.Graph().Hosts())
	for h := range position {
		position[h] = f.Index(topology.Node(h))
		if f.Level(topology.Node(h)) < 0 {
			position[h] = f.Tuple.Hosts() // without a cable: at the end
		}
	}
	o := arrange(position, f.Tuple.Hosts(), hosts, "fat tree")
	if _, ok := r.(*DModK); ok && len(hosts) > 0 && Unit(f.Tuple) > 0 && len(hosts)%Unit(f.Tuple) == 0 {
		first, last := position[o.Hosts[0]], position[o.Hosts[len(o.Hosts)-1]]
		span := (last-first+f.Tuple.Hosts())%f.Tuple.Hosts() + 1
		if o.Free = span == len(hosts); o.Free {
			o.Mean, o.Max = 1, 1
		}
	}
	return o, true
}

// along orders hosts as they are in an order of all hosts.
func along(all, hosts []topology.Node, rule string) Order {
	position := make([]int, len(all))
	for i, h := range all {
		position[h] = i
	}
	return arrange(position, len(all), hosts, rule)
}

// arrange orders hosts by their positions, 0..size-1, around the circle of all
// positions, and begins behind the widest gap, so that hosts that are contiguous
// around the end stay so.
func arrange(position []int, size int, hosts []topology.Node, rule string) Order {
	sorted := slices.Clone(hosts)
	slices.SortStableFunc(sorted, func(a, b topology.Node) int { return cmp.Compare(position[a], position[b]) })
	n, first := len(sorted), 0
	if n > 0 {
		widest := position[sorted[0]] + size - position[sorted[n-1]]
		for i := 1; i < n; i++ {
			if gap := position[sorted[i]] - position[sorted[i-1]]; gap > widest {
				first, widest = i, gap
			}
		}
	}
	return Order{Hosts: slices.Concat(sorted[first:], sorted[:first]), Rule: rule}
}

// byLeaf lists all hosts leaf switch by leaf switch, going through the switches
// depth first, so that those of neighboring leaf switches are near each other.
func byLeaf(g *topology.Graph) []topology.Node {
	order := make([]topology.Node, 0, g.Hosts())
	seen := make([]bool, g.Nodes())
	visit := func(start topology.Node) {
		stack := []topology.Node{start}
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			if stack = stack[:len(stack)-1]; seen[n] {
				continue
			}
			seen[n] = true
			if g.IsHost(n) {
				order = append(order, n)
			}
			for _, hosts := range []bool{false, true} { // the last are looked at first
				for _, p := range slices.Backward(g.Ports(n)) {
					if !seen[p.Peer] && g.IsHost(p.Peer) == hosts {
						stack = append(stack, p.Peer)
					}
				}
			}
		}
	}
	for h := range g.AllHosts() {
		visit(h)
	}
	return order
}
