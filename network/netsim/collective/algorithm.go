package collective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
)

// Job is a collective operation to make a program of.
type Job struct {
	Ranks int
	// Bytes is the size of one rank's part in an allgather, reduce-scatter, gather or
	// scatter, and of the whole vector in all other operations.
	Bytes int64
	// Dims are the sizes of the torus or mesh that ranks are on. Rank i is on index i,
	// of which the first dimension varies fastest. Algorithms that need nothing do
	// not look at Dims and Members.
	Dims []int
	// Members are the indices that ranks are on where not all of Dims have one.
	Members []int32
	// Root is the root of operations that have one.
	Root int32
}

// Shape is the knowledge of the network that an Algorithm needs.
type Shape int

// The shapes.
const (
	Any     Shape = iota // nothing: Dims and Members may be nil
	Grid                 // Dims, with a rank on each index
	Square               // Dims, two equal powers of two, with a rank on each index
	Members              // Dims, or Dims and Members
)

// String names the networks that suffice.
func (s Shape) String() string {
	return [...]string{"any network", "torus or mesh", "square mesh of a power of two", "torus or mesh, or a part"}[s]
}

// Algorithm is a line of the table.
type Algorithm struct {
	Name       string // such as "allgather/ring", unlike all others
	Operation  Operation
	Help       string
	Needs      Shape
	makeStages func(j Job, unit, bytes int64) []Stage
}

// scheme is one or several gatherings of which five operations are made.
type scheme struct {
	name, help string
	needs      Shape
	gather     func(j Job) []gathering
}

func one(g gathering) []gathering { return []gathering{g} }

// schemes returns the gatherings.
func schemes() []scheme {
	list := []scheme{
		{name: "ring", help: "each rank sends to the next lower one", needs: Any, gather: func(j Job) []gathering {
			return one(bucket([]int{j.Ranks}, 0, -1))
		}},
		{name: "doubling", help: "recursive doubling, distance doubling", needs: Any, gather: func(j Job) []gathering {
			b := newBox(j.Ranks)
			return one(doubling(b, always(b.doublingOrder()), identity(j.Ranks)))
		}},
		{name: "halving", help: "recursive doubling, distance halving", needs: Any, gather: func(j Job) []gathering {
			b := newBox(j.Ranks)
			return one(doubling(b, always(b.halvingOrder()), identity(j.Ranks)))
		}},
		{name: "torus", help: "recursive doubling in the order of the torus", needs: Grid, gather: func(j Job) []gathering {
			b := newBox(j.Dims...)
			return one(doubling(b, always(b.torusOrder()), identity(j.Ranks)))
		}},
		{name: "mesh", help: "recursive doubling in the order of a square mesh, half of the ranks in each dimension", needs: Square, gather: func(j Job) []gathering {
			b := newBox(j.Dims...)
			return one(doubling(b, b.meshOrder, identity(j.Ranks)))
		}},
		{name: "path", help: "recursive doubling, distance halving, along a Hamiltonian path", needs: Members, gather: func(j Job) []gathering {
			return paths(j.Dims, 1, j.members())
		}},
		{name: "3-path", help: "recursive doubling along three paths at once", needs: Members, gather: func(j Job) []gathering {
			return paths(j.Dims, 3, j.members())
		}},
		{name: "bruck", help: "Bruck's: each rank sends what it has to the rank 2^s above", needs: Any, gather: func(j Job) []gathering {
			return one(bruck(j.Ranks))
		}},
		{name: "pairwise", help: "each rank deals with each other one itself", needs: Any, gather: func(j Job) []gathering {
			return one(pairwise(j.Ranks))
		}},
		{name: "bucket", help: "a ring in each dimension in turn", needs: Grid, gather: func(j Job) []gathering {
			return buckets(j.Dims, 1)
		}},
		{name: "hybrid", help: "recursive doubling in all dimensions but one, then a ring, once for each dimension at once", needs: Grid, gather: func(j Job) []gathering {
			return hybrids(j.Dims)
		}},
	}
	for n := 3; n <= 6; n++ {
		list = append(list, scheme{name: fmt.Sprintf("%d-bucket", n), help: fmt.Sprintf("%d buckets at once, at most two for each dimension", n), needs: Grid,
			gather: func(j Job) []gathering { return buckets(j.Dims, n) }})
	}
	return list
}

