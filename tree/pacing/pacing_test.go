package pacing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWindow(t *testing.T) {
	fill := func(w *Window) (n int) {
		for w.Enter() {
			n++
		}
		return n
	}
	w := NewWindow(WindowBegin)
	require.Equal(t, WindowBegin, fill(&w))
	w.Leave()
	w.Learn(time.Second, false)
	require.Equal(t, 2, fill(&w), "one that left, one more for a fast handshake")
	w.Leave()
	w.Learn(2*time.Second+1, false)
	require.Equal(t, 1, fill(&w), "a slow handshake leaves the limit")
	for range WindowBegin + 1 {
		w.Leave()
	}
	w.Learn(0, true)
	require.Equal(t, (WindowBegin+1)/2, fill(&w), "half as many when one was dropped")

	w = NewWindow(WindowBegin)
	for range 1000 {
		w.Learn(time.Second, false)
	}
	require.Equal(t, windowMax, fill(&w))
	w = NewWindow(WindowBegin)
	for range 1000 {
		w.Learn(time.Second, true)
	}
	require.Equal(t, windowMin, fill(&w))
}

// A dead rack at the front: silence is answered by ever more hosts.
func TestSilence(t *testing.T) {
	p := NewPart(20)
	require.Equal(t, 1, p.Begin())
	require.False(t, p.Hedging())
	for _, want := range []int{1, 2, 4, 8, 4, 0} {
		require.Equal(t, want, p.Silent())
	}
	require.True(t, p.Hedging())
	for range 100 {
		require.Zero(t, p.Silent(), "nobody is left, however long it takes")
	}
	require.True(t, p.Join(16))
	require.Zero(t, p.Silent(), "there is a head")
	require.Zero(t, p.Failed(0), "there is a head")
	require.False(t, p.Join(17))
}

// Every host is tried at most once, in order, exactly one is the first to join unless
// all fail, and those not tried are its own.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := rapid.IntRange(1, 40).Draw(t, "heads")
		p := NewPart(heads)
		tried, firsts, failed := 0, 0, 0
		try := func(n int) {
			tried += n
			require.Equal(t, tried, p.Next())
		}
		try(p.Begin())
		for !p.Done() {
			i := rapid.SampledFrom(p.Pending()).Draw(t, "host")
			switch rapid.SampledFrom([]string{"silent", "fails", "joins"}).Draw(t, "does") {
			case "silent":
				try(p.Silent())
			case "fails":
				failed++
				try(p.Failed(i))
			case "joins":
				if p.Join(i) {
					firsts++
				}
			}
		}
		require.LessOrEqual(t, tried, heads)
		if failed < tried {
			require.Equal(t, 1, firsts)
		} else {
			require.Equal(t, heads, failed, "nobody is given up while there is another head")
		}
	})
}
