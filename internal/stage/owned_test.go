package stage

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file counts as its user's own only if nobody else can write it or put
// something else in its place.
func TestOwned(t *testing.T) {
	wide := filepath.Join(t.TempDir(), "wide")
	require.NoError(t, os.Mkdir(wide, 0o700))
	require.NoError(t, os.Chmod(wide, 0o777))
	bin := filepath.Join(wide, "bin")
	path := filepath.Join(bin, "golaunch")
	link := filepath.Join(bin, "link")
	me := os.Geteuid()
	for _, x := range []struct {
		name      string
		dir, file os.FileMode
		want      [2]bool // of the directory, of the file
	}{
		{name: "ours", dir: 0o755, file: 0o755, want: [2]bool{true, true}},
		{name: "a file that the group may write", dir: 0o755, file: 0o775, want: [2]bool{true, false}},
		{name: "a file that others may write", dir: 0o755, file: 0o757, want: [2]bool{true, false}},
		{name: "a directory that the group may write", dir: 0o775, file: 0o755, want: [2]bool{false, true}},
		{name: "a directory that others may write", dir: 0o757, file: 0o755, want: [2]bool{false, true}},
	} {
		require.NoError(t, os.RemoveAll(bin))
		require.NoError(t, os.Mkdir(bin, 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o700))
		require.NoError(t, os.Symlink(path, link))
		require.NoError(t, os.Chmod(path, x.file))
		require.NoError(t, os.Chmod(bin, x.dir))
		require.Equal(t, x.want, [2]bool{safe(bin, me, 0), safe(path, me)}, x.name)
		require.False(t, safe(link, me), "a link")
		require.False(t, safe(path, me+1), "of somebody else")
		require.False(t, owned(path), "below a directory that all may write")
	}
	require.False(t, owned(filepath.Join(bin, "gone")))
	if me == 0 {
		require.True(t, owned("/usr/bin/env"))
	}
}

// To an ordinary account what other users may exchange is not its own.
func TestConditionForAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can be two other users")
	}
	const victim, attacker = 65534, 65533
	top, err := os.MkdirTemp("/tmp", "condition-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(top) })
	path := filepath.Join(top, "victim's", "golaunch")
	dir := filepath.Dir(path)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o700))
	condition, err := Installed{Path: path}.condition()
	require.NoError(t, err)
	for _, x := range []struct {
		name     string
		top      os.FileMode
		topOwner int
		dirOwner int
		want     bool
	}{
		{name: "a directory of root's above", top: 0o755, dirOwner: victim, want: true},
		{name: "one like /tmp", top: 0o777 | os.ModeSticky, dirOwner: victim, want: true},
		{name: "its own", top: 0o755, topOwner: victim, dirOwner: victim, want: true},
		{name: "one that all may write", top: 0o777, dirOwner: victim},
		{name: "another user's that both may write", top: 0o770, topOwner: attacker, dirOwner: victim},
		{name: "the file is in another user's directory", top: 0o755, dirOwner: attacker},
	} {
		require.NoError(t, os.Chown(path, victim, victim))
		require.NoError(t, os.Chown(dir, x.dirOwner, victim))
		require.NoError(t, os.Chmod(dir, 0o750))
		require.NoError(t, os.Chown(top, x.topOwner, victim))
		require.NoError(t, os.Chmod(top, x.top))
		for _, shell := range []string{"/bin/sh", "bash", "csh", "fish"} {
			if _, err := exec.LookPath(shell); err != nil {
				continue // the tests of the whole line say that it is missing
			}
			cmd := exec.Command(shell, "-c", "test "+condition+" && echo ours || echo not ours")
			cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: victim, Gid: victim}}
			out, err := cmd.Output()
			require.NoError(t, err)
			require.Equal(t, map[bool]string{true: "ours\n", false: "not ours\n"}[x.want], string(out), "%s, %s", x.name, shell)
		}
	}
}
