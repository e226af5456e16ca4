package overlay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/tree"
)

// Whatever messages take on their way, and however clocks run within what is assumed, a
// failure is taken for as old as it is, but for what the round trips leave open.
func TestFailuresAreAsOldAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// The child's clock at a time of the parent's.
		begin := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "child's clock"))
		parts := rapid.Float64Range(-drift, drift).Draw(t, "drift") * 0.999
		child := func(now time.Duration) time.Duration {
			return begin + now + time.Duration(float64(now)*parts)
		}
		some := func(what string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, what))
		}
		now := time.Hour
		var r reckoning
		for range rapid.IntRange(0, 20).Draw(t, "trips") {
			now += some("pause", time.Minute)
			sent := now
			heard := sent + some("down", 20*time.Millisecond)
			said := heard + some("there", time.Millisecond)
			now = said + some("up", 20*time.Millisecond)
			r.trip(sent, child(heard), child(said), now)
		}
		happened := now + some("until it happens", time.Minute)
		told := happened + some("until it is told", time.Second)
		arrival := told + some("on its way", 20*time.Millisecond)
		now = arrival + some("here", time.Second)
		old := child(told) - child(happened)
		got := r.age(old, child(told), arrival, now)

		const rounding = time.Microsecond
		truth := now - happened
		slack := rounding + time.Duration(float64(told-happened)*drift)
		require.GreaterOrEqual(t, got, now-arrival+old, "it was told before it arrived")
		if r.trips == 0 {
			require.Equal(t, now-arrival+old, got)
			return
		}
		low, high := r.widened(now)
		require.LessOrEqual(t, low-rounding, child(now)-now)
		require.GreaterOrEqual(t, high+rounding, child(now)-now)
		require.InDelta(t, float64(truth), float64(got), float64((high-low)/2+slack))
	})
}

// Impossible times of a child's clock do no harm: its word counts from its arrival.
func TestClocksThatCannotBe(t *testing.T) {
	var r reckoning
	r.trip(10, 5, 100, 20) // it took longer than the whole round trip
	require.Zero(t, r.trips)
	for range 3 {
		r.trip(1000, 5000, 5000, 1002)
	}
	require.Equal(t, 3, r.trips)
	for _, said := range []time.Duration{0, 1, 1 << 62, 1<<63 - 1} {
		got := r.age(7, said, 2000, 2003)
		require.GreaterOrEqual(t, got, time.Duration(10), "said at %d", said)
	}
	r.trip(3000, 1, 1, 3001) // a clock that was set anew
	require.Equal(t, [2]time.Duration{-3000, -2999}, [2]time.Duration{r.low, r.high})
}

// A child that answers pings which were not sent, or twice, is found out: each answer would
// have its parent ask again, at once or by one more timer, for ever.
func TestTimesThatNobodyAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewSubtree(&Starter{}, Common{}, NewInbox(func() {}), func(tree.Slot) Sink { return func(tree.Header, []byte) {} })
		near, far := memlink.Pair()
		slot := f.Join(Joined{Host: HostEntry{Index: 3}, Link: near, Pipe: agentPipe{link: near}})
		pings := make(chan Ping, 100)
		go func() { // ends with the link
			for {
				frame, err := far.Recv(link.Control)
				if err != nil {
					return
				}
				h, body, err := tree.ParseHeader(frame)
				if p, derr := Decode[Ping](body); err == nil && derr == nil && h.Kind == KindPing {
					pings <- p
				}
			}
		}()
		answer := func(p Pong) error {
			_, err := f.Pong(slot, p, 0)
			return err
		}
		const unasked = "a time that nobody asked for"
		require.EqualError(t, answer(Pong{Clock: 1}), unasked, "before anything was measured")
		f.Watched(slot)
		for trip := range reckonings + 2 {
			p := <-pings // the last, some time later
			for _, clock := range []time.Duration{0, 1, -1, p.Clock - 1, p.Clock + 1} {
				require.EqualError(t, answer(Pong{Clock: clock}), unasked, "trip %d: %d", trip, clock)
			}
			require.NoError(t, answer(Pong{Clock: p.Clock}))
			require.EqualError(t, answer(Pong{Clock: p.Clock}), unasked, "twice")
			synctest.Wait()
			if trip+1 >= reckonings {
				require.Empty(t, pings, "not at once")
			}
		}
		f.Ping(slot) // for --trace
		for range cap(pings) {
			p := <-pings
			if p.Clock != 0 {
				continue
			}
			require.EqualError(t, answer(Pong{Sent: p.Sent + 1}), unasked)
			require.NoError(t, answer(Pong{Sent: p.Sent}))
			if f.children[slot].offset.left == 0 {
				require.EqualError(t, answer(Pong{Sent: p.Sent}), unasked, "it is measured")
				break
			}
		}
		f.children[slot].edge.Close()
		far.Close()
	})
}
