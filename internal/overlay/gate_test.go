package overlay

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// free takes a permit that is there without waiting, and reports whether there
// was one.
func (g *Gate) free(t *testing.T) bool {
	t.Helper()
	raw, err := g.f.SyscallConn()
	require.NoError(t, err)
	var got int
	require.NoError(t, raw.Read(func(fd uintptr) bool {
		got, err = syscall.Read(int(fd), make([]byte, 1))
		return true
	}))
	if got != 1 {
		require.ErrorIs(t, err, syscall.EAGAIN)
	}
	return got == 1
}

// However many have a gate open, no more are inside than it has permits.
func TestGateBoundsAll(t *testing.T) {
	g, err := NewGate()
	require.NoError(t, err)
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	open := func() *Gate {
		mine, err := openGate(ctx, g.Name())
		require.NoError(t, err)
		t.Cleanup(mine.Close)
		return mine
	}
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for range 3 * gatePermits() {
		mine := open()
		all.Go(func() { // ends when it has been inside
			if mine.acquire() != nil {
				return // most tells
			}
			n := inside.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			runtime.Gosched()
			inside.Add(-1)
			mine.release()
		})
	}
	all.Wait()
	require.Positive(t, most.Load())
	require.LessOrEqual(t, most.Load(), int64(gatePermits()))

	// All permits are back, and no more.
	var taken *Gate
	for range gatePermits() {
		taken = open()
		require.True(t, taken.free(t))
	}
	late := open()
	require.False(t, late.free(t), "one too many")
	taken.release()
	require.True(t, late.free(t))

	// A waiter in vain is told of the end.
	go cancel()
	require.Error(t, open().acquire())
	_, err = openGate(ctx, "/proc/self/fd/no")
	require.ErrorContains(t, err, "the relays' common window: ")
}
