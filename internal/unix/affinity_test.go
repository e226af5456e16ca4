package unix

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A thread that was told to run on one CPU is there, and no longer when told otherwise.
func TestAffinity(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, err := Affinity(0)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	last := all[len(all)-1:]
	require.NoError(t, SetAffinity(0, last))
	now, err := Affinity(0)
	require.NoError(t, err)
	require.Equal(t, last, now)
	require.NoError(t, SetAffinity(0, all))
	now, err = Affinity(0)
	require.NoError(t, err)
	require.Equal(t, all, now)

	require.ErrorIs(t, SetAffinity(0, []int{maxCPUs - 1}), syscall.EINVAL)
	require.ErrorIs(t, SetAffinity(0, nil), syscall.EINVAL)
	require.EqualError(t, SetAffinity(0, []int{-1}), "sched_setaffinity: CPU -1: no such CPU")
	_, err = Affinity(1 << 30)
	require.ErrorIs(t, err, syscall.ESRCH)
}

func TestMaskCPUs(t *testing.T) {
	require.Equal(t, []int{0, 3, 63, 64, 130}, maskCPUs([]uint64{1 | 1<<3 | 1<<63, 1, 4}))
	require.Empty(t, maskCPUs(nil))
}
