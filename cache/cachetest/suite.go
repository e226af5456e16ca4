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

// Run checks that a policy keeps the contract of package cache, whatever its
// budget and however short the lists of rewritten keys.
func Run(t *testing.T, policy cache.Policy) {
	c := cache.Config{Policy: policy, MaxKey: 64, MaxValue: 4096}
	t.Run("random", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { random(t, c, false) }) })
	t.Run("overlap", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { random(t, c, true) }) })
	for _, v := range []struct {
		name          string
		budget, drops int
	}{
		{"one round", cache.OneRound, 0},
		{"small budget", 700, 0},
		{"no budget", 0, 1},
	} {
		c.Budget, c.MaxDrops = v.budget, v.drops
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
	c.Budget = rapid.SampledFrom([]int{0, 150, 500, 1 << 20, cache.OneRound}).Draw(t, "budget")
	c.MaxDrops = rapid.SampledFrom([]int{1, 200, 0}).Draw(t, "drops")
	cl := NewCluster(t, c, drawShape(t))
	cl.Overlap = overlap
	keys := rapid.SampledFrom([]string{"a", "b", "c", "key-1", "key=2", strings.Repeat("k", 64)})
	values := rapid.SampledFrom([]string{"", "x", "with blank = and \\", strings.Repeat("v", 200)})
	pick := func(nodes []int) int { return rapid.SampledFrom(nodes).Draw(t, "node") }
	for range rapid.IntRange(10, 150).Draw(t, "steps") {
		var free []int // nodes of which a rank can do something
		for i := range cl.nodes {
			if cl.free(i) > 0 {
				free = append(free, i)
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
			cl.Put(pick(free), keys.Draw(t, "key"), values.Draw(t, "value"))
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

// everywhere asks for keys at every node and drains.
func (cl *Cluster) everywhere(keys ...string) {
	cl.t.Helper()
	for i := range cl.nodes {
		for _, key := range keys {
			cl.Get(i, key)
		}
	}
	cl.Drain()
	cl.answered()
}

// state requires that the model's value of key is value: what a case is about.
func (cl *Cluster) state(key, value string) {
	cl.t.Helper()
	require.Equal(cl.t, value, cl.states[len(cl.states)-1][key], "winner of %q", key)
}

// fork is a root with two children, the first of which has two of its own.
var fork = Shape{Parent: []int{-1, 0, 1, 1, 0}, Ranks: []int{2, 2, 2, 2, 2}}

// corners are the cases that published implementations got wrong, or that
// random runs would meet too rarely.
var corners = []struct {
	name  string
	shape Shape
	run   func(cl *Cluster)
}{
	{"one node", Chain(1, 3), func(cl *Cluster) {
		cl.Put(0, "k", "v")
		cl.everywhere("k", "other")
		cl.Fence()
		cl.everywhere("k", "other")
	}},
	{"fences without puts", fork, func(cl *Cluster) {
		for range 4 {
			cl.Fence()
			cl.everywhere("k")
		}
	}},
	{"one rank puts", fork, func(cl *Cluster) {
		cl.Put(3, "k", "v")
		cl.everywhere("k") // own node at once, the others not
		cl.Fence()
		cl.everywhere("k")
		cl.state("k", "v")
	}},
	{"thousands from one rank", fork, func(cl *Cluster) {
		for i := range 3000 {
			cl.Put(2, fmt.Sprintf("key-%d", i), fmt.Sprintf("value %d", i))
		}
		cl.Fence()
		for i := range 3000 {
			cl.Get(i%5, fmt.Sprintf("key-%d", i))
		}
		cl.Drain()
	}},
	{"same key on two nodes", fork, func(cl *Cluster) {
		cl.Put(4, "k", "of node 4")
		cl.Put(1, "k", "of node 1")
		cl.Put(0, "k", "of node 0")
		cl.everywhere("k")
		cl.Fence()
		cl.state("k", "of node 4")
		cl.everywhere("k")
	}},
	{"same key twice on a node", fork, func(cl *Cluster) {
		cl.Put(2, "k", "first")
		cl.Put(2, "k", "second")
		cl.everywhere("k")
		cl.Fence()
		cl.state("k", "second")
		cl.everywhere("k")
	}},
	{"overwritten in later epochs", fork, func(cl *Cluster) {
		for e := range 5 {
			cl.Put(4-e, "k", fmt.Sprintf("epoch %d", e))
			cl.Put(e, fmt.Sprintf("k%d", e), "stays")
			cl.everywhere("k") // the old value elsewhere, the new one there
			cl.Fence()
			cl.everywhere("k", "k0", "k1", "k2", "k3", "k4")
		}
	}},
	{"long values", fork, func(cl *Cluster) {
		for i, n := range []int{0, 1, 127, 128, 1023, 1024, 4096} {
			cl.Put(i%5, fmt.Sprintf("k%d", n), strings.Repeat("\\ =", n)[:n])
		}
		cl.Fence()
		cl.everywhere("k0", "k1", "k127", "k128", "k1023", "k1024", "k4096")
	}},
	{"any bytes", fork, func(cl *Cluster) {
		cl.Put(1, "\x00\xff\n", "\n\x00\xff value=")
		cl.Fence()
		cl.everywhere("\x00\xff\n")
	}},
	{"leaf without ranks", Shape{Parent: []int{-1, 0, 0}, Ranks: []int{1, 0, 1}}, twoFences},
	{"inner node without ranks", Shape{Parent: []int{-1, 0, 1}, Ranks: []int{1, 0, 1}}, twoFences},
	{"root without ranks", Shape{Parent: []int{-1, 0, 0}, Ranks: []int{0, 1, 1}}, twoFences},
	{"subtree without ranks", Shape{Parent: []int{-1, 0, 1, 1, 0}, Ranks: []int{1, 0, 0, 0, 2}}, twoFences},
	{"only the last leaf has a rank", Shape{Parent: []int{-1, 0, 1, 0}, Ranks: []int{0, 0, 0, 1}}, twoFences},
	{"long chain", Chain(40, 1), twoFences},
}

// twoFences puts on every node that has ranks, twice over.
func twoFences(cl *Cluster) {
	for e := range 2 {
		for i, ranks := range cl.shape.Ranks {
			if ranks > 0 {
				cl.Put(i, fmt.Sprintf("of-%d", i), fmt.Sprintf("epoch %d", e))
				cl.Put(i, "shared", fmt.Sprintf("node %d", i))
			}
		}
		cl.Fence()
		cl.everywhere("of-0", "of-1", "of-2", "shared")
	}
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
