package launcher

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

// lease takes a file such that opening it waits until release is called, as one
// on a file system whose server is away does.
func lease(t *testing.T, name string) (release func()) {
	t.Helper()
	const setLease = 1024 // F_SETLEASE of Linux
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, syscall.F_WRLCK); errno != 0 {
		t.Skipf("skipped: no lease of %s: %v", name, errno)
	}
	return func() { f.Close() }
}

// A host file that cannot be read now holds up the spawn that names it, and
// nothing else.
func TestHostFileThatIsSlow(t *testing.T) {
	r, _ := launchedRun(t)
	woken := make(chan bool, 1)
	r.inbox = overlay.NewInbox(func() { woken <- true })
	r.jobID = strings.Repeat("0", 32)
	var err error
	r.staging, err = newStaging(&r.Options)
	require.NoError(t, err)
	r.printer, err = newPrinter(r.Options, r.plan, "job", IO{Stdout: io.Discard, Stderr: io.Discard}, r.report)
	require.NoError(t, err)
	r.Dir = t.TempDir()
	name := filepath.Join(r.Dir, "hosts")
	require.NoError(t, os.WriteFile(name, []byte("a\n"), 0o644))
	release := lease(t, name)

	slow, quick := spawnOf(2), spawnOf(1)
	slow.Commands[0].Hints.HostFile = "hosts"
	for slot := range r.family.Children {
		require.NoError(t, r.spawn(slot, overlay.SpawnRequest{Rank: 0, Spawn: *slow}))
		require.Equal(t, 0, r.newest)
		require.NoError(t, r.spawn(slot, overlay.SpawnRequest{Rank: 1, Spawn: *quick}))
	}
	require.Equal(t, 1, r.newest)
	require.Equal(t, job.Rank(1), r.worlds[1].by.Rank)
	release()
	<-woken
	for _, e := range r.inbox.Take(nil) {
		r.handle(e)
	}
	require.Equal(t, 2, r.newest)
	require.Equal(t, job.Rank(0), r.worlds[2].by.Rank)
}

func TestHostFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for name, says := range map[string]string{
		"none": "hostfile: stat " + dir + "/none: no such file or directory",
		"pipe": "hostfile: read " + dir + "/pipe: invalid argument: not a file of at most",
		".":    "hostfile: read " + dir + ": invalid argument",
	} {
		_, err := readHostFile(dir, name)
		require.ErrorContains(t, err, says)
	}
}
