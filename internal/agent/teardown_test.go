package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// TestSilentChildren has a child that owes something when its time is over: it is cut off,
// its node swept, and its host told of, unless a host below it was.
func TestSilentChildren(t *testing.T) {
	for name, x := range map[string]struct {
		killed  bool // that is when it falls silent; else at END
		excused bool
		says    overlay.Owed
	}{
		"at END":                      {false, false, overlay.OwesEnd},
		"at the kill":                 {true, false, overlay.OwesRanks},
		"with another silent below":   {false, true, ""},
		"the same, after ranks ended": {true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			woken := make(chan bool, 100)
			inbox := overlay.NewInbox(func() { woken <- true })
			starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, inbox, nil)
			sink := func(tree.Header, []byte) {}
			a, said := agentOf(t, nil)
			a.inbox, a.stop, a.life.end, *a.cold.End() = inbox, func() {}, ending.Node{}, ending.Job{}
			a.subtree = overlay.NewSubtree(starter, overlay.Common{}, inbox, func(tree.Slot) overlay.Sink { return sink })
			a.subtree.Begin(overlay.Ready{}, nil, 2)
			a.life.tearDown.Deadline = overlay.NewDeadline(overlay.Common{}, 0, func() { inbox.Put(childrenLate{}) })
			near, remote := memlink.Pair()
			far := overlay.NewEdge(remote, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), sink, nil)
			defer far.Close()
			pipe := &sweptPipe{}
			slot := a.subtree.Join(overlay.Joined{Link: near, Pipe: pipe, Host: overlay.HostEntry{Index: 1, Name: "n1"}})
			launch(t, a, 1)
			owed, _ := a.cold.Owes(slot)
			require.Equal(t, overlay.OwesRanks, owed)
			if x.excused {
				a.life.noticeSilence(overlay.Message{From: slot, Value: overlay.Note{Silent: true}})
			}
			a.life.end.Ranged()
			if x.killed {
				a.cold.Kill(0)
			} else {
				a.life.parentEnded()
			}
			if x.killed {
				a.life.tearDown.killed[job.Cold].Later(0)
			} else {
				a.life.tearDown.Later(0)
			}
			over := func() bool { return !a.subtree.Live(slot) && (x.killed || a.life.end.Over()) }
			for !over() {
				<-woken
				for _, e := range inbox.Take(nil) {
					a.handle(e)
				}
			}
			a.subtree.Close()
			require.EqualValues(t, 1, pipe.sweeps.Load())
			owed, _ = a.cold.Owes(slot)
			require.Empty(t, owed)
			a.note(overlay.NoteAlways, "all was said")
			noted := func() overlay.Note {
				for {
					if n, ok := (<-said).Value.(overlay.Note); ok {
						return n
					}
				}
			}
			n := noted()
			if x.says != "" {
				require.Equal(t, overlay.Silent(overlay.HostEntry{Index: 1}, x.says), n)
				n = noted()
			}
			require.Equal(t, "all was said", n.Text)
		})
	}
}

// nowhere reaches no host.
type nowhere struct{ bootstrap.Piper }

func (nowhere) NeedsStaging() bool         { return false }
func (nowhere) Reach() (r bootstrap.Reach) { return r }
func (nowhere) Start(_ context.Context, host bootstrap.Host, _ []string) (bootstrap.Pipe, error) {
	return nil, &bootstrap.Error{Host: host.Name, Phase: bootstrap.Connect, Err: errors.New("it is nowhere")}
}

// The root of a job of one host has nobody below it as planned. Where a spawn starts agents
// there that have children themselves, it gives them longer than they give these, or it would
// name an honest one.
func TestTheRootWaitsForASpawnsAgents(t *testing.T) {
	a, _, _, _ := withChild(t)
	ctx, stop := context.WithCancel(t.Context())
	a.ctx, a.ready, a.harness = ctx, true, Harness{Piper: func() bootstrap.Piper { return nowhere{} }}
	a.common = overlay.Common{Levels: 1, Degree: 1}
	a.life.tearDown.Deadline = overlay.NewDeadline(a.common, 1, func() {})
	defer a.life.tearDown.stop()
	grown := a.common
	hosts := []overlay.HostEntry{{Index: 6}, {Index: 7}}
	grown.Grow(hosts)
	require.NoError(t, a.grow(overlay.Range{Hosts: hosts, Common: grown}))
	grown.Levels = 1 // of a second spawn, whose agents have nobody below them
	require.NoError(t, a.grow(overlay.Range{Hosts: hosts[:1], Common: grown}))
	stop()
	begun := time.Now()
	a.life.tearDown.kill(job.Cold, 0)
	root := a.life.tearDown.killed[job.Cold].By().Sub(begun)
	require.GreaterOrEqual(t, root, overlay.Common{Levels: 3}.Patience(1))
	require.Greater(t, root, overlay.Common{Levels: 3}.Patience(2))
}
