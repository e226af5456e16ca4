package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// withChildren gives an agent children, each with the hosts that it is given, and returns
// the far ends of their links.
func withChildren(t *testing.T, a *Agent, ranges ...[]overlay.HostEntry) (children []link.Link) {
	t.Helper()
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, a.inbox, nil)
	a.subtree = overlay.NewSubtree(starter, overlay.Common{}, a.inbox, a.outputOf)
	a.subtree.Begin(overlay.Ready{}, nil, 1)
	for _, r := range ranges {
		near, far := memlink.Pair()
		a.subtree.Worlds.Call(r...)
		a.subtree.Join(overlay.Joined{Link: near, Pipe: noPipe{}, Host: r[0], Rest: r[1:]})
		children = append(children, far)
	}
	t.Cleanup(func() { a.subtree.Close() })
	return children
}

// An agent passes on what its child says of its own ranks. What it says of others it
// does not pass on: it tells the launcher who has said it, and its other child goes on.
func TestForgeriesAreNotPassedOn(t *testing.T) {
	a, said := agentOf(t, lostWarden{})
	a.life.end, *a.cold.End() = agenttest.EndOf(0, 0)
	woken := make(chan struct{}, 1)
	a.inbox = overlay.NewInbox(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	children := withChildren(t, a, []overlay.HostEntry{{Index: 1, Name: "n1"}}, []overlay.HostEntry{{Index: 2, Name: "n2"}})
	launch(t, a, 3, 1, 2)
	tell := func(child int, f job.Failure) {
		frame := tree.AppendHeader(nil, tree.Header{Kind: overlay.KindFailure, Job: job.Cold, To: tree.Launcher, From: job.HostIndex(child + 1)})
		require.NoError(t, children[child].Send(link.Control, append(frame, overlay.Encode(f)...)))
	}
	heard := func() job.Failure {
		for {
			select {
			case m := <-said:
				f, ok := m.Value.(job.Failure)
				if !ok {
					continue // what follows from the loss
				}
				f.Age, f.Said = 0, 0 // it was here for a moment
				return f
			case <-woken: // also for each stream of a child that is cut off
				for _, e := range a.inbox.Take(nil) {
					a.handle(e)
				}
			}
		}
	}
	own := job.Failure{Class: job.CauseExit, Rank: 1, Host: 1, Code: 3}
	tell(0, own)
	require.Equal(t, own, heard())
	tell(0, job.Failure{Class: job.CauseExit, Rank: 2, Host: 2, Code: 3})
	f := heard()
	require.Equal(t, job.CauseNodeLost, f.Class)
	require.Equal(t, job.HostIndex(1), f.Host)
	require.Contains(t, f.Text, `message "failure": n2 is not below it`)
	others := job.Failure{Class: job.CauseExit, Rank: 2, Host: 2, Code: 3}
	tell(1, others)
	require.Equal(t, others, heard())
	last := job.Failure{Class: job.CauseAbort, Rank: 2, Host: 2, Code: 3, Age: overlay.MaxAge}
	_, err := a.cold.FromChild(overlay.Message{From: 1, Header: tree.Header{Kind: overlay.KindFailure, Job: job.Cold}, Value: others}) // the same, told again
	require.NoError(t, err)
	tell(1, last)
	for heard := false; !heard; {
		select {
		case <-woken:
			for _, e := range a.inbox.Take(nil) {
				a.handle(e)
			}
		case m := <-said:
			f, ok := m.Value.(job.Failure)
			if !ok {
				continue
			}
			f.Said = 0
			require.Equal(t, last, f, "no older than can be said; the same was told once")
			heard = true
		}
	}
}
