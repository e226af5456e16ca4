// Package filestest opens the files that tests read: those of the repository, and those
// that are the work of others and no part of it.
package filestest

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Open opens a file, unpacked where its name ends in .gz. It is closed with the test,
// which fails where there is none.
func Open(t testing.TB, path string) io.Reader {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	if !strings.HasSuffix(path, ".gz") {
		return file
	}
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	return unpacked
}

// Shared is Open for a file below the folder shared/data, which is in one of the folders
// above the test's. The test is skipped where there is none.
func Shared(t testing.TB, name string) io.Reader {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; dir != "/"; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared/data", name)
		if _, err := os.Stat(path); err == nil {
			return Open(t, path)
		}
	}
	t.Skipf("shared/data/%s is in no folder above: it is the work of others and no part of the repository", name)
	return nil
}
