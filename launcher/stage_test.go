package launcher

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// A program that is one of the files, however it is named, runs from there.
func TestStagedPrograms(t *testing.T) {
	here, other := t.TempDir(), t.TempDir()
	app := filepath.Join(here, "app")
	require.NoError(t, os.WriteFile(app, []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "app"), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.Symlink(app, filepath.Join(here, "link")))
	t.Setenv("PATH", here)
	only := filepath.Join(other, "only")
	require.NoError(t, os.WriteFile(only, []byte("#!/bin/sh\n"), 0o755))
	for _, x := range []struct{ program, dir, want string }{
		{app, "/", "app"},
		{"./app", here, "app"},
		{"./app", "/no/such/dir", "app"}, // as seen from here
		{"./link", here, "app"},
		{"app", other, "app"}, // along PATH
		{filepath.Join(other, "app"), here, ""},
		{"./app", other, ""}, // the ranks find another
		{"./none", here, ""},
		{"sh", here, ""},
		{"only", other, "only"}, // in no directory of PATH
		{"none", here, ""},
	} {
		s, err := newStaging(&Options{Programs: ProgramOptions{Dir: here}, Boot: BootOptions{Stage: []string{app, only}}})
		require.NoError(t, err)
		require.Equal(t, []string{x.want}, s.programs([]job.App{{Argv: []string{x.program}, Dir: x.dir}}), "%s in %s", x.program, x.dir)
		s.files.Close()
	}
	s, err := newStaging(&Options{Programs: ProgramOptions{Dir: here}})
	require.NoError(t, err)
	require.Empty(t, s.programs([]job.App{{Argv: []string{app}, Dir: here}}), "nothing is brought")

	_, err = newStaging(&Options{Boot: BootOptions{Stage: []string{"/no/such/file"}}})
	require.Equal(t, job.ExitUsage, job.ExitOf(err, job.ExitLauncher), "it is the command line that is wrong")
	require.EqualError(t, err, "--stage: /no/such/file: no such file or directory")
}
