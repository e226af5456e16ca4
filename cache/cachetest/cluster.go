// Package cachetest holds the conformance suite of cache policies: Run checks
// any policy over simulated trees of random shape, with links that are FIFO
// but otherwise deliver in random order, against a model that is too simple to
// be wrong.
//
// A simulated cluster has no agents, links or ranks' protocols: those are
// tested where they live.
package cachetest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
)

// TB receives a Cluster's failures: *testing.T and *rapid.T implement it.
type TB interface {
	require.TestingT
	Helper()
}

// node is one simulated node: its Board and its place in the tree.
type node struct {
	board    cache.Board
	parent   int
	slot     cache.Peer // of this node among its parent's children
	children []int
	number   job.NodeID // among those that hold ranks; NoNode for the others
	model
}

// Link carries messages one way, in order: over one edge of the tree, or from
// any node to any other.
type Link struct {
	to    int
	from  cache.Peer // as the receiver knows the sender
	edges int        // of the tree that a message crosses
	queue [][]byte
}

// Cluster is a tree of Boards under test, with the model beside it. Every
// answer, release and error is checked as it comes.
type Cluster struct {
	// Overlap says that ranks may enter a fence before their gets are answered,
	// as threads can.
	Overlap bool

	t      TB
	config cache.Config
	shape  Shape
	nodes  []*node
	homes  []int // positions of the nodes that hold ranks
	links  []*Link
	byEnds map[ends]*Link
	states []map[string]string // the model: the world's state after each fence
	inside int                 // ranks that entered the fence under way
	token  uint64
	out    cache.Effects

	traffic Traffic
}

// ends identifies a link by its nodes; edge tells links of the tree from others.
type ends struct {
	from, to int
	edge     bool
}

// Traffic counts the messages of a cluster's nodes.
type Traffic struct {
	Messages int
	Edges    int // edges of the tree that they crossed
	Bytes    int // over all edges
	AtRoot   int // messages that node 0 received
}

// Minus returns the traffic since t was before.
func (t Traffic) Minus(before Traffic) Traffic {
	return Traffic{Messages: t.Messages - before.Messages, Edges: t.Edges - before.Edges, Bytes: t.Bytes - before.Bytes, AtRoot: t.AtRoot - before.AtRoot}
}

// NewCluster makes and starts a cluster of c's policy and limits over shape.
func NewCluster(t TB, c cache.Config, shape Shape) *Cluster {
	t.Helper()
	if c.MaxKey == 0 {
		c.MaxKey = cache.DefaultMaxKey
	}
	if c.MaxValue == 0 {
		c.MaxValue = cache.DefaultMaxValue
	}
	cl := &Cluster{t: t, shape: shape, byEnds: map[ends]*Link{}, states: []map[string]string{{}}}
	for i, parent := range shape.Parent {
		n := &node{parent: parent, model: model{asked: map[uint64]question{}}}
		if parent >= 0 {
			p := cl.nodes[parent]
			n.slot = cache.Peer(len(p.children))
			p.children = append(p.children, i)
		}
		if n.number = cache.NoNode; shape.Ranks[i] > 0 {
			n.number = job.NodeID(len(cl.homes))
			cl.homes = append(cl.homes, i)
		}
		cl.nodes = append(cl.nodes, n)
	}
	c.Size, c.Nodes, c.World = shape.Size(), len(cl.homes), "world"
	cl.config = c
	for i, n := range cl.nodes {
		c.Root, c.Children, c.LocalRanks = i == 0, len(n.children), shape.Ranks[i]
		c.Node = n.number
		board, err := cache.New(c)
		require.NoError(t, err)
		n.board = board
		require.NoError(t, board.Start(&cl.out))
		cl.carryOut(i)
	}
	return cl
}

// Put puts key at a node and requires success. If all ranks of the node are in the
// fence, it must be a leaf.
func (cl *Cluster) Put(at int, key, value string) {
	cl.t.Helper()
	n := cl.nodes[at]
	buf := []byte(key + value) // reused by callers: the Board must copy
	require.NoError(cl.t, n.board.Put(buf[:len(key)], buf[len(key):], &cl.out))
	for i := range buf {
		buf[i] = '#'
	}
	if cl.late(at) {
		n.late = append(n.late, put{key, value})
	} else {
		n.puts = append(n.puts, put{key, value})
	}
	cl.carryOut(at)
}

