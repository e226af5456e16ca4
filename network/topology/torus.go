package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shape describes a torus or mesh: its size in each dimension, which of them
// wrap around, and how many hosts each switch has. The first dimension varies
// fastest in indices.
type Shape struct {
	Dims  []int
	Wrap  []bool
	Hosts int
}

const maxDims = 16

// Check fails where a number is not positive, or the network were larger than a
// Graph may be.
func (s Shape) Check() error {
	if len(s.Dims) < 1 || len(s.Dims) > maxDims {
		return fmt.Errorf("%d dimensions: expected 1..%d", len(s.Dims), maxDims)
	}
	if len(s.Wrap) != len(s.Dims) {
		return fmt.Errorf("%d dimensions, of which %d wrap or do not", len(s.Dims), len(s.Wrap))
	}
	if s.Hosts < 0 || s.Hosts > MaxPort/2 {
		return fmt.Errorf("%d hosts of a switch: expected 0..%d", s.Hosts, MaxPort/2)
	}
	nodes := 1 + s.Hosts
	for _, n := range s.Dims {
		if n < 1 || n > MaxNodes {
			return fmt.Errorf("dimension %d: expected 1..%d", n, MaxNodes)
		}
		if nodes *= n; nodes > MaxNodes {
			return fmt.Errorf("more than %d hosts and switches: too large", MaxNodes)
		}
	}
	if nodes > MaxCables/(len(s.Dims)+1) {
		return fmt.Errorf("more than %d cables: too large", MaxCables)
	}
	return nil
}

// Wraps says whether a cable goes from the end of dimension d to its beginning.
// In a dimension of two that would be a second cable between the same pair:
// there is one.
func (s Shape) Wraps(d int) bool { return s.Wrap[d] && s.Dims[d] > 2 }

// step returns the switch next to x in dimension d, upward or downward; false at the
// border of a mesh.
func (s Shape) step(x, d int, up bool) (int, bool) {
	stride, n := product(s.Dims[:d]), s.Dims[d]
	switch c := x / stride % n; {
	case n == 1:
		return 0, false
	case up && c < n-1:
		return x + stride, true
	case !up && c > 0:
		return x - stride, true
	case !s.Wraps(d):
		return 0, false
	case up:
		return x - (n-1)*stride, true
	default:
		return x + (n-1)*stride, true
	}
}

// Torus is the Family of tori and meshes of any dimension, mixed ones, and degraded
// ones.
type Torus struct {
	Shape
	graph *Graph
	index []int32 // of each switch
	at    []Node  // the switch of each index
	next  [][]Link
}

// NewTorusGraph makes a whole torus or mesh. Switches come in the order of their
// indices, their hosts as well. A switch has its hosts at the ports 1..Hosts,
// then for each dimension one port upward and one downward; rate is that of all
// cables.
func NewTorusGraph(s Shape, rate int64) (*Graph, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	switches := product(s.Dims)
	b, err := NewBuilder(switches*s.Hosts, switches)
	if err != nil {
		return nil, err
	}
	index := make([]int32, switches)
	for x := range switches {
		index[x] = int32(x)
		for i := range s.Hosts {
			b.Cable(Cable{A: End{Node(x*s.Hosts + i), 1}, B: End{b.Switch(x), int32(i + 1)}, Rate: rate})
		}
		for d := range s.Dims {
			if y, ok := s.step(x, d, true); ok {
				port := int32(s.Hosts + 2*d + 1)
				b.Cable(Cable{A: End{b.Switch(x), port}, B: End{b.Switch(y), port + 1}, Rate: rate})
			}
		}
	}
	g, err := b.Build()
	if err != nil {
		return nil, err
	}
	t, err := NewTorus(g, s, index)
	if err != nil {
		return nil, err
	}
	return g.WithFamily(t), nil
}

// NewTorus gives each switch of g its place: index has one for each switch, and a
// negative one for a switch without cables that is left aside. The error names
// two switches in one place, or a cable that the shape has not.
func NewTorus(g *Graph, s Shape, index []int32) (*Torus, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	at, err := seats(g, index, product(s.Dims))
	if err != nil {
		return nil, err
	}
	t := &Torus{Shape: s, graph: g, index: index, at: at,
		next: make([][]Link, 2*len(s.Dims)*len(index))}
	for i, x := range index {
		for _, p := range g.Ports(g.Switch(i)) {
			if g.IsHost(p.Peer) {
				continue
			}
			if slot := t.slot(int(x), int(index[g.SwitchIndex(p.Peer)])); slot < 0 {
				return nil, fmt.Errorf("cable between %s and %s: they are no neighbors", g.Name(g.Switch(i)), g.Name(p.Peer))
			} else {
				t.next[2*len(s.Dims)*i+slot] = append(t.next[2*len(s.Dims)*i+slot], p.Out)
			}
		}
	}
	for n := range g.AllHosts() {
		for _, p := range g.Ports(n) {
			if g.IsHost(p.Peer) {
				return nil, fmt.Errorf("cable between %s and %s: both are hosts", g.Name(n), g.Name(p.Peer))
			}
		}
	}
	return t, nil
}

// slot is 2d for a step upward in dimension d from x to y, 2d+1 for one downward,
// -1 for none.
func (t *Torus) slot(x, y int) int {
	for d := range t.Dims {
		if z, ok := t.step(x, d, true); ok && z == y {
			return 2 * d
		}
		if z, ok := t.step(x, d, false); ok && z == y {
			return 2*d + 1
		}
	}
	return -1
}

// Kind is "torus" if a dimension wraps, else "mesh".
func (t *Torus) Kind() string {
	if slices.Contains(t.Wrap, true) {
		return "torus"
	}
	return "mesh"
}

// String is such as "torus:8x8x8,hosts=2"; a dimension of a torus that does not
// wrap has an m behind its number, unless that is at most 2, where it makes no
// difference.
func (t *Torus) String() string {
	words := make([]string, len(t.Dims))
	for d, n := range t.Dims {
		words[d] = strconv.Itoa(n)
		if t.Kind() == "torus" && !t.Wrap[d] && n > 2 {
			words[d] += "m"
		}
	}
	text := t.Kind() + ":" + strings.Join(words, "x")
	if t.Hosts != 1 {
		text += ",hosts=" + strconv.Itoa(t.Hosts)
	}
	return text
}

// On returns the same torus on a graph of the same nodes.
func (t *Torus) On(g *Graph) (Family, error) { return NewTorus(g, t.Shape, t.index) }

// Index returns a switch's index; negative for one that has no place.
func (t *Torus) Index(n Node) int { return int(t.index[t.graph.SwitchIndex(n)]) }

// Switch returns the switch of an index, NoNode if the graph lacks it.
func (t *Torus) Switch(index int) Node { return t.at[index] }

// Coordinate returns a switch's place in dimension d.
func (t *Torus) Coordinate(n Node, d int) int { return t.Index(n) / product(t.Dims[:d]) % t.Dims[d] }

// Step returns the links from switch n to its neighbor in dimension d, upward or
// downward; none at the border of a mesh, or where cables are missing.
func (t *Torus) Step(n Node, d int, up bool) []Link {
	slot := 2 * d
	if !up {
		slot++
	}
	return t.next[2*len(t.Dims)*t.graph.SwitchIndex(n)+slot]
}
