package stage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A private directory is in the first place that has room.
func TestMakePrivate(t *testing.T) {
	place := t.TempDir()
	missing, here := filepath.Join(place, "missing", "a"), filepath.Join(place, "a")
	dir, err := MakePrivate([]string{missing, here}, 1)
	require.NoError(t, err)
	require.Equal(t, here, dir)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())

	_, err = MakePrivate([]string{missing, filepath.Join(place, "b")}, 1<<62)
	require.ErrorContains(t, err, "missing: no such file or directory; "+place+": no space left on device")
	_, err = MakePrivate([]string{here}, 1)
	require.ErrorContains(t, err, "file exists")
}
