package mapping

import (
	"slices"
	"syscall"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// network is a target by the names that golaunch and Scotch have for it.
type network struct {
	family string
	spec   string
	scotch string
}

// networks has a torus, a tree and a dragonfly for each number of ranks.
var networks = map[int][]network{
	64: {
		{"torus", "torus:4x4x4", "torus3D 4 4 4"},
		{"tree", "xgft:4,4,4/1,1,1", "tleaf 3 4 6 4 4 4 2"},
		{"dragonfly", "dragonfly:p=2,a=4,h=2,g=8", "tleaf 3 8 5 4 3 2 2"},
	},
	512: {
		{"torus", "torus:8x8x8", "torus3D 8 8 8"},
		{"tree", "xgft:8,8,8/1,1,1", "tleaf 3 8 6 8 4 8 2"},
		{"dragonfly", "dragonfly:p=4,a=8,h=2,g=16", "tleaf 3 16 5 8 3 4 2"},
	},
	1024: {
		{"torus", "torus:8x8x16", "torus3D 8 8 16"},
		{"tree", "xgft:16,8,8/1,1,1", "tleaf 3 8 6 8 4 16 2"},
		{"dragonfly", "dragonfly:p=4,a=8,h=4,g=32", "tleaf 3 32 5 8 3 4 2"},
	},
}

func (n network) target(ranks int) (*mapping.Target, error) {
	g, err := spec.Parse(n.spec)
	if err != nil {
		return nil, err
	}
	r, err := routing.New(g, topology.Serial)
	if err != nil {
		return nil, err
	}
	unit := mapping.Links
	if n.family == "torus" {
		unit = mapping.Inner
	}
	return mapping.OnNetwork(r, slices.Collect(g.AllHosts())[:ranks], unit)
}

// comparison is a graph on a network, by all its mappers.
type comparison struct {
	network
	ranks           int
	total           float64 // weight of the graph
	standard        float64 // hop-bytes of the default order
	scotch          float64 // 0 if it is not installed
	mapped, refined *mapping.Outcome
	took, tookMore  float64 // s of one processor
}

func (r *run) compare(g *commgraph.Graph, n network) (*comparison, error) {
	t, err := n.target(g.Ranks())
	if err != nil {
		return nil, err
	}
	c := &comparison{network: n, ranks: g.Ranks(), total: float64(g.Total())}
	from := processor()
	if c.mapped, err = mapping.Choose(g, t, mapping.Options{Seed: 1}); err != nil {
		return nil, err
	}
	c.took = processor() - from
	c.standard = c.mapped.Default
	from = processor()
	if c.refined, err = mapping.Choose(g, t, mapping.Options{Seed: 1, Steps: mapping.Steps}); err != nil {
		return nil, err
	}
	c.tookMore = processor() - from
	m, err := scotch(r, g, n.scotch)
	if m != nil {
		c.scotch = mapping.HopBytes(g, t, m)
	}
	return c, err
}

// processor returns the processor time of this process, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak returns the most memory that this process has had, in MB.
func peak() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) * 1024 / 1e6
}
