package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/tree"
)

// get is a message to the home of a key.
const get = "\x07\x00\x01k"

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
	above := overlay.NewEdge(remote, 0, agenttest.ChildWith(agenttest.ThreeRanks...), far, nil, nil)
	parent := overlay.NewEdge(near, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	a := joined(t, &Agent{self: overlay.HostEntry{Index: 1}, parent: parent, subtree: &overlay.Subtree{}})
	slot := a.subtree.Node.Join()
	a.subtree.Cover(slot, []job.HostIndex{2, 3})
	a.subtree.Leave(slot)

	for _, to := range []job.HostIndex{2, 0} {
		a.transit.passOn(tree.Header{Kind: overlay.KindHome, Job: job.Cold, To: to, From: 1}, []byte(get))
	}
	m := (<-arrived).(overlay.Message)
	require.Equal(t, tree.Header{Kind: overlay.KindHome, Job: job.Cold, To: 0, From: 1}, m.Header)

	pass := func(to job.HostIndex) error {
		h := tree.Header{Kind: overlay.KindHome, Job: job.Cold, To: to, From: 0}
		return a.transit.fromNode(a.cold, overlay.Message{From: tree.Up, Stream: link.KVS, Header: h})
	}
	require.NoError(t, pass(3))
	require.ErrorContains(t, pass(4), "which is not below")
}

// TestNobodyElseIsBlamed has a node send what only the root, or the receiver, can find
// wrong. The relay keeps its link, and the user hears of both; one that says that it is
// its own loses it.
func TestNobodyElseIsBlamed(t *testing.T) {
	a, said := agentOf(t, lostWarden{})
	a.root = true
	withChildren(t, a, []overlay.HostEntry{{Index: 1, Name: "n003"}, {Index: 2, Name: "n002"}})
	modex := func(from job.HostIndex) error {
		return a.transit.fromNode(a.cold, overlay.Message{From: 0, Stream: link.KVS, Header: tree.Header{Kind: overlay.KindPMIxModex, Job: job.Cold, To: 9, From: from}})
	}
	call := func(from job.HostIndex) error {
		m := overlay.Message{From: 0, Stream: link.Service, Header: tree.Header{Kind: overlay.KindPMIxCall, Job: job.Cold, From: from}}
		return a.transit.drop(m, errors.New("it calls for a rank that is elsewhere"))
	}
	for name, x := range map[string]struct {
		send func(from job.HostIndex) error
		text string
	}{
		"a host outside":      {modex, `"PMIx modex", as relayed by n003, was dropped: it is for a host that the job does not have`},
		"another host's rank": {call, `"PMIx call", as relayed by n003, was dropped: it calls for a rank that is elsewhere`},
	} {
		a.transit.dropped = nil
		for range 3 { // told once
			require.NoError(t, x.send(2), name)
		}
		m := <-said
		note, err := overlay.As[overlay.Note](m)
		require.NoError(t, err)
		require.Equal(t, overlay.Note{Level: overlay.NoteAlways, Host: 2, Text: "its message " + x.text}, note, name)
		require.Empty(t, said, name)
		require.Error(t, x.send(1), "%s: its own", name)
	}
}

// Who asks a lost host is told so by who has lost it.
func TestModexOfALostHost(t *testing.T) {
	a, said := agentOf(t, lostWarden{})
	a.self.Index = 1
	slot := a.subtree.Node.Join()
	a.subtree.Cover(slot, []job.HostIndex{2})
	a.subtree.Leave(slot)
	body := overlay.Encode(overlay.PMIxModex{Number: 4, Namespace: "kvs", Rank: 2})
	m := overlay.Message{From: tree.Up, Stream: link.KVS, Body: body, Header: tree.Header{Kind: overlay.KindPMIxModex, Job: job.Cold, To: 2, From: 0}}
	require.NoError(t, a.transit.fromNode(a.cold, m))
	answer, err := overlay.As[overlay.PMIxModex](<-said)
	require.NoError(t, err)
	require.Equal(t, overlay.PMIxModex{Number: 4, Answer: true, Status: int32(pmix.Unreachable)}, answer)
}
