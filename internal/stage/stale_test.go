package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Only directories of the script's that are older than process 1 go.
func TestRemoveStale(t *testing.T) {
	born, err := bornFirst("/proc")
	require.NoError(t, err)
	require.WithinRange(t, born, time.Unix(1e9, 0), time.Now().Add(time.Second))
	dir := t.TempDir()
	name := func(i int) string {
		return filepath.Join(dir, fmt.Sprintf("golaunch-%032x-01234567-89ab-cdef-0123-456789abcdef", i))
	}
	old := born.Add(-time.Hour)
	for i, when := range []time.Time{old, time.Now()} {
		require.NoError(t, os.Mkdir(name(i), 0o700))
		require.NoError(t, os.WriteFile(name(i)+"/nla", []byte("x"), 0o700))
		require.NoError(t, os.Chtimes(name(i), when, when))
	}
	require.NoError(t, os.WriteFile(name(2), nil, 0o600)) // no directory
	require.NoError(t, os.Chtimes(name(2), old, old))
	others := []string{"golaunch-files", strings.ToUpper(filepath.Base(name(10))), filepath.Base(name(3)) + "0"}
	for _, other := range others {
		require.NoError(t, os.Mkdir(filepath.Join(dir, other), 0o700))
		require.NoError(t, os.Chtimes(filepath.Join(dir, other), old, old))
	}
	RemoveStale(dir)
	require.NoDirExists(t, name(0))
	require.DirExists(t, name(1))
	require.FileExists(t, name(2))
	for _, other := range others {
		require.DirExists(t, filepath.Join(dir, other))
	}
	RemoveStale(dir + "/none")
}

func TestWhenProcessOneBegan(t *testing.T) {
	proc := t.TempDir()
	require.NoError(t, os.Mkdir(proc+"/1", 0o700))
	for stat, want := range map[string]string{
		"1 (a b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 250 57156": "",
		"1 (init) S 0 1": "3 fields",
		"1 (x) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 soon 57156": "start time",
	} {
		require.NoError(t, os.WriteFile(proc+"/1/stat", []byte(stat), 0o600))
		require.NoError(t, os.WriteFile(proc+"/stat", []byte("cpu 1 2\nbtime 1000\n"), 0o600))
		born, err := bornFirst(proc)
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, time.Unix(1002, 500_000_000).UTC(), born.UTC())
			continue
		}
		require.ErrorContains(t, err, want)
	}
}
