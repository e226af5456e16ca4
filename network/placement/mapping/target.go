package mapping

import (
	"fmt"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
)

// Unit is a unit of distances.
type Unit int

// The units of distances.
const (
	Links Unit = iota // all links of a route, those of the hosts too: switches + 1
	Hops              // switches
	Inner             // links between switches: switches - 1
)

// String is such as "links".
func (u Unit) String() string { return [...]string{"links", "hops", "links between switches"}[u] }

// count is such as "1 link".
func (u Unit) count(n int32) string {
	if n == 1 {
		return [...]string{"1 link", "1 hop", "1 link between switches"}[u]
	}
	return fmt.Sprintf("%d %s", n, u)
}

// fromHops returns the distance of hosts with so many switches between them.
func (u Unit) fromHops(hops int) int32 {
	switch u {
	case Hops:
		return int32(hops)
	case Inner:
		return int32(max(0, hops-1))
	default:
		return int32(hops + 1)
	}
}

// Limits of targets.
const (
	MaxPlaces = 1 << 17
	// maxLeaves bounds the leaf switches of a network whose distances have to be
	// asked for, two routes for each pair.
	maxLeaves = 1 << 12
	// maxDense is the most places of which all distances are kept.
	maxDense = 1 << 11
)

// hostLevel is the name of the level of hosts with several places.
const hostLevel = "host"

// groupLevel has the groups of places at one level of a network.
type groupLevel struct {
	name  string
	group []int32
}

// Target has the places for ranks, one for each, with a distance between each two, and
// the structure of the network. It is immutable.
type Target struct {
	unit   Unit
	hosts  []topology.Node // of each place
	host   []int32         // of each place, the hosts numbered as they first come
	far    func(a, b int32) int32
	dense  []uint8      // the distances of all places, nil for many
	levels []groupLevel // from the widest groups; each is within one of the level before
	torus  *topology.Shape
	at     [][]int // of each host of a torus, its switch's coordinates
}

// OnNetwork makes a target of a network: place i is on host hosts[i], and a host has as
// many places as it comes often. Places of one host have distance 0, others the length
// of the route between their hosts, in unit; of the two directions the longer one
// counts. The slice belongs to the target from then on. The error names a host that is
// none, or hosts without a route, or says that unit is none.
func OnNetwork(r routing.Router, hosts []topology.Node, unit Unit) (*Target, error) {
	if len(hosts) < 1 || len(hosts) > MaxPlaces {
		return nil, fmt.Errorf("%d places for ranks: expected 1..%d", len(hosts), MaxPlaces)
	}
	if unit < Links || unit > Inner {
		return nil, fmt.Errorf("unit %d of distances: expected %d..%d", unit, Links, Inner)
	}
	g := r.Graph()
	t := &Target{unit: unit, hosts: hosts, host: make([]int32, len(hosts))}
	number := map[topology.Node]int32{}
	var distinct []topology.Node
	for place, h := range hosts {
		if h < 0 || int(h) >= g.Hosts() {
			return nil, fmt.Errorf("place %d is on node %d, which is no host of the network", place, h)
		}
		if _, ok := number[h]; !ok {
			number[h] = int32(len(distinct))
			distinct = append(distinct, h)
		}
		t.host[place] = number[h]
	}
	leaf, leaves, single := leavesOf(g, distinct)
	if torus, ok := g.Family().(*topology.Torus); ok && single && shortest(r) {
		t.onTorus(torus, g, distinct)
	} else {
		d, err := measure(r, leaves)
		if err != nil {
			return nil, err
		}
		t.onRoutes(d, leaf)
		if f, ok := g.Family().(*topology.Dragonfly); ok && single {
			t.onDragonfly(f, g, distinct)
		} else {
			t.onTree(cluster.Join(d), leaf)
		}
	}
	if len(leaves) > 1 && len(leaves) < len(distinct) {
		t.add("switch", leaf)
	}
	if len(distinct) > 1 && len(distinct) < len(hosts) {
		numbers := make([]int32, len(distinct))
		for i := range numbers {
			numbers[i] = int32(i)
		}
		t.add(hostLevel, numbers)
	}
	t.fill()
	return t, nil
}

// shortest says whether a router takes the fewest links of a torus.
func shortest(r routing.Router) bool {
	_, ok := r.(*routing.DimensionOrder)
	return ok
}

// leavesOf numbers the leaf switches of hosts; a host with several, or none, counts
// as its own. leaves has a host of each; single says that all have one.
func leavesOf(g *topology.Graph, hosts []topology.Node) (leaf []int32, leaves []topology.Node, single bool) {
	number := map[topology.Node]int32{}
	single = true
	for _, h := range hosts {
		at := g.OnlyLeaf(h)
		if at == topology.NoNode {
			at, single = h, false
		}
		if _, ok := number[at]; !ok {
			number[at] = int32(len(leaves))
			leaves = append(leaves, h)
		}
		leaf = append(leaf, number[at])
	}
	return leaf, leaves, single
}

