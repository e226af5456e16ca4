package stage

import (
	"os"
	"path/filepath"
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
		{"ours", 0o755, 0o755, [2]bool{true, true}},
		{"a file that the group may write", 0o755, 0o775, [2]bool{true, false}},
		{"a file that others may write", 0o755, 0o757, [2]bool{true, false}},
		{"a directory that the group may write", 0o775, 0o755, [2]bool{false, true}},
		{"a directory that others may write", 0o757, 0o755, [2]bool{false, true}},
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
