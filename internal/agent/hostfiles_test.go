package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/overlay"
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

// Files that give no answer hold up the spawns that name them, for so long, and
// no others but those that find all turns taken.
func TestHostFilesThatAreSlow(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "hosts")
	require.NoError(t, os.WriteFile(name, []byte("a\n"), 0o644))
	require.NoError(t, os.WriteFile(name+"2", []byte("b\n"), 0o644))
	release := lease(t, name)
	h := newHostFileReader()
	read := func(name string, patience time.Duration) []overlay.HostFile {
		h.patience = patience
		done := make(chan []overlay.HostFile)
		h.start(dir, []string{name}, func(files []overlay.HostFile) { done <- files })
		return <-done
	}
	late := []overlay.HostFile{{Name: "hosts", Failure: "not read within 1ms"}}
	for len(h.turns) < hostFileReaders-1 { // one that waits for a processor may be late for its turn, too
		require.Equal(t, late, read("hosts", time.Millisecond))
	}
	require.Equal(t, []overlay.HostFile{{Name: "hosts2", Hosts: "b"}}, read("hosts2", time.Hour))
	require.Eventually(t, func() bool { return len(h.turns) < hostFileReaders }, time.Minute, time.Millisecond, "its turn ends after its answer")
	for len(h.turns) < hostFileReaders {
		require.Equal(t, late, read("hosts", time.Millisecond))
	}
	require.Equal(t, "not read within 1ms", read("hosts2", time.Millisecond)[0].Failure)
	release()
	require.Equal(t, []overlay.HostFile{{Name: "hosts2", Hosts: "b"}}, read("hosts2", time.Hour))
}

// What a file says goes nowhere but into a list of hosts, and is never waited for
// that cannot end.
func TestHostFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("shadow", "# users\nroot:$y$secret:19000:0:99999:7:::\n")
	write("key", "-----BEGIN secret KEY-----\nsecret\n")
	write("long", strings.Repeat("secret", 1<<18))
	write("twice", "secret@a\nsecret2@a\n")
	write("many", "secret["+strings.Repeat("1,", 1<<20)+"1]")
	write("large", strings.Repeat("# "+strings.Repeat("secret", 1000)+"\n", maxHostFiles/6000))
	for name, want := range map[string]string{
		"none": "no such file or directory", "pipe": "not a regular file", ".": "not a regular file", "/dev/zero": "not a regular file",
		"shadow": "line 2 is none of a host file", "key": "line 1 is none of a host file", "long": "line 1 is none of a host file",
		"twice": "it names no host, or contradicts itself", "many": "line 1 is none of a host file", "large": "more than 16777216 bytes",
	} {
		files := readHostFiles(dir, []string{name, "never"})
		require.Len(t, files, 1, name)
		require.Equal(t, overlay.HostFile{Name: name, Failure: want}, files[0])
	}
}

// The files of one spawn share a bound, and those that can be read are.
func TestHostFilesTogether(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a", "n1:2\nn2 slots=2\n# c\nme@n3\n")
	half := strings.Repeat(strings.Repeat(" ", 999)+"\n", maxHostFiles/2000+1)
	write("b", "x\n"+half)
	write("c", "x\n"+half)
	files := readHostFiles(dir, []string{"a"})
	require.Equal(t, []overlay.HostFile{{Name: "a", Hosts: "n[1-3]"}}, files)
	at := filepath.Join(t.TempDir(), "cwd")
	require.NoError(t, os.Symlink(filepath.Join(dir, ".."), at)) // as the kernel's of a process
	require.Equal(t, "n[1-3]", readHostFiles(at, []string{filepath.Base(dir) + "/../" + filepath.Base(dir) + "/a"})[0].Hosts)
	files = readHostFiles(dir, []string{"a", "b", "c"})
	require.Len(t, files, 3)
	require.Equal(t, overlay.HostFile{Name: "b", Hosts: "x"}, files[1])
	require.Equal(t, "more than 16777216 bytes", files[2].Failure)
}
