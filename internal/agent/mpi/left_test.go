package mpi

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is removed is the job's, by its exact number, and this user's; what others
// have put under such names stays.
func TestOnlyTheJobsOpenMPIFilesAreRemoved(t *testing.T) {
	shm, tmp, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	uid := os.Geteuid()
	file := func(path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	top := filepath.Join(tmp, fmt.Sprintf("ompi.n001.%d", uid))
	gone := []string{
		file(filepath.Join(shm, fmt.Sprintf("vader_segment.n001.%d.3c0a6155.0", uid))),
		file(filepath.Join(shm, "vader_segment.n001.example.org.3c0a6155.12")), // of 4.0
		file(filepath.Join(top, "jf.15370/24917/3/segment")),
	}
	kept := []string{
		file(filepath.Join(shm, "vader_segment.n001.3c0a6156.0")),
		file(filepath.Join(shm, "vader_segment.n001.3c0a6155.x")),
		file(filepath.Join(shm, "vader_segment.3c0a6155.0")),
		file(filepath.Join(shm, "other_segment.n001.3c0a6155.0")),
		file(filepath.Join(top, "jf.15370/24918/0/segment")),
		file(filepath.Join(tmp, fmt.Sprintf("ompi.n001.%d", uid+1), "jf.15370/24917/0/segment")),
		file(filepath.Join(foreign, "jf.15370/24917/0/segment")),
	}
	link := filepath.Join(tmp, fmt.Sprintf("ompi.n002.%d", uid))
	require.NoError(t, os.Symlink(foreign, link))
	for range 2 { // again: nothing is there any more
		openMPILeaves("1007313237", []string{"TMP=/nowhere", "TMPDIR=" + tmp, "TEMP=/no"}).remove(shm)
	}
	for _, path := range gone {
		require.NoFileExists(t, path)
	}
	for _, path := range kept {
		require.FileExists(t, path)
	}
	require.NoDirExists(t, filepath.Join(top, "jf.15370/24917"))
	require.NoError(t, os.RemoveAll(filepath.Join(top, "jf.15370/24918")))
	openMPILeaves("1007313237", []string{"TMPDIR=" + tmp}).remove(shm)
	require.NoDirExists(t, top, "nothing is left in it")
	require.Equal(t, openMPILeft{7, "/tmp"}, openMPILeaves("7", []string{"TMPDIR=relative", "X=1"}))
}
