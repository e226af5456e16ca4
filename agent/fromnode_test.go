package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/link/memlink"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/tree"
)

// childOn is what a child on a host may say that has so many ranks of the first
// world.
func childOn(host job.HostIndex, ranks int) *overlay.Origin {
	return childWith(job.Block{Host: host, Count: ranks})
}

// childWith is what a child may say that has these ranks of the first world on its
// hosts.
func childWith(blocks ...job.Block) *overlay.Origin {
	var w overlay.Worlds
	var hosts []overlay.HostEntry
	for _, b := range blocks {
		hosts = append(hosts, overlay.HostEntry{Index: b.Host})
	}
	o := w.Child(false, hosts)
	w.Know(0, blocks)
	w.Know(1, blocks)
	return o
}

// TestMessagesToALostHomeAreDropped has an agent that has lost a child write to
// it, and pass on what others still write: none of them breaks the protocol.
func TestMessagesToALostHomeAreDropped(t *testing.T) {
	arrived := make(chan overlay.Event, 100)
	near, remote := memlink.Pair()
	var far *overlay.Inbox
	far = overlay.NewInbox(func() {
		for _, e := range far.Take(nil) {
			arrived <- e
		}
	})
	above := overlay.NewEdge(remote, 0, childOn(1, 1), far, nil, nil)
	parent := overlay.NewEdge(near, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	a := &Agent{self: overlay.HostEntry{Index: 1}, parent: parent, subtree: &overlay.Subtree{}}
	slot := a.subtree.Node.Join()
	a.subtree.Cover(slot, []job.HostIndex{2, 3})
	a.subtree.Leave(slot)
	s := station{a, &world{nodes: []job.HostIndex{0, 1, 2, 3}}}

	s.SendTo(2, overlay.KindHome, []byte("to the lost one"))
	s.SendTo(0, overlay.KindHome, []byte("to the parent"))
	m := (<-arrived).(overlay.Message)
	require.Equal(t, "to the parent", string(m.Body))

	pass := func(to job.HostIndex) error {
		h := tree.Header{Kind: overlay.KindHome, To: to, From: 0}
		return a.fromNode(overlay.Message{From: tree.Up, Stream: link.KVS, Header: h})
	}
	require.NoError(t, pass(3))
	require.ErrorContains(t, pass(4), "which is not below")
}
