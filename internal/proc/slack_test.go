package proc

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
)

// TestRanksKeepTheirTimers starts a warden with coarse timers, which its ranks
// must not have.
func TestRanksKeepTheirTimers(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, unix.SetTimerSlack(unix.CoarseTimers))
	defer func() { require.NoError(t, unix.SetTimerSlack(rankSlack)) }()
	f := begin(t, Options{})
	f.launch(1, "/bin/cat", "/proc/self/timerslack_ns") // of others it takes CAP_SYS_NICE
	f.ends(1)
	slack, err := time.ParseDuration(f.output(0)[:len(f.output(0))-1] + "ns")
	require.NoError(t, err)
	require.Equal(t, rankSlack, slack)
	require.NotEqual(t, unix.CoarseTimers, slack)
	f.finishes()
}
