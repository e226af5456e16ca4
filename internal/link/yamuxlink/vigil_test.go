package yamuxlink

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ticks ticks v n times with now changed by step before each, and returns the
// verdicts.
func ticks(v *vigil, n int, now *counters, step func(*counters)) []tickVerdict {
	var out []tickVerdict
	for range n {
		step(now)
		out = append(out, v.tick(*now, true))
	}
	return out
}

func still(*counters) {}

func hears(c *counters) { c.heard++ }

func TestSilenceIsALoss(t *testing.T) {
	var v vigil
	var now counters
	ticks(&v, 100, &now, hears)
	out := ticks(&v, lostTicks, &now, still)
	for _, verdict := range out[:lostTicks-1] {
		require.Empty(t, verdict.lost)
	}
	require.Equal(t, "nothing was heard of the peer", out[lostTicks-1].lost)
}

func TestAWriteWithoutProgressIsALoss(t *testing.T) {
	var v vigil
	var now counters
	ticks(&v, 1, &now, func(c *counters) { c.heard++; c.begun++ })
	out := ticks(&v, lostTicks-1, &now, hears)
	require.Equal(t, "the peer took no bytes", out[len(out)-1].lost)

	// Slow is not stuck.
	v, now = vigil{}, counters{begun: 1}
	for _, verdict := range ticks(&v, 100, &now, func(c *counters) { c.heard++; c.begun++; c.written++ }) {
		require.Empty(t, verdict.lost)
	}
}

func TestStreamsNotOpenedAreALoss(t *testing.T) {
	var v vigil
	var now counters
	for i := 1; i <= lostTicks; i++ {
		now.heard++
		got := v.tick(now, false)
		require.False(t, got.beat, "nothing to send it on")
		require.Equal(t, i == lostTicks, got.lost != "", "tick %d", i)
	}
}

func TestSuspension(t *testing.T) {
	for _, side := range []func(*vigil) *bool{
		func(v *vigil) *bool { return &v.self },
		func(v *vigil) *bool { return &v.peer },
	} {
		var v vigil
		var now counters
		ticks(&v, lostTicks-1, &now, still)
		v.suspend(side(&v), true)
		for _, got := range ticks(&v, 1000, &now, still) {
			require.Equal(t, tickVerdict{}, got, "neither a beat nor a loss")
		}
		v.suspend(side(&v), false)
		out := ticks(&v, lostTicks, &now, still)
		require.Empty(t, out[lostTicks-2].lost, "what was before is forgiven")
		require.NotEmpty(t, out[lostTicks-1].lost, "what comes after is not")
	}
}

// Two vigils that only beat keep each other alive for any scheduling that
// delivers a beat within a few ticks.
func TestBeatsKeepAlive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sides [2]vigil
		var now [2]counters
		var inFlight [2][]int // delay of each beat on its way to side i
		for range rapid.IntRange(1, 300).Draw(t, "ticks") {
			i := rapid.IntRange(0, 1).Draw(t, "first")
			for _, i := range []int{i, 1 - i} {
				var waiting []int
				for _, delay := range inFlight[i] {
					if delay == 0 {
						now[i].heard++
					} else {
						waiting = append(waiting, delay-1)
					}
				}
				inFlight[i] = waiting
				verdict := sides[i].tick(now[i], true)
				require.Empty(t, verdict.lost)
				if verdict.beat {
					now[i].begun++
					now[i].written++
					inFlight[1-i] = append(inFlight[1-i], rapid.IntRange(0, 4).Draw(t, "delay"))
				}
			}
		}
	})
}
