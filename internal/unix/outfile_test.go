package unix

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// opened writes to a file that a user has named, and says why it cannot.
func opened(path string, made int) error {
	f, err := OpenOutput(path, made, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("written")
	f.Close()
	return err
}

// othersWrite are the modes of directories in which others may write.
var othersWrite = []os.FileMode{0o777 | os.ModeSticky, 0o777, 0o770, 0o775}

// shared returns a directory of a mode in which others may write.
func shared(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := stickyPlace(t)
	require.NoError(t, os.Chmod(dir, mode))
	return dir
}

// Entries of another user in a directory where they may write are not followed and not
// written, of any kind; the error names the owner, and nothing has changed.
func TestOutputOfOthers(t *testing.T) {
	for _, mode := range othersWrite {
		dir := shared(t, mode)
		kept := filepath.Join(t.TempDir(), "kept")
		require.NoError(t, os.WriteFile(kept, []byte("kept"), 0o600))
		plant := func(name, target string) string {
			path := filepath.Join(dir, name)
			require.NoError(t, os.Symlink(target, path))
			require.NoError(t, os.Lchown(path, attacker, attacker))
			return path
		}
		theirs := filepath.Join(dir, "theirs")
		require.NoError(t, os.WriteFile(theirs, []byte("kept"), 0o666))
		require.NoError(t, os.Lchown(theirs, attacker, attacker))
		pipe := filepath.Join(dir, "pipe")
		require.NoError(t, unix.Mkfifo(pipe, 0o666))
		require.NoError(t, os.Lchown(pipe, attacker, attacker))
		second := filepath.Join(dir, "second")
		require.NoError(t, os.WriteFile(second, []byte("kept"), 0o600))
		require.NoError(t, os.Link(second, filepath.Join(dir, "first")))
		mine := filepath.Join(t.TempDir(), "mine")
		link := plant("link", kept)
		require.NoError(t, os.Symlink(link, mine))
		whose := "it is a link of user 65533, in a directory where others may write: remove it, or name a file in a directory of your own"
		for path, why := range map[string]string{
			link:                             whose,
			plant("nothing", kept+".new"):    whose,
			plant("device", "/dev/null"):     whose,
			plant("standard", "/dev/stdout"): whose,
			mine:                             "link is a link of user 65533", // a link of one's own that leads there
			theirs:                           "it is user 65533's, in a directory where others may write",
			pipe:                             "it is user 65533's",
			second:                           "it has another name besides",
		} {
			err := opened(path, 0)
			require.ErrorIs(t, err, fs.ErrPermission, "%v %s", mode, path)
			require.ErrorContains(t, err, path+": "+why, "%v", mode)
			_, err = StatOutput(path, 0)
			require.ErrorIs(t, err, fs.ErrPermission, "%v %s", mode, path)
		}
		for _, path := range []string{kept, theirs, second} {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "kept", string(b), path)
		}
		require.NoFileExists(t, kept+".new")
	}
}

// Directories that golaunch makes are held to the rule as files are; those above are
// resolved as the kernel does.
func TestOutputBelowLinks(t *testing.T) {
	for _, mode := range othersWrite {
		dir, elsewhere := shared(t, mode), t.TempDir()
		logs := filepath.Join(dir, "logs")
		require.NoError(t, os.Symlink(elsewhere, logs))
		require.NoError(t, os.Lchown(logs, attacker, attacker))
		require.NoError(t, os.Mkdir(filepath.Join(elsewhere, "attempt-0"), 0o755))
		for _, create := range []bool{false, true} {
			_, err := OpenOutputDir(logs, create)
			require.ErrorContains(t, err, "logs: it is a link of user 65533")
		}
		log := filepath.Join(logs, "attempt-0", "0.out")
		require.ErrorContains(t, opened(log, 2), "logs is a link of user 65533")
		require.NoFileExists(t, log)
		require.NoError(t, opened(log, 0), "the user has named that directory")

		root, err := OpenOutputDir(filepath.Join(dir, "own"), true)
		require.NoError(t, err)
		defer root.Close()
		require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "own", "attempt-1")))
		require.NoError(t, os.Remove(filepath.Join(elsewhere, "attempt-0", "0.out")))
		require.NoError(t, opened(filepath.Join(dir, "own", "attempt-1", "0.out"), 2), "nobody else writes in own")
		require.NoError(t, os.Chmod(filepath.Join(dir, "own"), mode))
		require.ErrorContains(t, opened(filepath.Join(dir, "own", "attempt-1", "1.out"), 2), "attempt-1 is a link of")
		require.NoFileExists(t, filepath.Join(elsewhere, "1.out"))
	}
}

