package routing

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func stages(q Sequence) string {
	text := q.Name + ":"
	for s := range q.Stages {
		for _, p := range q.Append(nil, s) {
			text += fmt.Sprintf(" %d>%d", p.From, p.To)
		}
		text += ";"
	}
	return text
}

func TestSequences(t *testing.T) {
	for _, x := range []struct {
		q    Sequence
		want string
	}{
		{Shift(3), "shift: 0>1 1>2 2>0; 0>2 1>0 2>1;"},
		{Ring(4), "ring: 0>1 1>2 2>3 3>0;"},
		{Dissemination(5), "dissemination: 0>1 1>2 2>3 3>4 4>0; 0>2 1>3 2>4 3>0 4>1; 0>4 1>0 2>1 3>2 4>3;"},
		{ReverseDissemination(3), "reverse dissemination: 0>2 1>0 2>1; 0>1 1>2 2>0;"},
		{Binomial(6), "binomial: 0>1; 0>2 1>3; 0>4 1>5;"},
		{Tournament(6), "tournament: 1>0 3>2 5>4; 2>0; 4>0;"},
		{RecursiveDoubling(4), "recursive doubling: 0>1 1>0 2>3 3>2; 0>2 1>3 2>0 3>1;"},
		{RecursiveDoubling(3), "recursive doubling: 0>1 1>0; 0>2 2>0;"},
		{RecursiveHalving(4), "recursive halving: 0>2 1>3 2>0 3>1; 0>1 1>0 2>3 3>2;"},
		{FoldedDoubling(6), "folded recursive doubling: 4>0 5>1; 0>1 1>0 2>3 3>2; 0>2 1>3 2>0 3>1; 0>4 1>5;"},
		{FoldedDoubling(4), "folded recursive doubling: 0>1 1>0 2>3 3>2; 0>2 1>3 2>0 3>1;"},
		{TreeDoubling([]int{3, 2}, 6), "tree recursive doubling: 2>0 5>3; 0>1 1>0 3>4 4>3; 0>2 3>5; 0>3 1>4 2>5 3>0 4>1 5>2;"},
		{TreeDoubling([]int{2, 4}, 5), "tree recursive doubling: 4>2; 0>1 1>0 2>3 3>2; 0>2 1>3 2>0 3>1; 2>4;"},
		{Shift(1), "shift:"}, {Ring(1), "ring:"}, {TreeDoubling([]int{4, 4}, 1), "tree recursive doubling:"},
		{TreeDoubling([]int{4, 4}, 0), "tree recursive doubling:"}, {FoldedDoubling(1), "folded recursive doubling:"},
	} {
		assert.Equal(t, x.want, stages(x.q))
	}
}

// Table 1: no more than these eight sequences.
func TestUsage(t *testing.T) {
	var names []string
	for i, q := range Sequences(16) {
		require.Equal(t, q.Name, Usage()[i].Sequence)
		names = append(names, fmt.Sprint(q.Name, " ", Usage()[i].Operations))
	}
	assert.Equal(t, []string{
		"binomial [allreduce barrier broadcast gather reduce reduce-scatter scatter]",
		"recursive doubling [allgather allreduce alltoall barrier broadcast reduce-scatter]",
		"recursive halving [allreduce reduce reduce-scatter]",
		"dissemination [alltoall barrier]",
		"reverse dissemination [allgather]",
		"tournament []",
		"ring [allgather allreduce broadcast reduce reduce-scatter scatter]",
		"shift [alltoall reduce-scatter]",
	}, names)
}

// All sequences keep one distance, or its opposite, in a stage, and those in one
// direction are parts of a stage of shift.
func TestConstantDisplacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "ranks")
		for _, q := range Sequences(n) {
			for s := range q.Stages {
				distances, senders, receivers := map[int]bool{}, map[int32]bool{}, map[int32]bool{}
				for _, p := range q.Append(nil, s) {
					d := (int(p.To-p.From) + n) % n
					distances[min(d, n-d)] = true
					assert.False(t, senders[p.From] || receivers[p.To], "%s, stage %d", q.Name, s)
					senders[p.From], receivers[p.To] = true, true
				}
				assert.LessOrEqual(t, len(distances), 1, "%s of %d, stage %d", q.Name, n, s)
			}
		}
	})
}

func TestSample(t *testing.T) {
	q := Shift(101).Sample(4)
	require.Equal(t, 4, q.Stages)
	for s, distance := range []int32{1, 26, 51, 76} {
		assert.Equal(t, Pair{0, distance}, q.Append(nil, s)[0])
	}
	assert.Equal(t, 100, Shift(101).Sample(200).Stages)
}

// An allreduce by these stages gives every rank each other's part exactly once.
func TestDoublingReducesAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 3).Draw(t, "children")
		size := 1
		for _, k := range m {
			size *= k
		}
		n := rapid.IntRange(1, size).Draw(t, "ranks")
		for _, q := range []Sequence{TreeDoubling(m, n), FoldedDoubling(n)} {
			value := make([]map[int]int, n)
			for i := range value {
				value[i] = map[int]int{i: 1}
			}
			for s := range q.Stages {
				type message struct {
					to   int32
					what map[int]int
				}
				var sent []message
				for _, p := range q.Append(nil, s) {
					sent = append(sent, message{p.To, value[p.From]})
				}
				for _, m := range sent {
					sum := map[int]int{}
					for k, v := range value[m.to] {
						sum[k] = v
					}
					complete := len(m.what) > len(value[m.to]) && contains(m.what, value[m.to])
					for k, v := range m.what {
						if complete {
							sum[k] = v // a result that takes the place of what was handed in
						} else {
							sum[k] += v
						}
					}
					value[m.to] = sum
				}
			}
			for i := range value {
				require.Len(t, value[i], n, "%s of %d in %v: rank %d", q.Name, n, m, i)
				for _, times := range value[i] {
					require.Equal(t, 1, times, "%s of %d in %v: rank %d", q.Name, n, m, i)
				}
			}
		}
	})
}

func contains(all, some map[int]int) bool {
	for k := range some {
		if all[k] == 0 {
			return false
		}
	}
	return true
}

// Equations 3 to 7 on the trees of table 3: 10, 12, 15 and 16 stages, none with
// contention; in parts of them as well.
func TestTreeDoublingIsFreeOfContention(t *testing.T) {
	for _, x := range []struct {
		tree          string
		ranks, stages int
	}{{tree144, 144, 10}, {tree324, 324, 12}, {tree1728, 1728, 15}, {tree1944, 1944, 16},
		{tree144, 120, 10}, {tree324, 288, 10}, {tree1728, 1584, 15}, {tree1944, 1296, 14}, {tree144, 126, 12}} {
		r := dmodk(t, x.tree)
		q := TreeDoubling(r.tree.M, x.ranks)
		assert.Equal(t, x.stages, q.Stages, "%s: %d ranks", x.tree, x.ranks)
		c, err := HotSpots(r, hostsOf(r.graph), q, parallel)
		require.NoError(t, err)
		assert.Equal(t, 1, c.Max(), "%s: %d ranks", x.tree, x.ranks)
		if bits.OnesCount(uint(x.ranks)) > 1 && x.ranks == r.graph.Hosts() {
			c, err = HotSpots(r, hostsOf(r.graph), FoldedDoubling(x.ranks), parallel)
			require.NoError(t, err)
			assert.Greater(t, c.Max(), 1, "plain recursive doubling is not free in %s", x.tree)
		}
	}
}
