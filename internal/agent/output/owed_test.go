package output

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// TestWhoOwesOutput has the events of two worlds, each with two children and some
// pipes, come in all kinds of orders: each world is over once, and not before
// everybody has said so.
func TestWhoOwesOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOwed()
		children := []tree.Slot{0, 1}
		type part struct {
			left    [2]bool // children that have said it
			added   int     // pipes
			closed  int
			fed     bool
			settled bool // after the last of these
			over    int
		}
		var worlds [2]part
		opened := 0
		end := func(list ...int) {
			for _, w := range list {
				worlds[w].over++
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			w := rapid.IntRange(0, 1).Draw(t, "world")
			p := &worlds[w]
			switch event := rapid.SampledFrom([]string{"open", "drain", "pipe", "close", "complete", "settle"}).Draw(t, "event"); {
			case event == "open" && w == opened:
				o.open(w, children)
				opened++
			case event == "drain": // again and again, if it is at fault or lost
				child := rapid.IntRange(0, 1).Draw(t, "child")
				p.left[child] = true
				if o.drain(w, children[child]) {
					end(w)
				}
			case event == "settle":
				for i := range worlds {
					worlds[i].settled = worlds[i].fed && worlds[i].added == worlds[i].closed
				}
				over, _ := o.settle()
				end(over...)
			case w >= opened:
			case event == "pipe" && !p.fed:
				p.added++
				o.pipe(w, 1)
			case event == "close" && p.closed < p.added:
				p.closed++
				o.pipe(w, -1)
			case event == "complete":
				p.fed = true
				o.complete(w)
			}
			open, unfed := 0, false
			for i, p := range worlds {
				want := 0
				if p.settled && p.left[0] && p.left[1] {
					want = 1
				}
				require.Equal(t, want, p.over, "world %d", i)
				open += p.added - p.closed
				unfed = unfed || i < opened && !p.fed
			}
			require.Equal(t, open == 0 && !unfed, o.quiet())
			require.LessOrEqual(t, len(o.early), 4)
		}
	})
}

// Records that follow each other share a message, up to its size; the end of a
// world stays between what came before and after.
func TestQueue(t *testing.T) {
	q := queue{job: 7}
	q.put([]byte("a"))
	q.put([]byte("b"))
	q.putDrained(5)
	q.put(make([]byte, frame-1))
	q.put([]byte("c"))
	q.put([]byte("d"))
	require.False(t, q.full())
	batch := q.take()
	require.Empty(t, q.pieces)
	require.False(t, q.full())
	next := func(kind tree.Kind, world uint16, length int) {
		t.Helper()
		h, body := batch.next()
		require.Equal(t, tree.Header{Kind: kind, Job: 7, World: world, To: tree.Launcher, From: tree.Launcher}, h)
		require.Len(t, body, length)
	}
	next(overlay.KindOutput, 0, 2)
	next(overlay.KindDrained, 5, 0)
	next(overlay.KindOutput, 0, frame)
	next(overlay.KindOutput, 0, 1)
	require.Empty(t, batch.pieces)
	q.put(make([]byte, bound))
	require.True(t, q.full())
}
