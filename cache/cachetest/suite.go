package cachetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/cache"
)

// Run checks that a policy keeps the contract of package cache, for all budgets and
// lengths of the lists of rewritten keys.
func Run(t *testing.T, policy cache.Policy) {
	c := cache.Config{Policy: policy, MaxKey: 64, MaxValue: 4096}
	t.Run("random", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { random(t, c, false) }) })
	t.Run("overlap", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { random(t, c, true) }) })
	for _, v := range []struct {
		name                string
		budget, drops, part int
	}{
		{name: "one round", budget: cache.OneRound},
		{name: "small budget", budget: 700, part: 1000},
		{name: "no budget", drops: 1, part: 1},
	} {
		c.Budget, c.MaxDrops, c.MaxPart = v.budget, v.drops, v.part
		t.Run(v.name, func(t *testing.T) {
			for _, tc := range corners {
				t.Run(tc.name, func(t *testing.T) { tc.run(NewCluster(t, c, tc.shape)) })
			}
		})
	}
	t.Run("limits", func(t *testing.T) { limits(t, c) })
}

// drawShape draws a tree of up to 9 nodes, some without ranks.
func drawShape(t *rapid.T) Shape {
	n := rapid.IntRange(1, 9).Draw(t, "nodes")
	s := Shape{Parent: []int{-1}, Ranks: make([]int, n)}
	for i := 1; i < n; i++ {
		// Pre-order: the parent is the node before or one of its ancestors.
		p := i - 1
		for up := rapid.IntRange(0, i-1).Draw(t, "up"); up > 0 && p > 0; up-- {
			p = s.Parent[p]
		}
		s.Parent = append(s.Parent, p)
	}
	for i := range s.Ranks {
		s.Ranks[i] = rapid.IntRange(0, 3).Draw(t, "ranks")
	}
	if s.Size() == 0 {
		s.Ranks[rapid.IntRange(0, n-1).Draw(t, "only node")] = 1
	}
	return s
}

// random lets ranks put, get and enter, and links deliver, in random order.
func random(t *rapid.T, c cache.Config, overlap bool) {
	c.Budget = rapid.IntRange(cache.OneRound, 2000).Draw(t, "budget")
	c.MaxPart = rapid.SampledFrom([]int{1, 300, 0}).Draw(t, "part")
	c.MaxDrops = rapid.SampledFrom([]int{1, 200, 0}).Draw(t, "drops")
	cl := NewCluster(t, c, drawShape(t))
	cl.Overlap = overlap
	keys := rapid.SampledFrom([]string{"a", "b", "c", "key-1", "key=2", "more-7", strings.Repeat("k", 64)})
	values := rapid.SampledFrom([]string{"", "x", "with blank = and \\", strings.Repeat("v", 200)})
	pick := func(nodes []int) int { return rapid.SampledFrom(nodes).Draw(t, "node") }
	for range rapid.IntRange(10, 150).Draw(t, "steps") {
		var free, putting []int // nodes of which a rank can do something, or put
		for i := range cl.nodes {
			if cl.free(i) > 0 {
				free = append(free, i)
			}
			if cl.free(i) > 0 || overlap && cl.late(i) {
				putting = append(putting, i)
			}
		}
		links := cl.Links()
		switch action := rapid.IntRange(0, 5).Draw(t, "action"); {
		case len(links) > 0 && (action < 2 || len(free) == 0):
			l := links[rapid.IntRange(0, len(links)-1).Draw(t, "link")]
			cl.Deliver(l)
			cl.checkMemory(l.to)
		case len(free) == 0:
			require.Fail(t, "every rank waits and no message is under way")
		case action == 2:
			at := pick(putting)
			for i := range rapid.SampledFrom([]int{0, 0, 0, 40}).Draw(t, "more puts") {
				cl.Put(at, fmt.Sprintf("more-%d", i), values.Draw(t, "value"))
			}
			cl.Put(at, keys.Draw(t, "key"), values.Draw(t, "value"))
		case action == 3:
			cl.Enter(pick(free))
		case overlap:
			cl.Get(rapid.IntRange(0, len(cl.nodes)-1).Draw(t, "node"), keys.Draw(t, "key"))
		default:
			cl.Get(pick(free), keys.Draw(t, "key"))
		}
	}
	cl.Fence()
	for i := range cl.nodes {
		for _, key := range slices.Sorted(maps.Keys(cl.states[len(cl.states)-1])) {
			cl.Get(i, key)
		}
		cl.Get(i, "never put")
	}
	cl.Drain()
	cl.answered()
}

// limits checks that a refused put says why and changes nothing.
func limits(t *testing.T, c cache.Config) {
	cl := NewCluster(t, c, Chain(2, 1))
	board := cl.nodes[0].board
	put := func(key, value string) error { return board.Put([]byte(key), []byte(value), &cl.out) }
	require.NoError(t, put(strings.Repeat("k", c.MaxKey), strings.Repeat("v", c.MaxValue)))
	require.ErrorContains(t, put("", "v"), "empty key")
	require.ErrorContains(t, put(strings.Repeat("k", c.MaxKey+1), "v"), "key of 65 bytes")
	require.ErrorContains(t, put("k", strings.Repeat("v", c.MaxValue+1)), "value of 4097 bytes")
	cl.carryOut(0)
	cl.Get(0, "k")
	cl.Get(0, strings.Repeat("k", c.MaxKey+1))
	require.NoError(t, board.Enter(&cl.out))
	require.ErrorContains(t, board.Enter(&cl.out), "more than the node's 1 ranks")
}
