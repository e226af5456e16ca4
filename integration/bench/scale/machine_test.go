package scale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/event"
)

// one returns a processor that is shared, and a function to note the end of things.
func one(slice time.Duration) (*cores, *event.Queue, func(name string) func(), map[string]time.Duration) {
	q, over := new(event.Queue), map[string]time.Duration{}
	return &cores{queue: q, free: 1, slice: slice}, q, func(name string) func() { return func() { over[name] = q.Now() } }, over
}

func runAll(q *event.Queue) {
	for q.Step() {
	}
}

// Processes that share a processor get the same time.
func TestSharedFairly(t *testing.T) {
	c, q, end, over := one(time.Millisecond)
	c.run(10*time.Millisecond, end("first"))
	c.run(10*time.Millisecond, end("second"))
	q.After(4*time.Millisecond, func() { c.run(2*time.Millisecond, end("late")) })
	runAll(q)
	require.Equal(t, map[string]time.Duration{
		"first":  21 * time.Millisecond,
		"second": 22 * time.Millisecond,
		"late":   8 * time.Millisecond, // one of three since it began
	}, over)
}

// A message is not behind all the work that there is, but it is behind the slice that
// goes on; and a process that had more than its share waits its turn.
func TestSleeperFirst(t *testing.T) {
	c, q, end, over := one(time.Millisecond)
	for range 10 {
		c.run(10*time.Millisecond, end("work"))
	}
	loop := thread{on: c}
	q.After(20500*time.Microsecond, func() {
		loop.run(100*time.Microsecond, end("message"))
		loop.run(100*time.Microsecond, end("next"))
		loop.run(3*time.Millisecond, end("much"))
	})
	runAll(q)
	require.Equal(t, 21100*time.Microsecond, over["message"])
	require.Equal(t, 21200*time.Microsecond, over["next"])
	require.Greater(t, over["much"], 31*time.Millisecond, "as soon as it has had what it was owed it is one of eleven")
	require.Less(t, over["much"], 50*time.Millisecond)
}

// Without a slice tasks run to their ends, in the order in which they came.
func TestUnshared(t *testing.T) {
	c, q, end, over := one(0)
	c.run(3*time.Millisecond, end("first"))
	c.run(time.Millisecond, end("second"))
	c.wake(0, time.Millisecond, func(time.Duration) { end("third")() })
	runAll(q)
	require.Equal(t, map[string]time.Duration{"first": 3 * time.Millisecond, "second": 4 * time.Millisecond, "third": 5 * time.Millisecond}, over)
}
