package collective_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

var large = flag.Bool("large", false, "run what takes minutes, too")

func world(e *simEnd) *member.Comm  { return e.World() }
func agents(e *simEnd) *member.Comm { return e.Agents() }

// blocks places each ranks on every node in turn.
func blocks(nodes, each int) []int {
	place := make([]int, nodes*each)
	for i := range place {
		place[i] = i / each
	}
	return place
}

// bound limits the bytes at a node (docs/client.md): on its links, for its
// endpoints, and for each operation in flight.
func bound(children, local, flight int) int {
	const some = 2 * record.Chunk // records that are made here, or go beyond a bound
	perLink := collective.Window + collective.QueueBound + some + flight*collective.Depth*record.MaxSize
	perEnd := collective.Window + 2*record.MaxSize + flight*(2*collective.Window+2*record.Chunk)
	return (children+1)*perLink + local*perEnd + flight*collective.Depth*record.Chunk
}

func (s *sim) bound(flight int) int {
	children, local := 0, map[int]int{}
	most := 0
	for _, n := range s.nodes {
		children = max(children, len(n.children))
	}
	for _, e := range s.ends {
		local[e.node]++
		most = max(most, local[e.node])
	}
	return bound(children, most, flight)
}

// check asserts that everything has ended well and left nothing behind.
func (s *sim) check(t require.TestingT, results [][]outcome, program []step) {
	require.Empty(t, s.faults)
	for i, r := range results {
		for n, x := range r {
			require.True(t, x.done, "member %d: step %d, %+v, hangs", i, n, program[n])
			require.NoError(t, x.err, "member %d: step %d, %+v", i, n, program[n])
		}
	}
	for _, n := range s.nodes {
		require.True(t, n.Forgotten(), "node %d still holds something (%d bytes)", n.index, n.Held())
	}
}

func TestEveryOperationAgainstTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 24).Draw(t, "nodes")
		degree := rapid.SampledFrom([]int{2, 3, 4, 8, 128}).Draw(t, "degree")
		ranks := rapid.IntRange(1, 40).Draw(t, "ranks")
		place := make([]int, ranks)
		scattered := rapid.Bool().Draw(t, "scattered")
		rng := seeded(rapid.Uint64().Draw(t, "seed"))
		for i := range place {
			if place[i] = i * nodes / ranks; scattered {
				place[i] = rng.IntN(nodes)
			}
		}
		s := newSim(rng, nodes, degree, place)
		flight := rapid.SampledFrom([]int{1, 2, 5, 12}).Draw(t, "in flight")
		members, comm, size := s.ends[:ranks], world, ranks
		switch rapid.IntRange(0, 3).Draw(t, "communicator") {
		case 3:
			members, comm = s.shuffled(t)
		case 1:
			members, comm, size = s.ends[ranks:], agents, nodes
		case 2:
			members, comm = s.subset(t)
			size = len(members)
		}
		program := make([]step, rapid.IntRange(1, 20).Draw(t, "steps"))
		for i := range program {
			program[i] = step{
				op:   rapid.SampledFrom(allOps).Draw(t, "op"),
				root: rapid.IntRange(0, size-1).Draw(t, "root"),
				size: rapid.OneOf(rapid.IntRange(0, 64), rapid.IntRange(0, 8<<10), rapid.IntRange(0, 300<<10)).Draw(t, "size"),
			}
			if all := program[i].size * size; all > 4<<20 {
				program[i].size /= all/(4<<20) + 1 // keeps the test short
			}
		}
		results := play(s, members, comm, program, flight)
		s.run()
		s.check(t, results, program)
		require.LessOrEqual(t, s.most, s.bound(flight))
	})
}

// subset makes a communicator of some endpoints, in any order.
func (s *sim) subset(t require.TestingT) ([]*simEnd, func(*simEnd) *member.Comm) {
	perm := s.rng.Perm(len(s.ends))
	return s.members(t, perm[:1+s.rng.IntN(len(perm))])
}

// shuffled makes a communicator of all ranks, in any order, by a split.
func (s *sim) shuffled(t require.TestingT) ([]*simEnd, func(*simEnd) *member.Comm) {
	g, c := group(s.ends[:s.ranks]), commsByEnd{}
	choices := make([]choice, len(g))
	for i, e := range g {
		c[e] = e.World()
		choices[i].key = s.rng.IntN(2 * len(g))
	}
	classes, made := s.split(t, g, c, choices)
	return classes[0], made.of
}

