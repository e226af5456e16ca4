package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/link/memlink"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/tree"
)

// TestChildrenLeaveWhileTheFamilyEnds is for the race detector: a child's end is
// an event, which the loop may handle while other children are still ended.
func TestChildrenLeaveWhileTheFamilyEnds(t *testing.T) {
	woken := make(chan bool, 100)
	inbox := overlay.NewInbox(func() { woken <- true })
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, inbox, nil)
	sink := func(tree.Header, []byte) {}
	a := &Agent{inbox: inbox, stop: func() {}}
	a.family = overlay.NewFamily(starter, overlay.Common{}, inbox, func(tree.Slot) overlay.Sink { return sink })
	near, remote := memlink.Pair()
	far := overlay.NewEdge(remote, tree.Up, overlay.NewInbox(func() {}), sink, nil)
	slot := a.family.Join(overlay.Joined{Link: near, Host: overlay.HostEntry{Index: 1}})

	a.endFamily()
	require.True(t, a.family.Leave(slot))
	far.Close()
	for ended := false; !ended; {
		<-woken
		for _, e := range inbox.Take(nil) {
			_, is := e.(familyEnded)
			ended = ended || is
		}
	}
}
