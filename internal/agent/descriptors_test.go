package agent

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/unix"
)

// A descriptor is told to who watches it, and to nobody once it is closed.
func TestDescriptorsAreTheirWatchers(t *testing.T) {
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(poller.Close)
	a := joined(t, &Agent{poller: poller, descriptors: newDescriptors(poller)})
	var fds [2]int
	require.NoError(t, syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK))
	t.Cleanup(func() { syscall.Close(fds[1]) })
	told := 0
	require.NoError(t, a.descriptors.watch(fds[0], serve.HandlerFunc(func(unix.Ready, []byte) { told++ })))
	a.descriptors.ready(unix.Ready{Tag: uint64(fds[0]), Readable: true}, nil)
	require.Equal(t, 1, told)
	a.closeFD(fds[0])
	a.descriptors.ready(unix.Ready{Tag: uint64(fds[0]), Readable: true}, nil) // of the same batch
	require.Equal(t, 1, told)
	require.Error(t, a.descriptors.watch(fds[0], nil), "it is closed")
	require.Empty(t, a.descriptors.handlers)
}
