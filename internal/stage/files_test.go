package stage_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/stage"
)

// scratch makes a place that is ours alone and a directory to be made in it.
func scratch(t *testing.T) string {
	t.Helper()
	place := filepath.Join(t.TempDir(), "place")
	require.NoError(t, os.Mkdir(place, 0o700))
	return filepath.Join(place, "job")
}

func TestFilesArriveAsTheyWere(t *testing.T) {
	from := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		contents := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 5000), 1, 4).Draw(rt, "contents")
		var paths []string
		for i, c := range contents {
			path := filepath.Join(from, string(rune('a'+i)))
			mode := os.FileMode(0o644)
			if i%2 == 1 {
				mode = 0o755
			}
			require.NoError(rt, os.WriteFile(path, c, 0o600))
			require.NoError(rt, os.Chmod(path, mode))
			paths = append(paths, path)
		}
		out, err := stage.OpenFiles(paths)
		require.NoError(rt, err)
		defer out.Close()
		dir := scratch(t)
		in, err := stage.NewIncoming([]string{dir}, out.List())
		require.NoError(rt, err)
		defer os.RemoveAll(dir)
		ends := 0
		err = out.Send(func(b []byte) error {
			_, err := in.Write(b)
			return err
		}, func(sum []byte) error {
			last, err := in.End(sum)
			ends++
			require.Equal(rt, ends == len(paths), last)
			return err
		})
		require.NoError(rt, err)
		require.Equal(rt, dir, in.Dir())
		for i, c := range contents {
			path := filepath.Join(dir, filepath.Base(paths[i]))
			got, err := os.ReadFile(path)
			require.NoError(rt, err)
			require.Equal(rt, string(c), string(got))
			info, err := os.Stat(path)
			require.NoError(rt, err)
			require.Equal(rt, []os.FileMode{0o600, 0o700}[i%2], info.Mode())
			require.Equal(rt, paths[i], filepath.Join(from, out.Named(paths[i])))
		}
		info, err := os.Stat(dir)
		require.NoError(rt, err)
		require.Equal(rt, os.ModeDir|0o700, info.Mode())
	})
}

func TestFilesThatCannotTravel(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/sub", 0o755))
	require.NoError(t, os.WriteFile(dir+"/x", nil, 0o600))
	require.NoError(t, os.WriteFile(dir+"/sub/x", nil, 0o600))
	require.NoError(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	for _, x := range []struct {
		paths []string
		says  string
	}{
		{[]string{dir + "/none"}, "none: no such file or directory"},
		{[]string{dir + "/sub"}, "is a directory"},
		{[]string{dir + "/pipe"}, "no regular file"},
		{[]string{dir + "/x", dir + "/sub/x"}, "would both be x"},
	} {
		_, err := stage.OpenFiles(x.paths)
		require.ErrorContains(t, err, x.says)
	}
}

// A file that changes while it is read must not arrive as a mixture.
func TestAFileThatChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, x := range []struct {
		size int64
		says string
	}{{5, "became shorter"}, {20, "grew"}} {
		require.NoError(t, os.WriteFile(path, make([]byte, 10), 0o600))
		out, err := stage.OpenFiles([]string{path})
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, x.size))
		ignore := func([]byte) error { return nil }
		require.ErrorContains(t, out.Send(ignore, ignore), x.says)
		out.Close()
	}
}