// members makes a communicator.
func (s *sim) members(t require.TestingT, list []int) ([]*simEnd, func(*simEnd) *member.Comm) {
	members := make([]*simEnd, len(list))
	requests := map[*simEnd]*member.Request{}
	for i, id := range list {
		e := s.ends[id]
		members[i] = e
		s.do(e, func() { requests[e] = e.Sub(list) })
	}
	s.run()
	for i, e := range members {
		done, err := requests[e].Done()
		require.NoError(t, err)
		require.True(t, done, "making a communicator hangs")
		require.Equal(t, i, requests[e].Made().Rank())
		require.Equal(t, len(list), requests[e].Made().Size())
	}
	return members, func(e *simEnd) *member.Comm { return requests[e].Made() }
}

// spread lists some of n ranks, from the first to the last.
func spread(n, some int) []int {
	var list []int
	for i := range some {
		list = append(list, i*(n-1)/(some-1))
	}
	return list
}

func TestRadixEdges(t *testing.T) {
	for _, k := range []int{2, 3, 8, 64} {
		for _, n := range []int{k, k + 1, k * k, k*k + 1, k*k + k + 1} {
			t.Run(fmt.Sprintf("degree %d, %d nodes", k, n), func(t *testing.T) {
				s := newSim(seeded(uint64(n)), n, k, blocks(n, 1))
				var program []step
				for i, op := range allOps {
					program = append(program, step{op, (i * 7) % n, max(8, 1024/n)})
					if n < 20 {
						program = append(program, step{op, (i * 5) % n, record.Chunk + 8})
					}
				}
				if n > 20 && n < 100 { // of small parts that are long together
					program = append(program, step{"allgather", 0, 3000}, step{"allgather", 0, record.Chunk/4 + 1})
				}
				few, comm := s.ends[:n], world
				var among []step
				if n > 1000 { // messages of all to all take long here: some suffice
					for i, x := range program {
						if x.op == "alltoall" || x.op == "scan" || x.op == "allgather" {
							among = append(among, step{x.op, 0, 8})
							program[i] = step{"allgather", 0, 1}
						}
					}
					few, comm = s.members(t, spread(n, k))
				}
				results := play(s, s.ends[:n], world, program, 3)
				s.run()
				s.check(t, results, program)
				results = play(s, few, comm, among, 3)
				s.run()
				s.check(t, results, among)
				require.LessOrEqual(t, s.most, s.bound(3))
			})
		}
	}
}

func TestAllToAllOfManyRanks(t *testing.T) {
	for _, x := range []struct{ nodes, each, degree, size int }{
		{nodes: 128, each: 8, degree: 8, size: 40}, {nodes: 1024, each: 1, degree: 16, size: 10}, {nodes: 256, each: 16, degree: 16, size: 1},
	} {
		t.Run(fmt.Sprintf("%d nodes, %d ranks each, %d bytes", x.nodes, x.each, x.size), func(t *testing.T) {
			s := newSim(seeded(1), x.nodes, x.degree, blocks(x.nodes, x.each))
			program := []step{{"alltoall", 0, x.size}}
			results := play(s, s.ends[:s.ranks], world, program, 1)
			s.run()
			s.check(t, results, program)
			require.LessOrEqual(t, s.most, s.bound(1))
		})
	}
}

// TestAllToAllSparesTheRoot counts what passes the root, beside the same data
// gathered to a rank there and scattered again.
func TestAllToAllSparesTheRoot(t *testing.T) {
	const nodes, each, degree, size = 64, 4, 4, 64
	traffic := func(program ...step) int {
		s := newSim(seeded(1), nodes, degree, blocks(nodes, each))
		results := play(s, s.ends[:s.ranks], world, program, 1)
		s.run()
		s.check(t, results, program)
		return s.toRoot + s.offRoot
	}
	direct := traffic(step{"alltoall", 0, size})
	all := nodes * each * size
	detour := traffic(step{"gather", 0, all}, step{"scatter", 0, all})
	t.Logf("through the root: alltoall %d bytes, gather and scatter %d", direct, detour)
	require.Less(t, direct, detour*9/10)
}

// TestLongAllGathers has parts, small and large, of members in any order and in the order
// of the tree, so that nodes have members in some pieces and none in others.
func TestLongAllGathers(t *testing.T) {
	for seed, x := range []struct{ nodes, each, degree int }{{40, 1, 2}, {40, 1, 39}, {9, 1, 1}, {7, 6, 2}, {2, 20, 1}} {
		for _, shuffled := range []bool{false, true} {
			s := newSim(seeded(uint64(seed)), x.nodes, x.degree, blocks(x.nodes, x.each))
			members, comm := s.ends[:s.ranks], world
			if shuffled {
				members, comm = s.shuffled(t)
			}
			program := []step{{"allgather", 0, record.Chunk/s.ranks + 1}, {"allgather", 0, 3000}, {"allgather", 0, record.Chunk / 4}, {"allgather", 0, record.Chunk/4 + 1}}
			results := play(s, members, comm, program, 3)
			s.run()
			s.check(t, results, program)
		}
	}
}
