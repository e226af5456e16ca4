package levels

import (
	"fmt"
	"math"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement/levels"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// coresPerHost is that of the machine of [Sahoo].
const coresPerHost = 24

// benchmark is a program of [Sahoo 4.3] with the volume of a process in all, in bytes
// [Sahoo, table 4.1].
type benchmark struct {
	name  string
	total int64
}

var benchmarks = []benchmark{{"chain", 2131e6}, {"EAM", 5226e6}, {"LJ", 3541e6}}

// grids are the numbers of ranks of [Sahoo 4], as LAMMPS factors them: with the least
// surface.
var grids = [][]int{{4, 4, 6}, {4, 6, 8}, {5, 6, 8}, {6, 8, 8}, {12, 16, 16}, {6, 8, 167}}

// trial is one job: ranks in a periodic grid on an allocation.
type trial struct {
	dims   []int
	groups int    // of the machine
	seed   uint64 // of a sparse allocation; 0 is contiguous hosts
	graph  *commgraph.Graph
	costs  *levels.Costs
	router routing.Router
}

func (t *trial) machine() *levels.Machine { return t.costs.Machine }

// allocation describes the job's hosts.
func (t *trial) allocation() string {
	if t.seed == 0 {
		return "contiguous"
	}
	return fmt.Sprintf("sparse, seed %d", t.seed)
}

func newTrial(dims []int, groups int, seed uint64, b benchmark) (*trial, error) {
	t := &trial{dims: dims, groups: groups, seed: seed}
	net, err := spec.Parse(fmt.Sprintf("cray:6,16,4,2,12,groups=%d", groups))
	if err != nil {
		return nil, err
	}
	if t.router, err = routing.NewMinimal(net); err != nil {
		return nil, err
	}
	if t.graph, err = halo(dims, func(int, int) int64 { return b.total / 3 }); err != nil {
		return nil, err
	}
	hosts := make([]topology.Node, t.graph.Ranks()/coresPerHost)
	for i := range hosts {
		hosts[i] = topology.Node(i)
	}
	if seed > 0 {
		// Half of the hosts of each blade on average.
		blades := min((len(hosts)+1)/2, net.Switches())
		if hosts, err = topology.Sparse(net, len(hosts), blades, false, seed); err != nil {
			return nil, err
		}
	}
	m, err := levels.OnCray(net, hosts)
	if err != nil {
		return nil, err
	}
	t.costs, err = levels.NewCosts(m, levels.Cray())
	return t, err
}

// halo returns a periodic grid in which each rank has a neighbor on either side in each
// dimension; weight is that of both directions, by rank and dimension.
func halo(dims []int, weight func(rank, dim int) int64) (*commgraph.Graph, error) {
	n := 1
	for _, d := range dims {
		n *= d
	}
	var edges []commgraph.Edge
	for r := range n {
		stride := 1
		for i := len(dims) - 1; i >= 0; i-- {
			x := r / stride % dims[i]
			edges = append(edges, commgraph.Edge{A: int32(r), B: int32(r + ((x+1)%dims[i]-x)*stride), Weight: weight(r, i)})
			stride *= dims[i]
		}
	}
	return commgraph.New(n, edges)
}

// profile returns the graph by a run of a hundredth of the iterations: a hundredth of
// each volume, off by up to a share of it.
func (t *trial) profile(b benchmark, share float64, seed uint64) (*commgraph.Graph, error) {
	return halo(t.dims, func(rank, dim int) int64 {
		x := topology.Mix(seed + topology.MixStep*uint64(rank*len(t.dims)+dim+1))
		off := share * (2*float64(x>>11)/(1<<53) - 1)
		return int64(float64(b.total) / 300 * (1 + off))
	})
}

// megabytes returns the mean volume of a process at each level.
func (t *trial) megabytes(at []int32) []float64 {
	var mb []float64
	for _, s := range t.costs.Shares(t.graph, at) {
		mb = append(mb, float64(s.Volume)/1e6/float64(t.graph.Ranks()))
	}
	return mb
}

// gain returns the lead of a map over rank order, in percent of the time.
func (t *trial) gain(at []int32) float64 {
	gain := 100 * (1 - t.costs.Max(t.graph, at)/t.costs.Max(t.graph, t.machine().Default()))
	return math.Round(10*gain)/10 + 0 // no -0
}

// sharing returns the resources that messages share, with so many bytes/s of copies in
// a socket.
func (t *trial) sharing(copies float64) levels.Sharing {
	return levels.Sharing{Router: t.router, Copy: copies}
}
