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
	above := overlay.NewEdge(remote, 0, far, nil, nil)
	parent := overlay.NewEdge(near, tree.Up, overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	a := &Agent{self: overlay.HostEntry{Index: 1}, parent: parent, family: &overlay.Family{}}
	slot := a.family.Node.Join()
	a.family.Cover(slot, []job.HostIndex{2, 3})
	a.family.Leave(slot)
	w := &world{nodes: []job.HostIndex{0, 1, 2, 3}}

	a.sendHome(w, 2, []byte("to the lost one"))
	a.sendHome(w, 0, []byte("to the parent"))
	m := (<-arrived).(overlay.Message)
	require.Equal(t, "to the parent", string(m.Body))

	pass := func(to job.HostIndex) error {
		h := tree.Header{Kind: overlay.KindHome, To: to, From: 0}
		return a.homeMessage(overlay.Message{From: tree.Up, Stream: link.KVS, Header: h})
	}
	require.NoError(t, pass(3))
	require.ErrorContains(t, pass(4), "which is not below")
}
