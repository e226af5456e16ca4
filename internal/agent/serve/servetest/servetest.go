// Package servetest runs the servers of a world without agents, links or processes:
// on each node of a small tree a serve.Node that keeps what it is told, and between
// them a network that delivers when the test says so.
package servetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Net is the nodes of one world in a chain: the first is the root, each next one the
// only child of the one before.
type Net struct {
	t     *testing.T
	Nodes []*Node

	poller   *unix.Poller
	handlers map[int]serve.Handler
	posted   chan func()
}

// Node is one of them, as its servers see it.
type Node struct {
	*serve.World
	Servers []serve.Server

	// What servers have said.
	Failures []job.Failure
	Notes    []string
	Broke    []error
	Killed   bool // what Ending answers

	net    *Net
	number int
	queue  []func() error
}

// New makes a world of a number on nodes with so many ranks each; launch may be nil.
// Its servers are to be added to Nodes.
func New(t *testing.T, world int, launch *overlay.Launch, perNode ...int) *Net {
	t.Helper()
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(poller.Close)
	if launch == nil {
		launch = &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Universe: -1}
	}
	n := &Net{t: t, poller: poller, handlers: map[int]serve.Handler{}, posted: make(chan func(), 1000)}
	spec := overlay.World{KVSName: "kvs", Apps: make([]job.App, 1)}
	var hosts []job.HostIndex
	for h, count := range perNode {
		if count > 0 {
			spec.Blocks = append(spec.Blocks, job.Block{Host: job.HostIndex(h), First: job.Rank(spec.Size), Count: count})
			hosts = append(hosts, job.HostIndex(h))
			spec.Size += count
		}
	}
	for h, count := range perNode {
		x := &Node{net: n, number: h}
		x.World = &serve.World{Node: x, World: spec, ID: world, Launch: launch, Hosts: hosts, Self: -1, Root: h == 0, Children: 1}
		if h == len(perNode)-1 {
			x.Children = 0
		}
		for i, at := range hosts {
			switch {
			case int(at) == h:
				x.Self = job.NodeID(i)
				x.Toward = append(x.Toward, serve.Here)
			case int(at) < h:
				x.Toward = append(x.Toward, serve.Up)
			default:
				x.Toward = append(x.Toward, 0)
			}
		}
		for _, b := range spec.Blocks {
			for i := range b.Count {
				if int(b.Host) == h {
					x.Ranks = append(x.Ranks, &serve.Rank{Number: b.First + job.Rank(i), PID: 1000 + int(b.First) + i})
				}
			}
		}
		require.Len(t, x.Ranks, count)
		n.Nodes = append(n.Nodes, x)
	}
	return n
}

// Start starts every server, and opens it.
func (n *Net) Start() {
	n.t.Helper()
	for _, x := range n.Nodes {
		for _, s := range x.Servers {
			require.NoError(n.t, s.Start())
			s.Open(func(err error) { require.NoError(n.t, err) })
		}
		n.t.Cleanup(x.close)
	}
}

func (x *Node) close() {
	for _, s := range x.Servers {
		s.Shut()
		s.Close()
	}
}

// Run carries out what is under way, and waits for more, until is true.
func (n *Net) Run(until func() bool) {
	n.t.Helper()
	end := time.Now().Add(time.Minute)
	for !until() {
		if n.step(0) {
			continue
		}
		if until() { // step may have taken a Wake
			return
		}
		n.step(time.Until(end))
		require.True(n.t, time.Now().Before(end), "nothing happens any more")
	}
}

// Settle carries out what is under way.
func (n *Net) Settle() {
	n.t.Helper()
	for n.step(0) {
	}
}

// Wake has Run look again: something that it cannot see has happened.
func (n *Net) Wake() { n.poller.Wake() }

