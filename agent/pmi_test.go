package agent

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
)

// TestARankThatTakesNoRepliesIsNotRead has a rank make requests and leave the
// replies: its agent reads on only when it has taken them.
func TestARankThatTakesNoRepliesIsNotRead(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(func() { poller.Close(); syscall.Close(fds[0]); syscall.Close(fds[1]) })
	a := &Agent{poller: poller, watched: map[int]watched{}}
	r := &rank{}
	require.NoError(t, a.addPMI(r, fds[0]))
	_, err = syscall.Write(fds[1], []byte("cmd=get\n"))
	require.NoError(t, err)
	readable := func() bool {
		ready := make([]unix.Ready, 1)
		n, err := poller.Wait(ready, 0)
		require.NoError(t, err)
		return n == 1 && ready[0].Readable
	}
	require.True(t, readable())

	a.reply(r, make([]byte, 2*callerBound))
	require.False(t, readable())

	for buf := make([]byte, 64<<10); len(r.replies) > 0; a.reply(r, nil) {
		for n := 1; n > 0; {
			n, _ = syscall.Read(fds[1], buf)
		}
	}
	require.True(t, readable())
}
