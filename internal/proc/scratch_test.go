package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The job's directories go with its last process, whether the agent says so or
// is gone.
func TestScratchIsRemoved(t *testing.T) {
	for name, end := range map[string]func(*fixture){
		"finished":     func(f *fixture) { f.finishes() },
		"agent closes": func(f *fixture) { f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			place := t.TempDir()
			dir, missing := filepath.Join(place, "dir"), filepath.Join(place, "missing")
			require.NoError(t, os.Mkdir(dir, 0o700))
			f := begin(t, Options{})
			require.NoError(t, f.Scratch([]string{missing, dir}))
			f.shell("cd " + dir + "; mkdir sub; echo x > sub/file; chmod 500 sub; echo ready; exec sleep 1000")
			f.says(0, lines(1))
			require.DirExists(t, dir)
			end(f)
			require.NoDirExists(t, dir)
			require.Empty(t, f.notes)
		})
	}
}
