package agent

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap/fork"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
)

// noPipe is the pipe of an agent that nobody started.
type noPipe struct{}

func (noPipe) Read([]byte) (int, error)    { return 0, io.EOF }
func (noPipe) Write(p []byte) (int, error) { return len(p), nil }
func (noPipe) Close() error                { return nil }
func (noPipe) Diagnostics() string         { return "" }
func (noPipe) PeerAddr() string            { return "" }

// shifted runs an agent whose clock is ahead, and returns what its parent has
// from it and what tells it of children.
func shifted(t *testing.T, index job.HostIndex, ahead time.Duration) (overlay.Joined, *overlay.Inbox) {
	above, below := memlink.Pair()
	a, err := newAgent(below)
	require.NoError(t, err)
	a.now = func() time.Time { return time.Now().Add(ahead) }
	a.begun = a.now()
	a.harness.Warden = func() Warden { return lostWarden{} } // the process is other tests', too
	ended := make(chan error, 1)
	go func() { // ends with its link
		ended <- a.run()
		a.close()
	}()
	t.Cleanup(func() {
		above.Close()
		require.NoError(t, <-ended)
	})
	_, err = above.Recv(link.Control) // its hello
	require.NoError(t, err)
	// A relay: an agent without ranks.
	return overlay.Joined{Host: overlay.HostEntry{Index: index, Below: 1}, Link: above, Pipe: noPipe{}}, a.inbox
}

// The clocks of two nodes are 3 h ahead and 5 h behind: what --trace gets of
// them tells so, within what it says, by the real agents and messages.
func TestClocksOfTwoNodesAreFound(t *testing.T) {
	shift := []time.Duration{3 * time.Hour, -5 * time.Hour}
	woken := make(chan struct{}, 1)
	inbox := overlay.NewInbox(func() { woken <- struct{}{} })
	common := overlay.Common{StartOptions: overlay.StartOptions{LostAfter: time.Minute}, Bootstrap: registry.Local().Name, Degree: 2, Trace: true}
	source, err := stage.Self()
	require.NoError(t, err)
	starter := overlay.NewStarter(context.Background(), fork.New(), source, common, inbox, nil)
	subtree := overlay.NewSubtree(starter, common, inbox, func(tree.Slot) overlay.Sink { return func(tree.Header, []byte) {} })
	subtree.Worlds.KnowJob(job.Cold)

	root, toRoot := shifted(t, 0, shift[0])
	child, _ := shifted(t, 1, shift[1])
	slot := subtree.Join(root)
	var got *report.Collected
	joined, done, asked := false, false, false
	for got == nil || !done {
		<-woken
		for _, e := range inbox.Take(nil) {
			m, ok := e.(overlay.Message)
			require.True(t, ok, "%T %v", e, e)
			switch m.Header.Kind {
			case overlay.KindReady: // of the root alone, or again with the child
				if !joined {
					joined = true
					subtree.Extend(slot, []overlay.HostEntry{{Index: 1}})
					subtree.Ping(slot)
					toRoot.Put(child)
				}
			case overlay.KindPong:
				p, err := overlay.Decode[overlay.Pong](m.Body)
				require.NoError(t, err)
				measured, err := subtree.Pong(slot, p, 0)
				require.NoError(t, err)
				if measured && !asked {
					asked = true
					subtree.Broadcast(link.Service, overlay.KindCollect, job.Cold, nil)
					subtree.Ping(slot)
				} else if measured {
					done = true
				}
			case overlay.KindCollected:
				c, err := overlay.Decode[report.Collected](m.Body)
				require.NoError(t, err)
				got = &c
			default:
				require.Fail(t, "unexpected", "message of kind %d: %v", m.Header.Kind, m.Value)
			}
		}
	}
	subtree.TellClocks(got.Nodes, 0)
	require.Len(t, got.Nodes, 2)
	require.Empty(t, got.Ranks)
	clock := report.Clocks(got.Nodes)
	for i, ahead := range shift {
		n := got.Nodes[i]
		c := clock[n.Host]
		within, known := c.Within()
		require.True(t, known)
		require.NotEmpty(t, n.Trace.Clock) // one, where the second measurement began during the first
		require.InDelta(t, ahead.Seconds(), c.Ahead(n.Trace.Begin).Seconds(), (within + time.Microsecond).Seconds())
		require.Equal(t, []string{phaseHello, phaseRange, phaseReady}, []string{n.Phases[0].Name, n.Phases[1].Name, n.Phases[2].Name})
		require.WithinDuration(t, time.Now(), c.Launcher(n.Phases[1].End), time.Minute, "on the launcher's clock it was just now")
	}
	_, err = subtree.Pong(slot, overlay.Pong{}, 0)
	require.ErrorContains(t, err, "nobody asked for")
}
