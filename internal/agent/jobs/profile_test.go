package jobs

import (
	"encoding/binary"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/profile"
)

// profiled is an agent that is to profile a world that waits for its program's loader.
func profiled(t *testing.T, from profile.Trigger) (*testNode, *world) {
	a, w, _, _ := waitingWorld(t)
	a.job.launch.Profile, a.job.launch.ProfileFrom = profile.Volume, from
	return a, w
}

// Counting is on from the start, or from a signal on that ranks do not get; a further
// one ends it.
func TestSignalsSwitchCounting(t *testing.T) {
	on := func(c *counters) bool {
		var word [8]byte
		offset, _ := c.layout.Switch(0, true)
		_, err := c.file.ReadAt(word[:], offset)
		require.NoError(t, err)
		return binary.NativeEndian.Uint64(word[:]) == 1
	}
	a, w := profiled(t, profile.FromStart)
	c := a.job.profiling.open(w)
	require.True(t, on(c))
	require.False(t, a.job.profiling.signal(syscall.SIGUSR2), "ranks get it")

	a, w = profiled(t, profile.FromPcontrol)
	require.False(t, on(a.job.profiling.open(w)))

	a, w = profiled(t, profile.FromSignal)
	c = a.job.profiling.open(w)
	require.False(t, on(c))
	require.False(t, a.job.profiling.signal(syscall.SIGUSR1))
	require.True(t, a.job.profiling.signal(syscall.SIGUSR2))
	require.True(t, on(c))
	require.True(t, on(a.job.profiling.open(&world{id: 1, spawned: true, spec: overlay.World{Size: 1}, ranks: []*rank{{}}})), "a world that is spawned later")
	require.True(t, a.job.profiling.signal(syscall.SIGUSR2))
	require.False(t, on(c))
	require.Equal(t, job.Rank(0), c.ranks[0])
}

// What a spawned world has counted is told when the world is over, and its memory is
// let go: a job may spawn many. What cannot be, as ranks may write, is not told.
func TestCountersOfAWorldThatIsOver(t *testing.T) {
	a, w, said := nodeOf(t, willingWarden{})
	a.job.launch.Profile, a.job.launch.ProfileFrom = profile.Volume, profile.FromStart
	w.spec.Size = 1
	spawned := &world{id: 1, spawned: true, spec: overlay.World{Size: 1}, ranks: []*rank{{}}}
	a.job.worlds[1] = spawned
	first, second := a.job.profiling.open(w), a.job.profiling.open(spawned)
	require.NoError(t, a.job.forget(spawned))
	m := <-said
	require.Equal(t, overlay.KindProfile, m.Header.Kind)
	require.Equal(t, uint16(1), m.Header.World)
	require.Equal(t, []*counters{first}, a.job.profiling.counting)
	_, err := second.file.Stat()
	require.ErrorIs(t, err, os.ErrClosed)

	spoiled := &profile.Rank{State: profile.Finished, Members: []profile.Member{{Communicator: 1, Rank: -1, Size: 1}}}
	require.ErrorContains(t, a.job.profiling.send(first, spoiled), "rank 0 is -1")
	require.Empty(t, said)
}
