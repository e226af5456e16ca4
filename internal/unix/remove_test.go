package unix

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Attacker and victim: neither is root, who may do all.
const (
	victim   = 65534
	attacker = 65533
)

// asUser has the test binary run a helper as somebody else.
func asUser(uid uint32, words ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{helperWord}, words...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL,
	}
	return cmd
}

// stickyPlace returns a directory like /tmp, in which all may make something.
func stickyPlace(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can be two other users")
	}
	place, err := os.MkdirTemp("/tmp", "place-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	require.NoError(t, os.Chmod(place, 0o777|os.ModeSticky))
	return place
}

// own makes a directory of a user's.
func own(t *testing.T, dir string, uid int, mode os.FileMode) string {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, uid, uid))
	require.NoError(t, os.Chmod(dir, mode))
	return dir
}

func TestRemoveTree(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	require.NoError(t, os.Chmod(outside, 0o755))
	dir := filepath.Join(t.TempDir(), "dir")
	require.NoError(t, RemoveTree(dir), "there is none")

	sub := filepath.Join(dir, "sub", "below")
	require.NoError(t, os.MkdirAll(sub, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(sub, "file"), nil, 0))
	require.NoError(t, os.Symlink(outside, filepath.Join(sub, "link")))
	require.NoError(t, os.Symlink(kept, filepath.Join(dir, "link")))
	for _, d := range []string{sub, filepath.Dir(sub), dir} {
		require.NoError(t, os.Chmod(d, 0))
	}
	require.NoError(t, RemoveTree(dir))
	require.NoDirExists(t, dir)
	require.FileExists(t, kept)
	info, err := os.Stat(outside)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())

	for name, plant := range map[string]func() error{
		"a link":  func() error { return os.Symlink(outside, dir) },
		"no link": func() error { return os.WriteFile(dir, nil, 0o600) },
	} {
		require.NoError(t, plant(), name)
		require.ErrorIs(t, RemoveTree(dir), fs.ErrPermission, name)
		require.FileExists(t, kept, name)
		require.NoError(t, os.Remove(dir), name)
	}
}

// An ordinary user, for whom permissions count, can remove what its processes
// closed to it.
func TestRemoveTreeOfAnOrdinaryUser(t *testing.T) {
	dir := own(t, filepath.Join(stickyPlace(t), "dir"), victim, 0o700)
	below := own(t, filepath.Join(own(t, dir+"/sub", victim, 0o700), "below"), victim, 0o500)
	require.NoError(t, os.WriteFile(below+"/file", nil, 0o400))
	for _, d := range []string{below, filepath.Dir(below), dir} {
		require.NoError(t, os.Chmod(d, 0))
	}
	out, err := asUser(victim, "remove", dir, "1").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoDirExists(t, dir)
}

// An entry of another user under the name stays, of any kind and however often it
// changes in between.
func TestRemoveTreeOfAnotherUser(t *testing.T) {
	place := stickyPlace(t)
	home := own(t, filepath.Join(place, "home"), victim, 0o755)
	file := own(t, filepath.Join(home, "sub"), victim, 0o755)
	name := own(t, filepath.Join(place, "name"), attacker, 0o777)
	own(t, filepath.Join(name, "sub"), attacker, 0o700)
	other := filepath.Join(place, "other")
	require.NoError(t, os.Symlink(home, other))
	require.NoError(t, os.Lchown(other, attacker, attacker))

	swaps := asUser(attacker, "swap", name, other)
	require.NoError(t, swaps.Start())
	defer func() { _ = swaps.Process.Kill(); _ = swaps.Wait() }()
	out, err := asUser(victim, "remove", name, "20000").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, dir := range []string{home, file} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "%s was changed through a link", dir)
	}
}

// removeHelper removes a directory that may be somebody else's, again and again.
func removeHelper(path, times string) error {
	var n int
	if _, err := fmt.Sscan(times, &n); err != nil {
		return err
	}
	for range n {
		err := RemoveTree(path)
		if n == 1 {
			return err
		}
	}
	return nil
}

// swapHelper exchanges two names until it is killed.
func swapHelper(a, b string) error {
	for {
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
	}
}
