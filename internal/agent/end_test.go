package agent

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/tree"
)

// TestChildrenLeaveWhileTheFamilyEnds is for the race detector: a child's end is
// an event, which the loop may handle while other children are still ended.
func TestChildrenLeaveWhileTheFamilyEnds(t *testing.T) {
	woken := make(chan bool, 100)
	inbox := overlay.NewInbox(func() { woken <- true })
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, inbox, nil)
	sink := func(tree.Header, []byte) {}
	a := joined(t, &Agent{inbox: inbox, stop: func() {}})
	a.subtree = overlay.NewSubtree(starter, overlay.Common{}, inbox, func(tree.Slot) overlay.Sink { return sink })
	near, remote := memlink.Pair()
	far := overlay.NewEdge(remote, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), sink, nil)
	slot := a.subtree.Join(overlay.Joined{Link: near, Host: overlay.HostEntry{Index: 1}})

	a.life.end.Ranged()
	a.life.parentEnded()
	require.True(t, a.subtree.Leave(slot))
	far.Close()
	for ended := false; !ended; {
		<-woken
		for _, e := range inbox.Take(nil) {
			_, is := e.(familyEnded)
			ended = ended || is
		}
	}
}

// sweptPipe counts what is run on its host beside the agent.
type sweptPipe struct {
	bootstrap.Pipe
	sweeps atomic.Int32
}

func (p *sweptPipe) Also(context.Context, []string) error { p.sweeps.Add(1); return nil }
func (p *sweptPipe) Close() error                         { return nil }
func (p *sweptPipe) Diagnostics() string                  { return "" }

// TestAnAgentLeavesAfterItsChildren has a child acknowledge END, and then end in good
// order or be killed: what it may have left is swept before its parent leaves.
func TestAnAgentLeavesAfterItsChildren(t *testing.T) {
	for name, x := range map[string]struct {
		leave func(*overlay.Edge)
		swept int32
	}{
		"in good order": {func(far *overlay.Edge) { _ = far.End(t.Context()) }, 0},
		"killed":        {(*overlay.Edge).Close, 1},
	} {
		t.Run(name, func(t *testing.T) {
			woken, heard := make(chan bool, 100), make(chan bool, 100)
			inbox := overlay.NewInbox(func() { woken <- true })
			starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, inbox, nil)
			sink := func(tree.Header, []byte) {}
			a, _ := agentOf(t, nil)
			a.inbox, a.stop, a.life.end, *a.cold.End() = inbox, func() {}, ending.Node{}, ending.Job{}
			a.subtree = overlay.NewSubtree(starter, overlay.Common{}, inbox, func(tree.Slot) overlay.Sink { return sink })
			a.subtree.Begin(overlay.Ready{}, nil, 2)
			near, remote := memlink.Pair()
			below := overlay.NewInbox(func() { heard <- true })
			far := overlay.NewEdge(remote, tree.Up, overlay.OfParent(), below, sink, nil)
			pipe := &sweptPipe{}
			a.subtree.Join(overlay.Joined{Link: near, Pipe: pipe, Host: overlay.HostEntry{Index: 1}})

			a.life.end.Ranged()
			a.life.parentEnded()
			for ended := false; !ended; {
				<-heard
				for _, e := range below.Take(nil) {
					_, is := e.(overlay.EdgeEnded)
					ended = ended || is
				}
			}
			x.leave(far)
			for !a.life.end.Over() {
				<-woken
				for _, e := range inbox.Take(nil) {
					a.handle(e)
				}
			}
			require.Equal(t, x.swept, pipe.sweeps.Load())
			far.Close()
		})
	}
}

// toldWarden notes what it is told, and does nothing.
type toldWarden struct {
	Warden
	told *[]string
}

func (w toldWarden) note(what string) error { *w.told = append(*w.told, what); return nil }

func (w toldWarden) Kill(job.Number, time.Duration) error            { return w.note("kill") }
func (w toldWarden) Finish() error                                   { return w.note("finish") }
func (w toldWarden) Beat() error                                     { return w.note("beat") }
func (w toldWarden) Destroy()                                        { _ = w.note("destroy") }
func (w toldWarden) Sweep(context.Context, func(pid int) bool) error { return w.note("sweep") }
func (toldWarden) BeatEvery() time.Duration                          { return time.Hour }

