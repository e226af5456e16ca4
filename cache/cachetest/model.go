package cachetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
)

// model predicts one node's Board.
type model struct {
	entered  int                 // local ranks in the fence
	released int                 // fences completed here
	puts     []put               // since the last fence
	last     []put               // of the fence from which this node was not released yet
	late     []put               // since its subtree entered a fence: for the next one
	asked    map[uint64]question // gets not answered yet
}

type put struct{ key, value string }

// question is a get under way, with the answer of the node's own puts and the node's
// completed fences at the time.
type question struct {
	key, value string
	own        bool
	epoch      int
}

// question returns the question that a get of key asks now.
func (m *model) question(key string) question {
	q := question{key: key, epoch: m.released}
	for _, puts := range [][]put{m.last, m.puts, m.late} {
		for _, p := range puts {
			if p.key == key {
				q.value, q.own = p.value, true
			}
		}
	}
	return q
}

// late reports whether a put at a node is sure to miss the fence under way: the
// node is a leaf, and all its ranks are inside.
func (cl *Cluster) late(at int) bool {
	n := cl.nodes[at]
	return len(n.children) == 0 && n.entered > 0 && n.entered == cl.shape.Ranks[at]
}

// fence is the model's fence: puts count node by node in pre-order, at each
// node in the order they came.
func (cl *Cluster) fence() {
	next := map[string]string{}
	for k, v := range cl.states[len(cl.states)-1] {
		next[k] = v
	}
	for _, n := range cl.nodes {
		for _, p := range n.puts {
			next[p.key] = p.value
		}
		n.last, n.puts = n.puts, nil
	}
	cl.states = append(cl.states, next)
	cl.inside = 0
}

// checkAnswer requires that an answer is the one of the node's own puts or else
// of the state at its last fence; a rank that did not wait for it may see the
// state of the next fence instead, where that is complete.
func (cl *Cluster) checkAnswer(at int, a cache.Answer) {
	n := cl.nodes[at]
	q, asked := n.asked[a.Token]
	require.True(cl.t, asked, "node %d: answer to token %d, which is not under way", at, a.Token)
	delete(n.asked, a.Token)
	got := strings.Clone(a.Value)
	if q.own {
		require.True(cl.t, a.Found && q.value == got, "node %d: %q is %q here, but its own put %q", at, q.key, got, q.value)
		return
	}
	states := cl.states[q.epoch:]
	if !cl.Overlap {
		states = states[:1]
	}
	for _, state := range states {
		if value, found := state[q.key]; found == a.Found && value == got {
			return
		}
	}
	value, found := states[0][q.key]
	require.Fail(cl.t, "wrong answer", "node %d, epoch %d: %q is %q (found: %v), must be %q (%v)",
		at, q.epoch, q.key, got, a.Found, value, found)
}

// checkRelease requires that a node is released when every rank has entered.
func (cl *Cluster) checkRelease(at int, r cache.Release) {
	cl.t.Helper()
	n := cl.nodes[at]
	n.released++
	require.Equal(cl.t, cache.Epoch(n.released), r.Epoch, "epoch released at node %d", at)
	require.Less(cl.t, n.released, len(cl.states), "node %d: released before every rank entered", at)
	require.Equal(cl.t, cl.shape.Ranks[at], n.entered, "ranks in the fence at node %d", at)
	n.entered, n.last = 0, nil
	n.puts, n.late = append(n.puts, n.late...), nil
}

// Bytes that a Board may use for an entry and for a get under way, beside their
// contents, and for itself.
const (
	entryCost = 160
	getCost   = 256
	fixedCost = 4 << 10
	slackCost = 64 << 10 // superseded broadcasts at hcmab
)

// checkMemory requires that a node holds no more than its policy's part of the state
// (docs/architecture.md), its own puts and the needs of the fence under way.
func (cl *Cluster) checkMemory(at int) {
	cl.t.Helper()
	bound := cl.bound(at)
	require.LessOrEqual(cl.t, cl.Stats(at).Resident, bound, "memory of node %d under %s", at, cl.config.Policy)
}

// sampleMemory is checkMemory for a large cluster: it leaves nodes out.
func (cl *Cluster) sampleMemory(at int) {
	cl.t.Helper()
	if at%(1+len(cl.nodes)/32) == 0 {
		cl.checkMemory(at)
	}
}

func (cl *Cluster) bound(at int) int {
	n, c := cl.nodes[at], cl.config
	every := func(string) bool { return true }
	mine := func(key string) bool { return cache.Home(c.World, []byte(key), c.Nodes) == n.number }
	// The Board is at a completed fence, or the one under way is installed.
	state := func(of func(string) bool) int {
		cost := 0
		for _, state := range cl.states[n.released:] {
			cost = max(cost, stateCost(state, of))
		}
		return cost
	}
	round := func(on func(x int) bool, of func(string) bool) int {
		cost := 0
		for x, other := range cl.nodes {
			if on(x) {
				cost += putsCost(other.puts, of) + putsCost(other.last, of) + putsCost(other.late, of)
			}
		}
		return cost
	}
	own := round(func(x int) bool { return x == at }, every)
	below := round(func(x int) bool { return cl.shape.Below(x, at) }, every)
	anywhere := func(int) bool { return true }
	bound := fixedCost + own
	for _, other := range cl.nodes {
		bound += getCost * len(other.asked)
	}
	switch c.Policy {
	case cache.HCS, cache.HCMA:
		return bound + state(every) + below + max(c.Budget, 0) + cache.DefaultMaxDrops
	case cache.HCMAB:
		return bound + 2*state(every) + below + slackCost
	}
	budget := c.Budget
	if budget == cache.OneRound {
		budget = c.Size * (c.MaxKey + c.MaxValue + entryCost)
	}
	bound += budget + state(mine)
	if c.Policy == cache.HCMABLRU {
		return bound + below
	}
	return bound + round(anywhere, mine) + cache.DefaultMaxDrops
}

func stateCost(state map[string]string, of func(key string) bool) int {
	cost := 0
	for k, v := range state {
		if of(k) {
			cost += len(k) + len(v) + entryCost
		}
	}
	return cost
}

// putsCost counts each key's longest value once.
func putsCost(puts []put, of func(key string) bool) int {
	longest := map[string]int{}
	for _, p := range puts {
		if of(p.key) {
			longest[p.key] = max(longest[p.key], len(p.value))
		}
	}
	cost := 0
	for k, v := range longest {
		cost += len(k) + v + entryCost
	}
	return cost
}