// The user's own files are written, and those that have no name.
func TestOutputOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	name := func(n string) string { return filepath.Join(dir, n) }
	require.NoError(t, os.Mkdir(name("below"), 0o755))
	require.NoError(t, os.Symlink("below/target", name("link")))
	require.NoError(t, os.Symlink(name("link"), name("chain")))
	require.NoError(t, os.Symlink("below", name("to")))
	place := shared(t, 0o777|os.ModeSticky)
	t.Chdir(dir)
	for path, file := range map[string]string{
		"new": "new", "below/../again": "again", name("link"): "below/target", "chain": "below/target", "to/x": "below/x", "./to/y": "below/y",
		filepath.Join(place, "new"): filepath.Join(place, "new"),
	} {
		for range 2 { // once it is new, once it is there
			require.NoError(t, opened(path, 0), path)
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, "written", string(b), path)
		}
	}
	require.NoError(t, os.Symlink("loop", name("loop")))
	require.ErrorIs(t, opened("loop", 0), unix.ELOOP)
	require.ErrorIs(t, opened("nosuch/x", 0), fs.ErrNotExist)
	require.ErrorIs(t, opened("", 0), fs.ErrNotExist)
	for _, path := range []string{"below", "below/", "to/", ".", "..", "/", dir} {
		require.ErrorIs(t, opened(path, 0), unix.EISDIR, path)
	}
	require.ErrorIs(t, opened("new/x", 0), unix.ENOTDIR)
	require.NoError(t, opened("/dev/null", 0))

	r, w, err := os.Pipe()
	require.NoError(t, err)
	for _, path := range []string{"/dev/fd/%d", "/proc/self/fd/%d", fmt.Sprintf("/proc/%d/fd/%%d", os.Getpid())} {
		path = fmt.Sprintf(path, w.Fd())
		require.NoError(t, opened(path, 0), path)
		info, err := StatOutput(path, 0)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeNamedPipe)
		b := make([]byte, 7)
		_, err = io.ReadFull(r, b)
		require.NoError(t, err)
		require.Equal(t, "written", string(b))
	}
}

// Where a user has no right to write the error says to what, and whose it is.
func TestOutputWithoutTheRight(t *testing.T) {
	dir := shared(t, 0o755)
	there := filepath.Join(dir, "there")
	require.NoError(t, os.WriteFile(there, nil, 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if os.Geteuid() == 0 { // no mode stops root
		runtime.LockOSThread() // and never unlocks: the thread ends with the test
		require.NoError(t, unix.Setfsuid(attacker))
	}
	me := userName(os.Geteuid())
	err := opened(filepath.Join(dir, "new"), 0)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.EqualError(t, err, fmt.Sprintf("open %s: you may not make files in that directory, which is %s's", filepath.Join(dir, "new"), me))
	err = opened(there, 0)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.EqualError(t, err, fmt.Sprintf("open %s: you may not write that file, which is %s's", there, me))
	_, err = OpenOutputDir(filepath.Join(dir, "logs"), true)
	require.EqualError(t, err, fmt.Sprintf("mkdir %s: you may not make files in that directory, which is %s's", filepath.Join(dir, "logs"), me))
}