// Algorithms returns the table of all algorithms, by operation.
func Algorithms() []Algorithm {
	var list []Algorithm
	for _, o := range []Operation{Allgather, ReduceScatter, Broadcast, Reduce, Allreduce} {
		for _, w := range schemes() {
			list = append(list, Algorithm{Name: string(o) + "/" + w.name, Operation: o, Help: composed[o] + w.help, Needs: w.needs, makeStages: w.stages(o)})
		}
	}
	for _, k := range []int{2, 4} {
		for _, o := range trees {
			list = append(list, nomial(o, k))
		}
	}
	return append(list,
		Algorithm{Name: "allreduce/fan", Operation: Allreduce, Help: "binomial reduce to the root, then binomial broadcast", Needs: Any,
			makeStages: func(j Job, _, bytes int64) []Stage {
				down := broadcast(j.Ranks, j.Root, 2, bytes)
				return append(reversed(down, true), down...)
			}},
		Algorithm{Name: "allreduce/exchange", Operation: Allreduce, Help: "bidirectional exchange of whole vectors", Needs: Any,
			makeStages: func(j Job, _, bytes int64) []Stage { return exchange(j.Ranks, bytes) }},
		Algorithm{Name: "allreduce/mesh-exchange", Operation: Allreduce, Help: "bidirectional exchange between the partners that load a mesh least", Needs: Square,
			makeStages: func(j Job, _, bytes int64) []Stage { return meshExchange(newBox(j.Dims...), bytes) }},
	)
}

// composed describes operations that are made of a way to allgather [Sack 3.4.4].
var composed = map[Operation]string{
	ReduceScatter: "an allgather backward: ",
	Broadcast:     "Van de Geijn's, binomial scatter and allgather: ",
	Reduce:        "reduce-scatter, an allgather backward, and binomial gather: ",
	Allreduce:     "Rabenseifner's, reduce-scatter and allgather: ",
}

// stages makes an operation of the way.
func (w scheme) stages(o Operation) func(j Job, unit, bytes int64) []Stage {
	return func(j Job, unit, bytes int64) []Stage {
		all := stages(w.gather(j), j.Ranks, unit, bytes)
		switch o {
		case ReduceScatter:
			return reversed(all, true)
		case Broadcast:
			return append(scatter(j.Ranks, j.Root, 2, unit, bytes), all...)
		case Reduce:
			return append(reversed(all, true), reversed(scatter(j.Ranks, j.Root, 2, unit, bytes), false)...)
		case Allreduce: // the order is lost and restored: neither is needed
			all = slices.DeleteFunc(all, func(s Stage) bool { return s.Restores })
			return append(reversed(all, true), all...)
		}
		return all
	}
}

// trees are the operations that a tree does.
var trees = []Operation{Broadcast, Scatter, Gather, Reduce}

func nomial(o Operation, k int) Algorithm {
	name := fmt.Sprintf("%d-nomial", k)
	return Algorithm{Name: string(o) + "/" + name, Operation: o, Help: name + " tree", Needs: Any, makeStages: func(j Job, unit, bytes int64) []Stage {
		switch o {
		case Scatter:
			return scatter(j.Ranks, j.Root, k, unit, bytes)
		case Gather:
			return reversed(scatter(j.Ranks, j.Root, k, unit, bytes), false)
		case Reduce:
			return reversed(broadcast(j.Ranks, j.Root, k, bytes), true)
		}
		return broadcast(j.Ranks, j.Root, k, bytes)
	}}
}