// step carries out what has come within some time, and reports whether there was
// anything.
func (n *Net) step(within time.Duration) (some bool) {
	n.t.Helper()
	ready, buf := make([]unix.Ready, 16), make([]byte, 64<<10)
	got, err := n.poller.Wait(ready, max(within, 0))
	require.NoError(n.t, err)
	for _, on := range ready[:got] {
		if h := n.handlers[int(on.Tag)]; h != nil {
			h.Ready(on, buf)
			some = true
		}
	}
	for len(n.posted) > 0 {
		some = true
		(<-n.posted)()
	}
	for _, x := range n.Nodes {
		for len(x.queue) > 0 {
			deliver := x.queue[0]
			x.queue, some = x.queue[1:], true
			require.NoError(n.t, deliver())
		}
		for _, s := range x.Servers {
			some = s.Turn() || some
		}
	}
	return some || slices.ContainsFunc(n.Nodes, func(x *Node) bool { return len(x.queue) > 0 })
}

// hand queues a message for a node's server of its kind.
func (x *Node) hand(kind tree.Kind, from serve.Neighbor, node job.NodeID, body []byte) {
	x.queue = append(x.queue, func() error {
		for _, s := range x.Servers {
			if slices.Contains(s.Kinds(), kind) {
				m := overlay.Message{Header: tree.Header{Kind: kind, World: uint16(x.ID)}, Body: body}
				return s.Message(serve.Message{Message: m, Neighbor: from, Node: node})
			}
		}
		return fmt.Errorf("node %d has no server for messages of kind %d", x.number, kind)
	})
}

// Address is the loopback interface's.
func (x *Node) Address() string { return "127.0.0.1" }

// Send hands a message to the next node or the one before.
func (x *Node) Send(to serve.Neighbor, _ link.Stream, kind tree.Kind, body []byte) {
	if to == serve.Parent {
		x.net.Nodes[x.number-1].hand(kind, 0, -1, body)
	} else {
		x.net.Nodes[x.number+1].hand(kind, serve.Parent, -1, body)
	}
}

// SendTo hands one to any node.
func (x *Node) SendTo(to job.NodeID, kind tree.Kind, body []byte) {
	x.net.Nodes[x.Hosts[to]].hand(kind, 0, x.Self, body)
}

// Watch has h told when fd can be read.
func (x *Node) Watch(fd int, h serve.Handler) error {
	x.net.handlers[fd] = h
	return x.net.poller.Add(fd, uint64(fd))
}

// Change replaces what a descriptor is watched for.
func (x *Node) Change(fd int, read, write bool) error {
	return x.net.poller.Modify(fd, uint64(fd), read, write)
}

// CloseFD closes it.
func (x *Node) CloseFD(fd int) {
	delete(x.net.handlers, fd)
	_ = x.net.poller.Remove(fd) // it may be closed already
	unix.Close(fd)
}

// Forget ends the watch.
func (x *Node) Forget(fd int) {
	delete(x.net.handlers, fd)
	_ = x.net.poller.Remove(fd) // as in CloseFD
}

// Post has f called by Run.
func (x *Node) Post(f func()) {
	x.net.posted <- f
	x.net.Wake()
}

// Broken keeps the error.
func (x *Node) Broken(by serve.Neighbor, err error) {
	x.Broke = append(x.Broke, fmt.Errorf("peer %d: %w", by, err))
}

// Ending is Killed.
func (x *Node) Ending() bool { return x.Killed }

// Fail keeps the failure, with its rank.
func (x *Node) Fail(r *serve.Rank, f job.Failure) {
	if f.Rank = -1; r != nil {
		f.Rank = r.Number
	}
	x.Failures = append(x.Failures, f)
}

// FailNode keeps the failure.
func (x *Node) FailNode(phase string, err error) {
	x.Failures = append(x.Failures, job.Failure{Class: job.CauseNodeLost, Rank: -1, Phase: phase, Text: err.Error()})
}

// Phase is always the same.
func (x *Node) Phase(*serve.Rank) string { return "running" }

// Note keeps the text.
func (x *Node) Note(_ int, format string, args ...any) {
	x.Notes = append(x.Notes, fmt.Sprintf(format, args...))
}

// HostName is n0, n1, ...
func (x *Node) HostName() string { return fmt.Sprintf("n%d", x.number) }
