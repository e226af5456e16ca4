package unix

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The end of a socket's other side is reported once, and nothing else, also when this side
// lives on by another descriptor only.
func TestAddEnd(t *testing.T) {
	p, err := NewPoller()
	require.NoError(t, err)
	defer p.Close()
	a, b, err := StreamPair()
	require.NoError(t, err)
	require.NoError(t, p.AddEnd(a, 7))
	again, err := Dup(a)
	require.NoError(t, err)
	defer Close(again)
	Close(a)
	_, err = Write(b, []byte("x"))
	require.NoError(t, err)
	buf := make([]Ready, 2)
	n, err := p.Wait(buf, 0)
	require.NoError(t, err)
	require.Zero(t, n, "it can be read, but nobody has hung up")
	Close(b)
	n, err = p.Wait(buf, time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, uint64(7), buf[0].Tag)
	require.True(t, buf[0].HangUp)
	require.True(t, p.Woken(7))
	n, err = p.Wait(buf, 0)
	require.NoError(t, err)
	require.Zero(t, n)
	require.False(t, p.Woken(7))
}

// Ends are reported once, so that none may be lost: here are more, and a wake-up, than one Wait
// has room for.
func TestEndsBeyondTheBuffer(t *testing.T) {
	p, err := NewPoller()
	require.NoError(t, err)
	defer p.Close()
	const room, all = 64, 65
	for tag := range uint64(all) {
		a, b, err := StreamPair()
		require.NoError(t, err)
		defer Close(a)
		require.NoError(t, p.AddEnd(a, tag))
		Close(b)
	}
	p.Wake()
	seen := map[uint64]bool{}
	buf := make([]Ready, room)
	for range 3 {
		n, err := p.Wait(buf, 0)
		require.NoError(t, err)
		for _, r := range buf[:n] {
			seen[r.Tag] = true
		}
	}
	require.Len(t, seen, all)
}

func TestDupToTakesNoNumberThatIsTaken(t *testing.T) {
	r, w, err := Pipe()
	require.NoError(t, err)
	defer Close(w)
	const number = 777
	require.NoError(t, DupTo(r, number))
	require.Error(t, DupTo(w, number))
	Close(number)
	require.NoError(t, DupTo(w, number))
	Close(number)
	Close(r)
}

// A thread waits for no less than it has already.
func TestRunDelay(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := RunDelay()
	if !ok {
		t.Skip("skipped: this kernel does not count how long threads wait (CONFIG_SCHED_INFO)")
	}
	runtime.Gosched()
	after, ok := RunDelay()
	require.True(t, ok)
	require.GreaterOrEqual(t, after, before)
}
