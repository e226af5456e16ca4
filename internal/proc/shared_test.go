package proc

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
)

// TestSharedDescriptor has ranks write to the one descriptor that all of them
// inherit, and find none where there is none.
func TestSharedDescriptor(t *testing.T) {
	mine, its, err := unix.PacketPair()
	require.NoError(t, err)
	defer unix.Close(mine)
	shared := os.NewFile(uintptr(its), "shared")
	f := begin(t, Options{Shared: shared})
	require.NoError(t, shared.Close()) // by its file: else that closes the number again, whosever it is by then
	s := Spec{Apps: []App{{Argv: []string{"/bin/sh", "-c", "echo hello >&4"}}}}
	require.NoError(t, f.Launch(s, []Child{{Rank: 0}, {Rank: 1}}))
	f.ends(2)
	f.finishes()
	buf := make([]byte, 64)
	for range 2 {
		n, err := unix.Read(mine, buf)
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(buf[:n]))
	}

	f = begin(t, Options{})
	require.NoError(t, f.Launch(s, []Child{{Rank: 0}}))
	f.ends(1)
	f.finishes()
	require.NotEqual(t, syscall.WaitStatus(0), f.exited[0].Status, "a rank without it has no descriptor 4")
}

// The warden has what it is to hold open as long as it lives, and ranks have not.
func TestHeldDescriptor(t *testing.T) {
	held, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	f := begin(t, Options{Held: held})
	require.NoError(t, held.Close())
	other, err := os.Open(held.Name())
	require.NoError(t, err)
	defer other.Close()
	require.ErrorIs(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
	s := Spec{Apps: []App{{Argv: []string{"/bin/sh", "-c", "! ls -l /proc/self/fd | grep -F " + held.Name()}}}}
	require.NoError(t, f.Launch(s, []Child{{Rank: 0}}))
	f.ends(1)
	require.Equal(t, syscall.WaitStatus(0), f.exited[0].Status)
	require.ErrorIs(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
	f.finishes()
	require.NoError(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX), "it has gone with the warden")
}
