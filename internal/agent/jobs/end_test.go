package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

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
	a, first, _ := nodeOf(t, killedWarden{kills: &kills})
	a.now = time.Now
	a.job.output.Open(0, nil) // and not complete: something may write
	r := first.ranks[0]
	r.world = first
	a.job.ranks.ended(r, overlay.Done{Ranks: 1})
	require.Zero(t, kills)
	next := &world{id: 1, spawned: true, ranks: []*rank{{}}, unborn: 1, living: 1, killed: true}
	next.ranks[0].world = next
	next.started.Merge, next.done.Merge = (*overlay.Started).Merge, (*overlay.Done).Merge
	next.started.Expect(1)
	next.done.Expect(1)
	a.job.worlds[1] = next
	a.job.Do(a.job.end.RanksCome(&a.end, 1))
	require.True(t, first.settled)
	before := a.job.linger
	a.job.startIf()
	require.True(t, next.settled)
	require.NotSame(t, before, a.job.linger)
	require.Zero(t, kills)
	a.job.Do(a.job.end.LingerOver(&a.end))
	require.Equal(t, 1, kills)
}

// TestAnEndIsHeardAfterItsWardenWasLost has a rank end of which its warden told
// before it died: it was counted out with the warden, once.
func TestAnEndIsHeardAfterItsWardenWasLost(t *testing.T) {
	a, w, _ := nodeOf(t, lostWarden{})
	r := w.ranks[0]
	r.world = w
	a.WardenLost(errGone)
	require.Equal(t, overlay.Done{Ended: 1}, w.ended)
	a.job.ranks.ended(r, overlay.Done{Failed: 1})
	require.Equal(t, overlay.Done{Ended: 1}, w.ended)
	require.Zero(t, w.living)
	require.Zero(t, a.job.end.Living())
}

// The job carries out everything that its end can ask for.
func TestTheEndIsCarriedOut(t *testing.T) {
	kills := 0
	for v, ok := range map[ending.Verb]func(a *testNode, w *world) bool{
		ending.StartNone:  func(a *testNode, _ *world) bool { return !a.job.staging.awaiting },
		ending.Settle:     func(_ *testNode, w *world) bool { return !w.settled }, // a rank lives
		ending.Linger:     func(a *testNode, _ *world) bool { return a.job.linger.Stop() },
		ending.StopLinger: func(a *testNode, _ *world) bool { return !a.job.linger.Stop() },
		ending.Kill:       func(*testNode, *world) bool { return kills == 1 },
		ending.Watch:      func(a *testNode, _ *world) bool { return a.watched == 1 },
		ending.Cut:        nil,
		ending.CutAll:     nil,
		ending.Shut:       nil,
		ending.Forsake:    func(_ *testNode, w *world) bool { return w.settled && w.living == 0 },
	} {
		t.Run(v.String(), func(t *testing.T) {
			a, w, _ := nodeOf(t, killedWarden{kills: &kills})
			a.job.staging.awaiting = true
			w.ranks[0].world = w
			if v == ending.StopLinger {
				a.job.linger = time.NewTimer(time.Hour)
			}
			a.job.Do([]ending.Action{{Do: v}})
			require.True(t, ok == nil || ok(a, w))
		})
	}
}
