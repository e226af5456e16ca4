package proc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgramNeeds(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "tool"), shell, 0o755))
	for name, x := range map[string]struct {
		app App
		env []string
	}{
		"a path":                     {App{Argv: []string{"/bin/sh"}}, nil},
		"a path in its directory":    {App{Argv: []string{"bin/tool"}, Dir: dir}, nil},
		"along PATH":                 {App{Argv: []string{"tool"}}, []string{"PATH=/nowhere:" + dir + "/bin"}},
		"along a relative PATH":      {App{Argv: []string{"tool"}, Dir: dir}, []string{"PATH=x:bin"}},
		"in the directory, by PATH":  {App{Argv: []string{"tool"}, Dir: dir + "/bin"}, []string{"PATH=:/nowhere"}},
		"along Path":                 {App{Argv: []string{"tool"}, Path: "/nowhere:" + dir + "/bin"}, []string{"PATH=/x"}},
		"where there is no PATH set": {App{Argv: []string{"sh"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			needs, err := ProgramNeeds(x.app, x.env)
			require.NoError(t, err)
			assert.Contains(t, needs.Libraries, "libc.so.6")
			platform, err := LibraryPlatform(shell)
			require.NoError(t, err)
			assert.Equal(t, platform, needs.Platform)
		})
	}
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	damaged := filepath.Join(dir, "damaged")
	require.NoError(t, os.WriteFile(damaged, shell[:len(shell)/2], 0o755))
	for _, file := range []string{"/no/such/program", "no-such-program", dir, script, damaged} {
		needs, err := ProgramNeeds(App{Argv: []string{file}}, nil)
		assert.Error(t, err, file)
		assert.Empty(t, needs.Libraries)
	}
	_, err = LibraryPlatform([]byte("\x7fELF"))
	require.Error(t, err)
}

func TestLoadedLibrary(t *testing.T) {
	libc := func(name string) bool {
		return strings.HasPrefix(name, "libc.so.") || strings.HasPrefix(name, "libc-2")
	}
	cmd := exec.Command("/bin/sh", "-c", "sh -c 'echo here; read line; exit 0'; exit 0")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = stdout.Read(make([]byte, 5)) // both shells run
	require.NoError(t, err)
	assert.True(t, libc(LoadedLibrary(cmd.Process.Pid, libc)))
	assert.Empty(t, LoadedLibrary(cmd.Process.Pid, func(string) bool { return false }))
	assert.True(t, libc(LoadedLibrary(os.Getpid(), libc)), "of a child, as this program may be static")
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	assert.Empty(t, LoadedLibrary(cmd.Process.Pid, libc))
}

// Ranks of a launcher that a rank runs are not the rank's own program.
func TestLoadedLibraryOfAnotherLauncher(t *testing.T) {
	text, err := os.ReadFile("/bin/cat")
	require.NoError(t, err)
	library := filepath.Join(t.TempDir(), "libmpi.so.12") // a program is mapped like a library
	require.NoError(t, os.WriteFile(library, text, 0o755))
	match := func(name string) bool { return name == filepath.Base(library) }
	for name, x := range map[string]struct {
		script, want string
	}{
		"the rank's own":   {"$0; exit 0", "libmpi.so.12"},
		"with a variable":  {"OMP_NUM_THREADS=2 $0; exit 0", "libmpi.so.12"},
		"of a job":         {"GOLAUNCH_JOB=other $0; exit 0", ""},
		"of Hydra":         {"PMI_FD=9 $0; exit 0", ""},
		"of Open MPI":      {"OMPI_COMM_WORLD_SIZE=2 $0; exit 0", ""},
		"below its script": {"PMI_RANK=1 sh -c '$0; exit 0' $0; exit 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", x.script, library)
			cmd.Env = append(os.Environ(), "GOLAUNCH_JOB=this", "PMI_FD=3", "PMI_RANK=0", "PMI_SIZE=2")
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = stdin.Write([]byte("here"))
			require.NoError(t, err)
			_, err = io.ReadFull(stdout, make([]byte, 4)) // it runs
			require.NoError(t, err)
			assert.Equal(t, x.want, LoadedLibrary(cmd.Process.Pid, match))
			require.NoError(t, stdin.Close())
			require.NoError(t, cmd.Wait())
		})
	}
}