// onTorus works distances out by coordinates.
func (t *Target) onTorus(torus *topology.Torus, g *topology.Graph, hosts []topology.Node) {
	t.torus = &torus.Shape
	for _, h := range hosts {
		t.at = append(t.at, coordinates(torus, g, h))
	}
	t.far = func(a, b int32) int32 {
		hops := 1
		x, y := t.at[a], t.at[b]
		for d, n := range torus.Dims {
			steps := x[d] - y[d]
			steps = max(steps, -steps)
			if torus.Wraps(d) {
				steps = min(steps, n-steps)
			}
			hops += steps
		}
		return t.unit.fromHops(hops)
	}
}

// measure asks for the routes between leaf switches, of which leaves has a host
// each.
func measure(r routing.Router, leaves []topology.Node) (*cluster.Distances, error) {
	if len(leaves) > maxLeaves {
		return nil, fmt.Errorf("hosts of %d leaf switches: expected at most %d in a network that is no whole torus", len(leaves), maxLeaves)
	}
	g := r.Graph()
	var failed error
	var route []routing.Step
	d, err := cluster.Measure(len(leaves), func(i int, hops []uint8) {
		for j := range leaves {
			if i == j || failed != nil {
				continue
			}
			var err error
			if route, err = r.Append(route[:0], leaves[j], leaves[i]); err != nil {
				failed = err
			} else if routing.Hops(route) > cluster.Farthest {
				failed = fmt.Errorf("%s to %s: %d hops: expected at most %d", g.Name(leaves[j]), g.Name(leaves[i]), routing.Hops(route), cluster.Farthest)
			}
			hops[j] = uint8(routing.Hops(route))
		}
	}, topology.Serial)
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// onRoutes keeps distances that were measured.
func (t *Target) onRoutes(d *cluster.Distances, leaf []int32) {
	n := d.Hosts()
	hops := make([]uint8, n*n) // joining changes d
	for i := range n {
		for j := range n {
			hops[i*n+j] = d.Hops(i, j)
		}
		hops[i*n+i] = 1
	}
	t.far = func(a, b int32) int32 { return t.unit.fromHops(int(hops[int(leaf[a])*n+int(leaf[b])])) }
}

// onTree adds the levels that neighbor joining has found [Subramoni 2.8].
func (t *Target) onTree(tree *cluster.Tree, leaf []int32) {
	for _, hops := range tree.Levels() {
		if hops == 1 {
			break // leaf switches, or hosts
		}
		group := make([]int32, len(leaf))
		for h := range group {
			group[h] = int32(tree.Within(int(leaf[h]), hops))
		}
		t.add(fmt.Sprintf("within %d hops", hops), group)
	}
}

// onDragonfly adds groups and the rows (chassis) in them.
func (t *Target) onDragonfly(f *topology.Dragonfly, g *topology.Graph, hosts []topology.Node) {
	group, row := make([]int32, len(hosts)), make([]int32, len(hosts))
	for i, h := range hosts {
		s := g.Leaf(h)
		group[i] = int32(f.Group(s))
		row[i] = int32(f.Index(s) / (f.A / f.Chassis))
	}
	t.add("group", group)
	if f.Chassis > 1 {
		t.add("chassis", row)
	}
}

// add adds a level unless it has all places together.
func (t *Target) add(name string, groupOfHost []int32) {
	l := groupLevel{name, make([]int32, len(t.host))}
	several := false
	for p, h := range t.host {
		l.group[p] = groupOfHost[h]
		several = several || l.group[p] != l.group[0]
	}
	if several {
		t.levels = append(t.levels, l)
	}
}

// fill keeps all distances of a target with few places.
func (t *Target) fill() {
	n := len(t.host)
	if n > maxDense {
		return
	}
	dense := make([]uint8, n*n)
	for a := range n {
		for b := range a {
			d := t.Distance(int32(a), int32(b))
			if d > 255 {
				return
			}
			dense[a*n+b], dense[b*n+a] = uint8(d), uint8(d)
		}
	}
	t.dense = dense
}

// Places returns the number of places.
func (t *Target) Places() int { return len(t.host) }

// Unit returns the unit of distances.
func (t *Target) Unit() Unit { return t.unit }

// Host returns the host of a place.
func (t *Target) Host(place int32) topology.Node { return t.hosts[place] }

// Distance returns that between two places, in the target's unit.
func (t *Target) Distance(a, b int32) int32 {
	if t.dense != nil {
		return int32(t.dense[int(a)*len(t.host)+int(b)])
	}
	return t.hostDistance(a, b)
}

func (t *Target) hostDistance(a, b int32) int32 {
	if a, b = t.host[a], t.host[b]; a != b {
		return t.far(a, b)
	}
	return 0
}