// Get asks for key at a node. The answer is checked when it comes. Dead nodes ask
// nothing: a home could not answer a node without a number.
func (cl *Cluster) Get(at int, key string) {
	n := cl.nodes[at]
	if n.number == cache.NoNode && cl.config.Policy.UsesHomes() {
		return
	}
	cl.token++
	n.asked[cl.token] = n.question(key)
	buf := []byte(key)
	n.board.Get(cl.token, buf, &cl.out)
	clear(buf)
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

// free counts the ranks of a node that are neither in the fence nor, unless both may
// overlap, waiting for an answer.
func (cl *Cluster) free(at int) int {
	n := cl.nodes[at]
	free := cl.shape.Ranks[at] - n.entered
	if !cl.Overlap {
		free -= len(n.asked)
	}
	return free
}

// Links lists the links on which a message waits.
func (cl *Cluster) Links() []*Link {
	var links []*Link
	for _, l := range cl.links {
		if len(l.queue) > 0 {
			links = append(links, l)
		}
	}
	return links
}

// Deliver hands over the oldest message of a link that Links returned.
func (cl *Cluster) Deliver(l *Link) {
	msg := l.queue[0]
	l.queue = l.queue[1:]
	if l.to == 0 {
		cl.traffic.AtRoot++
	}
	require.NoError(cl.t, cl.nodes[l.to].board.Receive(l.from, msg, &cl.out))
	cl.carryOut(l.to)
}

// Drain delivers until no message is under way, but on the links held back.
func (cl *Cluster) Drain(held ...*Link) {
	cl.t.Helper()
	for delivered := true; delivered; {
		delivered = false
		for _, l := range cl.Links() {
			for len(l.queue) > 0 && !slices.Contains(held, l) {
				cl.Deliver(l)
				delivered = true
			}
		}
	}
}

// Fence lets every rank enter, once its gets are answered, and requires that
// every node is released and every get answered.
func (cl *Cluster) Fence() {
	cl.t.Helper()
	if !cl.Overlap {
		cl.Drain()
	}
	cl.enterAll()
	cl.Drain()
	for i, n := range cl.nodes {
		require.Equal(cl.t, len(cl.states)-1, n.released, "fences completed at node %d", i)
		cl.sampleMemory(i)
	}
	cl.answered()
}

// enterAll lets every rank enter.
func (cl *Cluster) enterAll() {
	cl.t.Helper()
	for i, n := range cl.nodes {
		for range cl.shape.Ranks[i] - n.entered { // the last one may release them all
			cl.Enter(i)
		}
		cl.sampleMemory(i)
	}
}

// answered requires that no get is open.
func (cl *Cluster) answered() {
	cl.t.Helper()
	for i, n := range cl.nodes {
		require.Empty(cl.t, n.asked, "gets not answered at node %d", i)
	}
}

// Stats returns the Stats of a node's Board.
func (cl *Cluster) Stats(at int) cache.Stats { return cl.nodes[at].board.Stats() }

// Traffic returns the messages sent so far.
func (cl *Cluster) Traffic() Traffic { return cl.traffic }

// link finds the link on which node at sends to a peer.
func (cl *Cluster) link(at int, to cache.Peer) *Link {
	n := cl.nodes[at]
	home, routed := to.Node()
	e, l := ends{from: at, edge: !routed}, &Link{edges: 1}
	switch {
	case routed && home >= 0 && int(home) < len(cl.homes) && home != n.number && n.number != cache.NoNode:
		e.to = cl.homes[home]
		l.from, l.edges = cache.Node(n.number), cl.shape.Distance(at, e.to)
	case to == cache.Parent && at > 0:
		e.to, l.from = n.parent, n.slot
	case to >= 0 && int(to) < len(n.children):
		e.to, l.from = n.children[to], cache.Parent
	default:
		require.Fail(cl.t, "message to nobody", "node %d sends to %v", at, to)
	}
	if known := cl.byEnds[e]; known != nil {
		return known
	}
	l.to = e.to
	cl.byEnds[e] = l
	cl.links = append(cl.links, l)
	return l
}

// carryOut checks and carries out the orders of node at.
func (cl *Cluster) carryOut(at int) {
	for _, s := range cl.out.Sends {
		l := cl.link(at, s.To)
		l.queue = append(l.queue, []byte(string(s.Msg))) // a copy, as over a link
		cl.traffic.Messages++
		cl.traffic.Edges += l.edges
		cl.traffic.Bytes += l.edges * len(s.Msg)
	}
	for _, a := range cl.out.Answers {
		cl.checkAnswer(at, a)
	}
	for _, r := range cl.out.Released {
		cl.checkRelease(at, r)
	}
	cl.out.Reset()
}
