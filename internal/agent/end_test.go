package agent

import (
	"context"
	"io"
	"slices"
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
	a := joined(&Agent{inbox: inbox, stop: func() {}})
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
			a, _, _ := agentOf(t, nil)
			a.inbox, a.stop, a.job.launch, a.life.end, a.job.end = inbox, func() {}, nil, ending.Node{}, ending.Job{}
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

// killedWarden can be told, and answers nothing.
type killedWarden struct {
	lostWarden
	kills *int
}

func (w killedWarden) Kill(job.Number, time.Duration) error { *w.kills++; return nil }

// TestWhatRanksLeftIsKilledThoughAWorldNeverStarts has a world come, and be killed
// before it starts, while what the ranks of another left behind still writes: that
// has its moment as it would have without.
func TestWhatRanksLeftIsKilledThoughAWorldNeverStarts(t *testing.T) {
	kills := 0
	a, first, _ := agentOf(t, killedWarden{kills: &kills})
	a.now = time.Now
	a.output.Open(0, nil) // and not complete: something may write
	r := first.ranks[0]
	r.world = first
	a.job.rankEnded(r, overlay.Done{Ranks: 1})
	require.Zero(t, kills)
	next := &world{id: 1, spawned: true, ranks: []*rank{{}}, unborn: 1, living: 1, killed: true}
	next.ranks[0].world = next
	next.started.Merge, next.done.Merge = (*overlay.Started).Merge, (*overlay.Done).Merge
	next.started.Expect(1)
	next.done.Expect(1)
	a.job.worlds[1] = next
	a.job.do(a.job.end.RanksCome(&a.life.end, 1))
	require.True(t, first.settled)
	before := a.job.linger
	a.job.startIf()
	require.True(t, next.settled)
	require.NotSame(t, before, a.job.linger)
	require.Zero(t, kills)
	a.job.do(a.job.end.LingerOver(&a.life.end))
	require.Equal(t, 1, kills)
}

// TestAnEndIsHeardAfterItsWardenWasLost has a rank end of which its warden told
// before it died: it was counted out with the warden, once.
func TestAnEndIsHeardAfterItsWardenWasLost(t *testing.T) {
	a, w, _ := agentOf(t, lostWarden{})
	r := w.ranks[0]
	r.world = w
	a.life.wardenLost(errGone)
	require.Equal(t, overlay.Done{Ended: 1}, w.ended)
	a.job.rankEnded(r, overlay.Done{Failed: 1})
	require.Equal(t, overlay.Done{Ended: 1}, w.ended)
	require.Zero(t, w.living)
	require.Zero(t, a.job.end.Living())
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

// ofJobs are what the end of a job asks for.
var ofJobs = []ending.Verb{ending.StartNone, ending.Settle, ending.Linger, ending.StopLinger, ending.Kill, ending.Cut, ending.CutAll, ending.Shut, ending.Forsake}

// TestTheEndIsCarriedOut has an agent do everything that the ends can ask for.
func TestTheEndIsCarriedOut(t *testing.T) {
	verbs := map[ending.Verb]struct {
		warden []string
		ok     func(a *Agent, w *world, stopped bool) bool
	}{
		ending.StartNone:   {ok: func(a *Agent, _ *world, _ bool) bool { return !a.job.staging.awaiting }},
		ending.Settle:      {ok: func(_ *Agent, w *world, _ bool) bool { return !w.settled }}, // a rank lives
		ending.Linger:      {ok: func(a *Agent, _ *world, _ bool) bool { return a.job.linger != nil }},
		ending.StopLinger:  {ok: func(a *Agent, _ *world, _ bool) bool { return !a.job.linger.Stop() }},
		ending.Kill:        {warden: []string{"kill"}},
		ending.Watch:       {ok: func(a *Agent, _ *world, _ bool) bool { return a.life.timers.stuck.Stop() }},
		ending.Finish:      {warden: []string{"finish"}},
		ending.Destroy:     {warden: []string{"destroy"}},
		ending.Beat:        {warden: []string{"beat"}},
		ending.BeatLater:   {ok: func(a *Agent, _ *world, _ bool) bool { return a.life.timers.beat.Stop() }},
		ending.Cut:         {},
		ending.CutAll:      {},
		ending.Shut:        {},
		ending.Sweep:       {warden: []string{"sweep"}, ok: func(a *Agent, _ *world, _ bool) bool { return !a.job.staging.awaiting }},
		ending.Forsake:     {ok: func(_ *Agent, w *world, _ bool) bool { return w.settled && w.living == 0 }},
		ending.CallOff:     {ok: func(_ *Agent, _ *world, stopped bool) bool { return stopped }},
		ending.EndChildren: {},
		ending.Unfit:       {ok: func(a *Agent, _ *world, _ bool) bool { return a.life.unfit == errGone }},
	}
	require.Len(t, verbs, int(ending.Unfit))
	for v, want := range verbs {
		t.Run(v.String(), func(t *testing.T) {
			var told []string
			a, w, _ := agentOf(t, toldWarden{told: &told})
			stopped := false
			a.stop = func() { stopped = true }
			a.job.staging.awaiting = true
			w.ranks[0].world = w
			if v == ending.StopLinger {
				a.job.linger = time.NewTimer(time.Hour)
			}
			x := ending.Action{Do: v, Err: errGone}
			if slices.Contains(ofJobs, v) {
				x.Job = a.job.number
			}
			a.life.do([]ending.Action{x})
			require.Equal(t, want.warden, told)
			require.True(t, want.ok == nil || want.ok(a, w, stopped))
			a.life.timers.stop()
		})
	}
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