// TestTheEndIsCarriedOut has an agent do everything that its end can ask for.
func TestTheEndIsCarriedOut(t *testing.T) {
	for v, want := range map[ending.Verb]struct {
		warden []string
		ok     func(a *Agent, stopped bool) bool
	}{
		ending.Watch:       {ok: func(a *Agent, _ bool) bool { return a.life.timers.stuck[job.TreeItself].Stop() }},
		ending.Finish:      {warden: []string{"finish"}},
		ending.Destroy:     {warden: []string{"destroy"}},
		ending.Beat:        {warden: []string{"beat"}},
		ending.BeatLater:   {ok: func(a *Agent, _ bool) bool { return a.life.timers.beat.Stop() }},
		ending.Sweep:       {warden: []string{"sweep"}},
		ending.CallOff:     {ok: func(_ *Agent, stopped bool) bool { return stopped }},
		ending.EndChildren: {},
		ending.Unfit:       {ok: func(a *Agent, _ bool) bool { return a.life.unfit == errGone }},
	} {
		t.Run(v.String(), func(t *testing.T) {
			var told []string
			a, _ := agentOf(t, toldWarden{told: &told})
			stopped := false
			a.stop = func() { stopped = true }
			a.life.do([]ending.Action{{Do: v, Err: errGone}})
			require.Equal(t, want.warden, told)
			require.True(t, want.ok == nil || want.ok(a, stopped))
			a.life.timers.stop()
		})
	}
	t.Run("of a job", func(t *testing.T) {
		var told []string
		a, _ := agentOf(t, toldWarden{told: &told})
		a.life.do([]ending.Action{{Do: ending.Kill, Job: a.cold.Number()}})
		require.Equal(t, []string{"kill"}, told)
	})
}

// lateWarden has ended as soon as it is up, and notes what it is told.
type lateWarden struct{ toldWarden }

func (lateWarden) OpenJob(job.Number) error    { return nil }
func (lateWarden) Next() ([]proc.Event, error) { return nil, io.EOF }
func (w lateWarden) Close()                    { _ = w.note("close") }

// TestAnEndBeforeTheWardenIsUp has the job be over while the warden is being
// started: it is told to end, and waited for, before the agent leaves.
func TestAnEndBeforeTheWardenIsUp(t *testing.T) {
	begun := func(t *testing.T, late Warden) *Agent {
		near, remote := memlink.Pair()
		a, err := newAgent(near)
		require.NoError(t, err)
		t.Cleanup(func() {
			remote.Close()
			a.life.end.ParentLost()
			a.close()
		})
		a.ctx, a.stop = context.WithCancel(t.Context())
		starter := overlay.NewStarter(a.ctx, nil, nil, overlay.Common{}, a.inbox, nil)
		a.subtree = overlay.NewSubtree(starter, overlay.Common{}, a.inbox, nil)
		a.harness.Warden = func() Warden {
			<-a.ctx.Done()
			return late
		}
		a.life.end.Ranged()
		a.life.startWarden()
		return a
	}
	t.Run("in good order", func(t *testing.T) {
		var told []string
		w := lateWarden{toldWarden{told: &told}}
		a := begun(t, w)
		a.life.parentEnded()
		a.handle(familySwept{})
		require.False(t, a.life.end.Over())
		a.handle(wardenUp{warden: w})
		require.Contains(t, told, "finish")
		a.handle(wardenLost{io.EOF})
		require.True(t, a.life.end.Over())
	})
	t.Run("it never is", func(t *testing.T) {
		a := begun(t, nil)
		a.life.parentEnded()
		a.handle(wardenUp{err: errGone})
		require.False(t, a.life.end.Over())
		a.handle(familySwept{})
		require.True(t, a.life.end.Over())
		require.NoError(t, a.life.unfit)
	})
	t.Run("the parent is lost", func(t *testing.T) {
		var told []string
		a := begun(t, lateWarden{toldWarden{told: &told}})
		a.life.end.ParentLost()
		a.close()
		require.Equal(t, []string{"close"}, told)
	})
}
