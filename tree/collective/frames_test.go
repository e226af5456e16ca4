package collective_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFramesOfShortOperations counts what one short operation takes: frames over
// each link, and writes to each rank.
func TestFramesOfShortOperations(t *testing.T) {
	const size = 8
	for _, x := range []struct {
		op       string
		up, down int // frames over each link
		told     int // writes to each rank but the root
		root     int // to the root
	}{
		{op: "barrier", up: 1, down: 1, told: 1, root: 1},
		{op: "bcast", down: 1, told: 1},
		{op: "gather", up: 1, root: 1},
		{op: "allgather", up: 1, down: 1, told: 1, root: 1},
		{op: "scatter", down: 1, told: 1},
		{op: "alltoall", up: 1, down: 1, told: 1, root: 1},
		{op: "reduce", up: 1, root: 1},
		{op: "allreduce", up: 1, down: 1, told: 1, root: 1},
		{op: "scan", up: 1, down: 1, told: 1, root: 1},
	} {
		for _, shape := range []struct{ nodes, each, degree int }{{21, 4, 4}, {13, 1, 3}, {7, 2, 1}, {1, 3, 2}} {
			t.Run(fmt.Sprintf("%s, %d nodes of %d, degree %d", x.op, shape.nodes, shape.each, shape.degree), func(t *testing.T) {
				s := inUse(shape.nodes, shape.each, shape.degree)
				program := []step{{x.op, 0, size}}
				results := play(s, s.ends[:s.ranks], world, program, 1)
				s.run()
				s.check(t, results, program)
				for _, n := range s.nodes[1:] {
					require.Equal(t, x.up, n.up.puts, "frames from node %d to its parent", n.index)
					require.Equal(t, x.down, n.down.puts, "frames to node %d", n.index)
				}
				for _, e := range s.ends[:s.ranks] {
					want := x.told
					if e.id == 0 {
						want = x.root
					}
					require.Equal(t, want, e.in.puts, "writes to rank %d", e.id)
				}
			})
		}
	}
}

// TestFramesOfALongAllGather counts those of one whose parts are small: for each
// piece of 64 KiB there goes room up, a wish down, the parts up, and the piece
// down; a node lets the next four pieces be contributed now and then.
func TestFramesOfALongAllGather(t *testing.T) {
	const size = 4096
	s := inUse(21, 4, 4)
	program := []step{{"allgather", 0, size}}
	results := play(s, s.ends[:s.ranks], world, program, 1)
	s.run()
	s.check(t, results, program)
	pieces := (size*s.ranks + 64<<10 - 1) / (64 << 10)
	for _, n := range s.nodes[1:] {
		require.LessOrEqual(t, n.up.puts, 2*pieces+4, "frames from node %d to its parent", n.index)
		require.LessOrEqual(t, n.down.puts, 3*pieces+4, "frames to node %d", n.index)
	}
}

// inUse returns a tree whose ranks have begun to use it, with nothing counted yet.
func inUse(nodes, each, degree int) *sim {
	s := newSim(seeded(1), nodes, degree, blocks(nodes, each))
	play(s, s.ends[:s.ranks], world, []step{{"barrier", 0, 0}}, 1)
	s.run()
	for _, n := range s.nodes[1:] {
		n.up.puts, n.down.puts = 0, 0
	}
	for _, e := range s.ends {
		e.in.puts = 0
	}
	return s
}

// TestShortGatherGoesToItsRootAlone has a root in a leaf: only the links on the
// way to it are used, each once.
func TestShortGatherGoesToItsRootAlone(t *testing.T) {
	s := inUse(21, 2, 4)
	root := s.ranks - 1
	program := []step{{"gather", root, 8}}
	results := play(s, s.ends[:s.ranks], world, program, 1)
	s.run()
	s.check(t, results, program)
	way := map[int]bool{}
	for n := s.ends[root].node; n >= 0; n = s.nodes[n].parent {
		way[n] = true
	}
	for _, n := range s.nodes[1:] {
		up, down := 1, 0
		if way[n.index] {
			up, down = 0, 1
		}
		require.Equal(t, []int{up, down}, []int{n.up.puts, n.down.puts}, "frames from and to node %d", n.index)
	}
	require.Equal(t, 1, s.ends[root].in.puts)
}