func TestDamageIsSeen(t *testing.T) {
	whole := sha256.Sum256([]byte("content"))
	files := []stage.File{{Name: "f", Size: 7}}
	for _, x := range []struct {
		name, content string
		sum           []byte
		says          string
	}{
		{name: "another byte", content: "c0ntent", sum: whole[:], says: "damaged on the way"},
		{name: "cut short", content: "conten", sum: whole[:], says: "1 of its 7 bytes are missing"},
		{name: "too long", content: "contents", sum: whole[:], says: "more bytes arrived"},
		{name: "no sum", content: "content", says: "damaged on the way"},
	} {
		t.Run(x.name, func(t *testing.T) {
			in, err := stage.NewIncoming([]string{scratch(t)}, files)
			require.NoError(t, err)
			defer in.Close()
			if _, err = in.Write([]byte(x.content)); err == nil {
				_, err = in.End(x.sum)
			}
			require.ErrorContains(t, err, x.says)
		})
	}
	in, err := stage.NewIncoming([]string{scratch(t)}, files)
	require.NoError(t, err)
	_, err = in.Write([]byte("content"))
	require.NoError(t, err)
	last, err := in.End(whole[:])
	require.NoError(t, err)
	require.True(t, last)
	_, err = in.Write([]byte("x"))
	require.ErrorContains(t, err, "after the last file")
}

func TestListsOfFilesThatABrokenPeerMaySend(t *testing.T) {
	for _, files := range [][]stage.File{
		{{Name: "../f"}}, {{Name: ".."}}, {{Name: ""}}, {{Name: "a\x00b"}}, {{Name: strings.Repeat("x", 256)}},
		{{Name: "f"}, {Name: "f"}}, {{Name: "f", Size: -1}}, {{Name: "f", Size: 1 << 62}, {Name: "g", Size: 1 << 62}},
		make([]stage.File, stage.MaxFiles+1),
	} {
		dir := scratch(t)
		_, err := stage.NewIncoming([]string{dir}, files)
		require.Error(t, err)
		require.NoDirExists(t, dir)
	}
}

// Of several places the first that will do is used; those that will not are
// left as they were, and named where none will.
func TestPlacesForFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: mounts need root")
	}
	place := func(name, options string) string {
		dir := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		if options != "" {
			out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "none", dir).CombinedOutput()
			if err != nil {
				t.Skipf("skipped: no mounts here: %v: %s", err, out)
			}
			t.Cleanup(func() { exec.Command("umount", dir).Run() })
		}
		return filepath.Join(dir, "job")
	}
	full, noexec, readonly := place("full", "size=64k,mode=700"), place("noexec", "noexec,mode=700"), place("readonly", "ro,mode=700")
	shared, missing, good := place("shared", ""), filepath.Join(t.TempDir(), "none", "job"), place("good", "")
	require.NoError(t, os.Chmod(filepath.Dir(shared), 0o777))
	program := []stage.File{{Name: "app", Size: 1 << 20, Exec: true}}

	in, err := stage.NewIncoming([]string{missing, shared, readonly, noexec, full, good}, program)
	require.NoError(t, err)
	require.Equal(t, good, in.Dir())
	for _, dir := range []string{missing, shared, readonly, noexec, full} {
		require.NoDirExists(t, dir)
	}

	_, err = stage.NewIncoming([]string{missing, shared, readonly, noexec, full}, program)
	var none *stage.NoDirError
	require.ErrorAs(t, err, &none)
	require.False(t, none.NoExec)
	for _, says := range []string{"no directory takes 1.0 MiB: ", "/none: no such file", "/shared: others may remove files there",
		"/readonly: read-only file system", "/noexec: nothing may be executed there", "/full: no space left on device", "make room"} {
		require.ErrorContains(t, err, says)
	}

	denied := place("denied", "mode=1755")
	done := make(chan error)
	go func() { // ends with its thread, which has become another user's
		runtime.LockOSThread()
		_ = syscall.Setfsuid(12345)
		_, err := stage.NewIncoming([]string{denied}, program)
		done <- err
	}()
	err = <-done
	require.ErrorContains(t, err, "/denied: we may not write there (give the account the right to write in one of them")

	_, err = stage.NewIncoming([]string{noexec}, program)
	require.ErrorAs(t, err, &none)
	require.True(t, none.NoExec)
	in, err = stage.NewIncoming([]string{noexec}, []stage.File{{Name: "data", Size: 10}})
	require.NoError(t, err, "data needs no permission to execute")
	require.Equal(t, noexec, in.Dir())
}
