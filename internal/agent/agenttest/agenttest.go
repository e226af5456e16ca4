// Package agenttest has the surroundings of an agent and of its job, for tests of both.
package agenttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/output"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Rules have servers that say all that there is to say to each other.
var Rules = overlay.LaunchOptions{Cache: cache.HCMABLRU, PMIVersion: pmi.VersionGroups}

// ThreeRanks has a rank on each of three hosts.
var ThreeRanks = []job.Block{{Host: 0, Count: 1}, {Host: 1, First: 1, Count: 1}, {Host: 2, First: 2, Count: 1}}

// ChildWith judges the messages of a child that has these ranks of worlds 0 and 1 on its hosts.
func ChildWith(blocks ...job.Block) *overlay.Origin {
	var w overlay.Worlds
	var hosts []overlay.HostEntry
	for _, b := range blocks {
		hosts = append(hosts, overlay.HostEntry{Index: b.Host})
	}
	w.Rules(job.Cold, Rules)
	o := w.Child(false, hosts)
	w.Know(job.Cold, 0, blocks)
	w.Know(job.Cold, 1, blocks)
	return o
}

// Parent returns an edge to a parent, and the messages that come to that. Both ends are
// closed after the test.
func Parent(t *testing.T) (parent *overlay.Edge, said <-chan overlay.Message) {
	t.Helper()
	near, remote := memlink.Pair()
	messages := make(chan overlay.Message, 100)
	var far *overlay.Inbox
	far = overlay.NewInbox(func() {
		for _, e := range far.Take(nil) {
			if m, ok := e.(overlay.Message); ok {
				messages <- m
			}
		}
	})
	above := overlay.NewEdge(remote, 0, ChildWith(ThreeRanks...), far, func(tree.Header, []byte) {}, nil)
	parent = overlay.NewEdge(near, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	return parent, messages
}

// EndOf is the end of a launched job on a node with a warden, and ranks that wait and run.
func EndOf(waiting, running int) (node ending.Node, own ending.Job) {
	node.Ranged()
	node.WardenUp()
	node.Launched()
	own.RanksCome(&node, waiting+running)
	own.RanksHanded(running)
	return node, own
}

// NewOutput returns an output of a job whose parent takes everything. It is closed after
// the test.
func NewOutput(t *testing.T) *output.Output {
	t.Helper()
	o, err := output.New(job.Cold, func(tree.Header, []byte) error { return nil }, func() {})
	require.NoError(t, err)
	t.Cleanup(o.Close)
	return o
}
