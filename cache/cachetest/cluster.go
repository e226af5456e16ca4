// Package cachetest holds the conformance suite of cache policies: Run checks
// any policy over simulated trees of random shape, with links that are FIFO
// but otherwise deliver in random order, against a model that is too simple to
// be wrong.
//
// A simulated cluster has no agents, links or ranks' protocols: those are
// tested where they live.
package cachetest

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
)

// TB is what a Cluster reports to: a *testing.T or a *rapid.T.
type TB interface {
	require.TestingT
	Helper()
}

// Shape is a tree with the world's ranks on it. Nodes are numbered in
// pre-order.
type Shape struct {
	Parent []int // parent of each node, below its number; -1 for node 0
	Ranks  []int // ranks of the world on each node
}

// Size is the number of ranks of the world.
func (s Shape) Size() int {
	n := 0
	for _, r := range s.Ranks {
		n += r
	}
	return n
}

// Chain is n nodes below each other, with ranks ranks each.
func Chain(n, ranks int) Shape {
	s := Shape{Parent: make([]int, n), Ranks: make([]int, n)}
	for i := range n {
		s.Parent[i], s.Ranks[i] = i-1, ranks
	}
	return s
}

// node is one simulated node: its Board, its links and the model's view of it.
type node struct {
	board    cache.Board
	parent   int
	slot     cache.Peer // of this node among its parent's children
	children []int
	up, down [][]byte // messages under way to and from the parent

	entered  int // local ranks in the fence
	released int // fences completed here
	puts     []put
	asked    map[uint64]question // gets not answered yet
}

type put struct{ key, value string }

// question is a get under way and what the model answers to it.
type question struct {
	key, value string
	found      bool
}

// Cluster is a tree of Boards under test, with the model beside it. Every
// answer, release and error is checked as it comes.
type Cluster struct {
	t      TB
	shape  Shape
	nodes  []*node
	states []map[string]string // the model: the world's state after each fence
	inside int                 // ranks that entered the fence under way
	token  uint64
	out    cache.Effects
}

// NewCluster makes and starts a cluster of c's policy and limits over shape.
func NewCluster(t TB, c cache.Config, shape Shape) *Cluster {
	t.Helper()
	cl := &Cluster{t: t, shape: shape, states: []map[string]string{{}}}
	for i, parent := range shape.Parent {
		n := &node{parent: parent, asked: map[uint64]question{}}
		if parent >= 0 {
			p := cl.nodes[parent]
			n.slot = cache.Peer(len(p.children))
			p.children = append(p.children, i)
		}
		cl.nodes = append(cl.nodes, n)
	}
	for i, n := range cl.nodes {
		c.Root, c.Children = i == 0, len(n.children)
		c.LocalRanks, c.Size = shape.Ranks[i], shape.Size()
		board, err := cache.New(c)
		require.NoError(t, err)
		n.board = board
		require.NoError(t, board.Start(&cl.out))
		cl.carryOut(i)
	}
	return cl
}

// Put puts key at a node and requires success.
func (cl *Cluster) Put(at int, key, value string) {
	cl.t.Helper()
	n := cl.nodes[at]
	buf := []byte(key + value) // reused by callers: the Board must copy
	require.NoError(cl.t, n.board.Put(buf[:len(key)], buf[len(key):], &cl.out))
	for i := range buf {
		buf[i] = '#'
	}
	n.puts = append(n.puts, put{key, value})
	cl.carryOut(at)
}

// Get asks for key at a node. The answer is checked when it comes.
func (cl *Cluster) Get(at int, key string) {
	cl.t.Helper()
	n := cl.nodes[at]
	q := question{key: key}
	q.value, q.found = cl.states[n.released][key]
	for _, p := range n.puts {
		if p.key == key {
			q.value, q.found = p.value, true
		}
	}
	cl.token++
	n.asked[cl.token] = q
	n.board.Get(cl.token, []byte(key), &cl.out)
	cl.carryOut(at)
}