// Find returns the algorithm of that name. The error names those of its operation, or
// the operations.
func Find(name string) (Algorithm, error) {
	operation, _, _ := strings.Cut(name, "/")
	var alike, operations []string
	for _, a := range Algorithms() {
		if a.Name == name {
			return a, nil
		}
		if string(a.Operation) == operation {
			alike = append(alike, a.Name)
		}
		if !slices.Contains(operations, string(a.Operation)) {
			operations = append(operations, string(a.Operation))
		}
	}
	if alike != nil {
		return Algorithm{}, fmt.Errorf("algorithm %q is none of %s", name, strings.Join(alike, ", "))
	}
	return Algorithm{}, fmt.Errorf("algorithm %q begins with none of %s", name, strings.Join(operations, ", "))
}

// members returns the indices that ranks are on.
func (j Job) members() []int32 {
	if j.Members != nil {
		return j.Members
	}
	return identity(j.Ranks)
}

// maxBytes bounds the vectors of all ranks together, which is the most that is on
// a link in a stage.
const maxBytes = 1 << 60

// maxBytesOf returns the most that Bytes may be.
func (o Operation) maxBytesOf(ranks int64) int64 {
	if o.perRank() {
		return maxBytes / ranks / ranks
	}
	return maxBytes / ranks
}

// Program makes the algorithm for a job. The error names the fault of the job.
func (a Algorithm) Program(j Job) (*Program, error) {
	p, err := a.program(j)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	return p, nil
}

func (a Algorithm) program(j Job) (*Program, error) {
	if err := a.check(j); err != nil {
		return nil, err
	}
	unit, bytes := (j.Bytes+int64(j.Ranks)-1)/int64(j.Ranks), j.Bytes
	if a.Operation.perRank() {
		unit, bytes = j.Bytes, j.Bytes*int64(j.Ranks)
	}
	return &Program{Name: a.Name, Operation: a.Operation, Ranks: j.Ranks, Bytes: bytes, Root: j.Root,
		Stages: a.makeStages(j, unit, bytes), unit: unit}, nil
}

func (a Algorithm) check(j Job) error {
	if j.Ranks < 1 || j.Ranks > topology.MaxNodes {
		return fmt.Errorf("%d ranks: expected 1..%d", j.Ranks, topology.MaxNodes)
	}
	switch most := a.Operation.maxBytesOf(int64(j.Ranks)); {
	case j.Bytes < 0 || j.Bytes > most:
		return fmt.Errorf("%d bytes: expected 0..%d", j.Bytes, most)
	case j.Root < 0 || int(j.Root) >= j.Ranks:
		return fmt.Errorf("root %d: expected 0..%d", j.Root, j.Ranks-1)
	case a.Needs == Any:
		return nil
	case len(j.Dims) == 0:
		return fmt.Errorf("it needs the sizes of a torus or mesh")
	}
	shape := topology.Shape{Dims: j.Dims, Wrap: make([]bool, len(j.Dims))}
	if err := shape.Check(); err != nil {
		return err
	}
	size := product(j.Dims)
	if a.Needs == Square && (len(j.Dims) != 2 || j.Dims[0] != j.Dims[1] || size&(size-1) != 0) {
		return fmt.Errorf("sizes %v: expected two equal powers of two", j.Dims)
	}
	if a.Needs == Members && j.Members != nil {
		return checkMembers(j, size)
	}
	if j.Members != nil {
		return fmt.Errorf("it needs a rank on each index: expected no members")
	}
	if size != j.Ranks {
		return fmt.Errorf("sizes %v have %d places for %d ranks: expected as many", j.Dims, size, j.Ranks)
	}
	return nil
}

func checkMembers(j Job, size int) error {
	if len(j.Members) != j.Ranks {
		return fmt.Errorf("%d members for %d ranks: expected as many", len(j.Members), j.Ranks)
	}
	rank := make(map[int32]int, len(j.Members))
	for i, x := range j.Members {
		if x < 0 || int(x) >= size {
			return fmt.Errorf("rank %d is on index %d: expected 0..%d", i, x, size-1)
		}
		if other, twice := rank[x]; twice {
			return fmt.Errorf("ranks %d and %d are both on index %d", other, i, x)
		}
		rank[x] = i
	}
	return nil
}
