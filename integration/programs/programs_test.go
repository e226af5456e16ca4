package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program is made anew when any of its sources changes, not its own alone.
func TestNativeIsMadeOfAllItsSources(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("skipped: no gcc; apt-get install gcc")
	}
	from, err := root()
	require.NoError(t, err)
	dir := t.TempDir()
	copied := func(name string) {
		text, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		to := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, text, 0o755))
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(to, old, old))
	}
	for _, name := range []string{"scripts/native.sh", "native/programs/pmiinfo.c", "native/libpmi/pmi.c", "native/programs/pmi1.h"} {
		copied(name)
	}
	headers, err := filepath.Glob(filepath.Join(from, "native", "libgolaunch", "*.h"))
	require.NoError(t, err)
	for _, name := range headers {
		copied(filepath.Join("native", "libgolaunch", filepath.Base(name)))
	}
	run := func() string {
		cmd := exec.Command(filepath.Join(dir, "scripts", "native.sh"), "native/programs/pmiinfo.c")
		cmd.Env = append(os.Environ(), "OUT="+filepath.Join(dir, "out"), "LIB="+filepath.Join(dir, "lib"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Contains(t, run(), "out/pmiinfo ")
	require.Empty(t, run(), "nothing has changed")
	for _, name := range []string{"native/libpmi/pmi.c", "native/programs/pmi1.h", "scripts/native.sh"} {
		later := time.Now().Add(time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), later, later))
		require.Contains(t, run(), "out/pmiinfo ", name)
		copied(name)
		require.Empty(t, run(), name)
	}
}

// A build that fails leaves nothing.
func TestMakeThatFails(t *testing.T) {
	t.Setenv(builtVariable, "")
	t.Setenv("GOOS", "nowhere")
	dir, err := Make()
	require.ErrorContains(t, err, "nowhere")
	require.NotEmpty(t, dir)
	require.NoDirExists(t, dir)
}

// Files that were built before are there as they were, programs executable.
func TestMakeOfWhatIsBuilt(t *testing.T) {
	from := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "lib", "golaunch"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "golaunch"), []byte("#!/bin/sh\necho built\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "lib", "golaunch", "x.so"), []byte("x"), 0o644))
	t.Setenv(builtVariable, from)
	dir, err := Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	out, err := exec.Command(filepath.Join(dir, "golaunch")).Output()
	require.NoError(t, err)
	require.Equal(t, "built\n", string(out))
	require.FileExists(t, filepath.Join(dir, "lib", "golaunch", "x.so"))

	t.Setenv(builtVariable, filepath.Join(from, "none"))
	dir, err = Make()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoDirExists(t, dir)
}
