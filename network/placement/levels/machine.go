package levels

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/topology"
)

// Machine is the cores that a job has, in the order in which ranks get them by
// default: core i is rank i's. It is immutable.
type Machine struct {
	names []string
	// of has for each level the entity of each core. Entities of a level are numbered
	// in the order of their first cores; an entity is within one of the level above.
	of    [][]int32
	count []int32         // entities of each level
	host  []topology.Node // of each core; nil where no network is known
}

// New makes a machine of levels with these names, from the top. Place has for each
// core its coordinates: the number of its entity at each level, within that of the
// level above. The error names a core that has too many or too few.
func New(names []string, place [][]int32) (*Machine, error) {
	if len(names) == 0 {
		return nil, errors.New("a machine without levels")
	}
	if len(place) == 0 || len(place) > commgraph.MaxRanks {
		return nil, fmt.Errorf("%d cores: a machine has 1 to %d", len(place), commgraph.MaxRanks)
	}
	m := &Machine{names: names, of: make([][]int32, len(names)), count: make([]int32, len(names))}
	above := make([]int32, len(place))
	for l := range names {
		m.of[l] = make([]int32, len(place))
		known := map[[2]int32]int32{}
		for core, at := range place {
			if len(at) != len(names) {
				return nil, fmt.Errorf("core %d has %d coordinates: expected %d, one for each level", core, len(at), len(names))
			}
			key := [2]int32{above[core], at[l]}
			entity, ok := known[key]
			if !ok {
				entity = int32(len(known))
				known[key] = entity
			}
			m.of[l][core] = entity
		}
		m.count[l], above = int32(len(known)), m.of[l]
	}
	return m, nil
}

// OnCray returns the machine of all cores of some hosts of a Cray XC, which
// network/topology/spec calls cray:6,16,4,2,12; the levels are group, chassis, blade,
// node and socket. The order of hosts is that of the cores. The error says that g is no
// Cray whose sockets and cores are known, or which host is none or given twice.
func OnCray(g *topology.Graph, hosts []topology.Node) (*Machine, error) {
	f, ok := g.Family().(*topology.Dragonfly)
	if !ok || f.Sockets < 1 || f.Cores < 1 {
		return nil, errors.New("the network is no Cray whose sockets and cores are known: describe it as in cray:6,16,4,2,12")
	}
	cores := f.Sockets * f.Cores
	if len(hosts) > commgraph.MaxRanks/cores {
		return nil, fmt.Errorf("%d hosts of %d cores: a machine has at most %d cores", len(hosts), cores, commgraph.MaxRanks)
	}
	place := make([][]int32, 0, len(hosts)*cores)
	of := make([]topology.Node, 0, len(hosts)*cores)
	seen := map[topology.Node]bool{}
	for _, h := range hosts {
		if h < 0 || int(h) >= g.Hosts() || g.Leaf(h) == topology.NoNode || seen[h] {
			return nil, fmt.Errorf("node %d of the network: expected hosts with a cable, each once", h)
		}
		seen[h] = true
		blade := g.Leaf(h)
		row := f.A / max(1, f.Chassis)
		for core := range cores {
			place = append(place, []int32{int32(f.Group(blade)), int32(f.Router(blade) / row),
				int32(f.Router(blade) % row), int32(h), int32(core / f.Cores)})
			of = append(of, h)
		}
	}
	m, err := New([]string{"group", "chassis", "blade", "node", "socket"}, place)
	if err == nil {
		m.host = of
	}
	return m, err
}

// Cores returns the number of cores.
func (m *Machine) Cores() int { return len(m.of[0]) }

// Levels returns the number of levels of entities. Messages have one level more.
func (m *Machine) Levels() int { return len(m.names) }

// Name returns the level's name, and the kind of message for a level of messages:
// "group" is level 0, and messages of level 0 are those between groups.
func (m *Machine) Name(level int) string { return m.names[level] }

// Entity returns the entity of a core at a level, numbered over the whole machine.
func (m *Machine) Entity(level int, core int32) int32 { return m.of[level][core] }

// Entities returns the number of entities of a level that hold cores of the job.
func (m *Machine) Entities(level int) int { return int(m.count[level]) }

// Between returns the level of messages between two cores.
func (m *Machine) Between(a, b int32) int {
	for l, of := range m.of {
		if of[a] != of[b] {
			return l
		}
	}
	return len(m.of)
}

// HostLevel tells the level of messages between two hosts of the machine by the names
// that g, the network given to OnCray, has for them. Its error names one that is none.
func (m *Machine) HostLevel(g *topology.Graph) func(from, to string) (int, error) {
	first := map[string]int32{}
	for core, h := range m.host {
		if core == 0 || m.host[core-1] != h {
			first[g.Name(h)] = int32(core)
		}
	}
	return func(from, to string) (int, error) {
		a, known := first[from]
		b, also := first[to]
		switch {
		case !known:
			return 0, fmt.Errorf("%q is no host of the machine", from)
		case !also:
			return 0, fmt.Errorf("%q is no host of the machine", to)
		}
		return m.Between(a, b), nil
	}
}

// Default returns the map in rank order: rank i on core i.
func (m *Machine) Default() []int32 {
	at := make([]int32, m.Cores())
	for i := range at {
		at[i] = int32(i)
	}
	return at
}

// orderedCores returns the cores in the order of entities, so that those of each are
// together.
func (m *Machine) orderedCores() []int32 {
	cores := m.Default()
	slices.SortStableFunc(cores, func(a, b int32) int {
		for _, of := range m.of {
			if of[a] != of[b] {
				return int(of[a] - of[b])
			}
		}
		return 0
	})
	return cores
}

// largest has for each level how many cores its largest entity has.
func (m *Machine) largest() []int {
	most := make([]int, m.Levels())
	for l, of := range m.of {
		count := make([]int, m.count[l])
		for _, e := range of {
			count[e]++
		}
		most[l] = slices.Max(count)
	}
	return most
}

// fits reports an error if a graph's ranks are not one for each core.
func (m *Machine) fits(g *commgraph.Graph) error {
	if g.Ranks() != m.Cores() {
		return fmt.Errorf("%d ranks for %d cores: a map has one rank on each core", g.Ranks(), m.Cores())
	}
	return nil
}
