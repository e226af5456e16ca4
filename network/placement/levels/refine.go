package levels

import (
	"container/heap"
	"fmt"

	"github.com/golaunch/golaunch/network/commgraph"
)

// nearby bounds the cores of an entity in which a refinement looks for a place.
const nearby = 128

// Refine shortens the time of the rank that communicates longest, again and again: it
// goes near one of its peers, or a peer comes near it, by changing places with another
// rank, such that no time becomes longer than the longest and the sum of high powers of
// the times decreases. So ranks whose times are equal are relieved one after the other.
// It ends when the longest cannot be relieved. The map is changed, to one that is no
// worse; Refine returns how many pairs have changed places, at most limit.
func (c *Costs) Refine(g *commgraph.Graph, at []int32, limit int) (int, error) {
	if err := c.Machine.fits(g); err != nil {
		return 0, err
	}
	if err := permutation(at, g.Ranks()); err != nil {
		return 0, fmt.Errorf("core: %w", err)
	}
	r := newRefiner(c, g, at)
	swaps := 0
	for swaps < limit && r.relieve(r.order[0]) {
		swaps++
	}
	return swaps, nil
}

// refiner is one call of Refine.
type refiner struct {
	*Costs
	graph *commgraph.Graph
	at    []int32     // core of each rank
	on    []int32     // rank of each core
	cores [][][]int32 // of each level, the cores of each entity
	times []float64
	order []int32 // of ranks: a heap, the longest time first
	index []int32 // of each rank in order

	// Of the exchange that is tried:
	concerned []int32 // the ranks that change places, and their peers
	trial     int
	met       []int // of each rank, the last trial that concerned it
}

func newRefiner(c *Costs, g *commgraph.Graph, at []int32) *refiner {
	m := c.Machine
	r := &refiner{Costs: c, graph: g, at: at, on: make([]int32, len(at)), cores: make([][][]int32, m.Levels()),
		times: c.Times(g, at), order: m.Default(), index: m.Default(), met: make([]int, len(at))}
	for rank, core := range at {
		r.on[core] = int32(rank)
	}
	for l := range r.cores {
		r.cores[l] = make([][]int32, m.count[l])
		for core, e := range m.of[l] {
			r.cores[l][e] = append(r.cores[l][e], int32(core))
		}
	}
	heap.Init(r)
	return r
}

// Len, Less and Swap, and Push and Pop, which are not called, are those of the heap.
func (r *refiner) Len() int { return len(r.order) }

func (r *refiner) Less(i, j int) bool {
	a, b := r.order[i], r.order[j]
	return r.times[a] > r.times[b] || r.times[a] == r.times[b] && a < b
}

func (r *refiner) Swap(i, j int) {
	r.order[i], r.order[j] = r.order[j], r.order[i]
	r.index[r.order[i]], r.index[r.order[j]] = int32(i), int32(j)
}

func (r *refiner) Push(any) {}
func (r *refiner) Pop() any { return nil }

// near returns the cores of the largest entity around a core that is not too large.
func (r *refiner) near(core int32) []int32 {
	var cores []int32
	for l, of := range r.Machine.of {
		if cores = r.cores[l][of[core]]; len(cores) <= nearby {
			break
		}
	}
	return cores
}

// relieve makes the best exchange for the rank with the longest time; it is false if
// there is none.
func (r *refiner) relieve(longest int32) bool {
	best, most := [2]int32{}, 1e-6 // of what rounding gains, and less
	try := func(mover int32, cores []int32) {
		for _, core := range cores {
			other := r.on[core]
			if other == longest || other == mover {
				continue
			}
			r.exchange(mover, other)
			if gain := r.gain(longest, mover, other); gain > most {
				best, most = [2]int32{mover, other}, gain
			}
			r.exchange(mover, other)
		}
	}
	peers, _ := r.graph.Peers(longest)
	for _, p := range peers {
		try(longest, r.near(r.at[p]))
		try(p, r.near(r.at[longest]))
	}
	if best[0] == best[1] {
		return false
	}
	r.exchange(best[0], best[1])
	r.concern(best[0], best[1])
	for _, x := range r.concerned {
		r.times[x] = r.rank(r.graph, r.at, x)
		heap.Fix(r, int(r.index[x]))
	}
	return true
}

// gain is by how much the powers of the times decrease now that two ranks have changed
// places; 0 if the longest time does not, or another becomes longer.
func (r *refiner) gain(longest, a, b int32) float64 {
	most := r.times[longest]
	if r.rank(r.graph, r.at, longest) >= most {
		return 0
	}
	r.concern(a, b)
	gain := 0.0
	for _, x := range r.concerned {
		t := r.rank(r.graph, r.at, x)
		if t > most {
			return 0
		}
		gain += power(r.times[x]/most) - power(t/most)
	}
	return gain
}

// power is x to the power of 16.
func power(x float64) float64 {
	x *= x
	x *= x
	x *= x
	return x * x
}

// exchange has two ranks change places.
func (r *refiner) exchange(a, b int32) {
	r.at[a], r.at[b] = r.at[b], r.at[a]
	r.on[r.at[a]], r.on[r.at[b]] = a, b
}

// concern lists two ranks and their peers, each once.
func (r *refiner) concern(a, b int32) {
	r.trial++
	r.concerned = r.concerned[:0]
	add := func(x int32) {
		if r.met[x] != r.trial {
			r.met[x] = r.trial
			r.concerned = append(r.concerned, x)
		}
	}
	for _, x := range [2]int32{a, b} {
		add(x)
		peers, _ := r.graph.Peers(x)
		for _, p := range peers {
			add(p)
		}
	}
}
