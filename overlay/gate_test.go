package overlay

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However many have a gate open, no more are inside than it has places.
func TestGateBoundsAll(t *testing.T) {
	g, err := NewGate()
	require.NoError(t, err)
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for range 3 * gatePlaces() {
		all.Go(func() { // ends when it has been inside
			mine, err := openGate(ctx, g.Name())
			require.NoError(t, err)
			defer mine.Close()
			require.NoError(t, mine.acquire())
			n := inside.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if n == int64(gatePlaces()) {
				time.Sleep(5 * time.Millisecond) // let one too many in
			}
			inside.Add(-1)
			mine.release()
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(gatePlaces()))

	// Who waits in vain is told when it is over.
	for range gatePlaces() {
		taken, err := openGate(ctx, g.Name())
		require.NoError(t, err)
		defer taken.Close()
		require.NoError(t, taken.acquire())
	}
	late, err := openGate(ctx, g.Name())
	require.NoError(t, err)
	defer late.Close()
	time.AfterFunc(10*time.Millisecond, cancel)
	require.Error(t, late.acquire())
	_, err = openGate(ctx, "/proc/self/fd/no")
	require.ErrorContains(t, err, "the relays' common window: ")
}