// Enter lets one more rank of a node enter the fence.
func (cl *Cluster) Enter(at int) {
	cl.t.Helper()
	n := cl.nodes[at]
	n.entered++
	cl.inside++
	if cl.inside == cl.shape.Size() {
		cl.fence()
	}
	require.NoError(cl.t, n.board.Enter(&cl.out))
	cl.carryOut(at)
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
		// Until a node is released these are answered from the put list too:
		// no rank of it can ask before that.
		n.puts = nil
	}
	cl.states = append(cl.states, next)
	cl.inside = 0
}

// Links lists the links on which a message waits: i+1 for the one that node i
// sent to its parent, -(i+1) for the one its parent sent to it.
func (cl *Cluster) Links() []int {
	var links []int
	for i, n := range cl.nodes {
		if len(n.up) > 0 {
			links = append(links, i+1)
		}
		if len(n.down) > 0 {
			links = append(links, -(i + 1))
		}
	}
	return links
}

// Deliver hands over the oldest message of a link that Links returned.
func (cl *Cluster) Deliver(link int) {
	cl.t.Helper()
	if link > 0 {
		n := cl.nodes[link-1]
		msg := n.up[0]
		n.up = n.up[1:]
		require.NoError(cl.t, cl.nodes[n.parent].board.Receive(n.slot, msg, &cl.out))
		cl.carryOut(n.parent)
		return
	}
	at := -link - 1
	n := cl.nodes[at]
	msg := n.down[0]
	n.down = n.down[1:]
	require.NoError(cl.t, n.board.Receive(cache.Parent, msg, &cl.out))
	cl.carryOut(at)
}

// Drain delivers until no message is under way.
func (cl *Cluster) Drain() {
	cl.t.Helper()
	for links := cl.Links(); len(links) > 0; links = cl.Links() {
		cl.Deliver(links[0])
	}
}

// Fence lets every rank enter and requires that every node is released and
// every get answered.
func (cl *Cluster) Fence() {
	cl.t.Helper()
	for i, n := range cl.nodes {
		for range cl.shape.Ranks[i] - n.entered { // the last one may release them all
			cl.Enter(i)
		}
	}
	cl.Drain()
	for i, n := range cl.nodes {
		require.Equal(cl.t, len(cl.states)-1, n.released, "fences completed at node %d", i)
		require.Empty(cl.t, n.asked, "gets not answered at node %d", i)
	}
}

// Stats returns the Stats of a node's Board.
func (cl *Cluster) Stats(at int) cache.Stats { return cl.nodes[at].board.Stats() }

// carryOut checks and carries out what node at wants done.
func (cl *Cluster) carryOut(at int) {
	cl.t.Helper()
	n := cl.nodes[at]
	for _, s := range cl.out.Sends {
		switch {
		case s.To == cache.Parent && at > 0:
			n.up = append(n.up, []byte(string(s.Msg))) // a copy, as over a link
		case s.To >= 0 && int(s.To) < len(n.children):
			child := cl.nodes[n.children[s.To]]
			child.down = append(child.down, []byte(string(s.Msg)))
		default:
			require.Fail(cl.t, "message to nobody", "node %d sends to %v", at, s.To)
		}
	}
	for _, a := range cl.out.Answers {
		q, asked := n.asked[a.Token]
		require.True(cl.t, asked, "node %d: answer to token %d, which is not under way", at, a.Token)
		delete(n.asked, a.Token)
		require.Equal(cl.t, q.found, a.Found, "node %d: found %q", at, q.key)
		if q.found {
			require.Equal(cl.t, q.value, strings.Clone(a.Value), "node %d: value of %q", at, q.key)
		}
	}
	for _, r := range cl.out.Released {
		n.released++
		require.Equal(cl.t, cache.Epoch(n.released), r.Epoch, "epoch released at node %d", at)
		require.Less(cl.t, n.released, len(cl.states), "node %d: released before every rank entered", at)
		require.Equal(cl.t, cl.shape.Ranks[at], n.entered, "ranks in the fence at node %d", at)
		n.entered = 0
	}
	cl.out.Reset()
}

// String renders the shape as "0:2 1<0:3 ...", node<parent:ranks.
func (s Shape) String() string {
	var b strings.Builder
	for i, p := range s.Parent {
		fmt.Fprintf(&b, "%d<%d:%d ", i, p, s.Ranks[i])
	}
	return strings.TrimSpace(b.String())
}
