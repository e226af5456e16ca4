package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// TestALostChildHasStartedOnce has a child get lost that had told that its ranks
// run: its sibling is still waited for.
func TestALostChildHasStartedOnce(t *testing.T) {
	near, remote := memlink.Pair()
	said := make(chan overlay.Event, 100)
	var far *overlay.Inbox
	far = overlay.NewInbox(func() {
		for _, e := range far.Take(nil) {
			said <- e
		}
	})
	above := overlay.NewEdge(remote, 0, agenttest.ChildWith(job.Block{Host: 0, Count: 2}), far, func(tree.Header, []byte) {}, nil)
	parent := overlay.NewEdge(near, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), nil, nil)
	t.Cleanup(func() { parent.Close(); above.Close() })
	a := joined(&testNode{parent: parent})
	a.job.output = agenttest.NewOutput(t)
	peers := []tree.Slot{0, 1}
	w := &world{peers: peers}
	w.started.Merge = (*overlay.Started).Merge
	w.started.Expect(1)
	for _, slot := range peers {
		w.started.awaits(slot)
	}
	a.job.startedIf(w, w.started.Add(overlay.Started{})) // nothing is to start here
	a.job.childStarted(w, 0, overlay.Started{Ranks: 1})
	a.job.worldWithout(w, 0)
	a.job.childStarted(w, 1, overlay.Started{Ranks: 1})
	started, err := overlay.Decode[overlay.Started]((<-said).(overlay.Message).Body)
	require.NoError(t, err)
	require.Equal(t, 2, started.Ranks)
}
