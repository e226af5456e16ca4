package stage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/stage"
)

// loginHost is a host whose login shell interprets what it is to run.
type loginHost struct {
	*host
	login []string
}

func (l *loginHost) StartLine(ctx context.Context, h bootstrap.Host, line string) (bootstrap.Pipe, error) {
	argv := append([]string{"env"}, l.env...)
	argv = append(argv, l.login...)
	return l.Piper.Start(ctx, h, append(argv, "-c", line))
}

// Actions of an agent of this build, or of another, for its starter.
const (
	thisBuild = `[ "$1" = --installed ] && [ "$(cat /proc/self/timerslack_ns)" = 1000000 ] || exit 1
case $LOGIN in *csh) ;; *) [ "$GOMAXPROCS" = 1 ] || exit 1;; esac
set -- $2 "$@"; echo "$1$2 have"; shift 6
printf "agent"; printf " <%s>" "$@"; echo
exec cat
`
	anotherBuild = `set -- $2; echo "$1$2 other"`
	notEvenOurs  = `echo "unknown option $1" >&2; exit 2`
)

func installedAgent(t *testing.T, program string) stage.Installed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golaunch it's")
	program = "#!/bin/sh\n" + program
	require.NoError(t, os.WriteFile(path, []byte(program), 0o700))
	return stage.Installed{Path: path, Size: int64(len(program)), MTime: 1, Owned: true}
}

var loginShells = []string{"/bin/sh", "dash", "bash", "busybox sh", "ksh", "mksh", "zsh", "csh", "tcsh", "fish"}

// A login shell of any kind runs an installed agent that is the account's own
// without the script, and the script where there is none, or one of somebody
// else.
func TestLoginShellRunsItsOwnAgent(t *testing.T) {
	for _, shell := range loginShells {
		t.Run(shell, func(t *testing.T) {
			login := strings.Fields(shell)
			if _, err := exec.LookPath(login[0]); err != nil {
				t.Skipf("skipped: shell not installed: %v", err)
			}
			src, order := newSource(), []string{"two words", "it's", "$HOME", "*"}
			h := &loginHost{newHost(t), login}
			h.env = append(h.env, "LOGIN="+login[0])
			own := installedAgent(t, thisBuild)
			pipe, words := start(t, h, src, order, stage.Options{Installed: own})
			require.Equal(t, order, words)
			roundTrip(t, pipe)
			require.Empty(t, pipe.Diagnostics(), "no shell has anything to say")

			gone := own
			gone.Path += " no more"
			pipe, words = start(t, h, src, order, stage.Options{Installed: gone})
			require.Equal(t, append([]string{"--hash", src.native.Hash}, order...), words[2:])
			roundTrip(t, pipe)

			if os.Getuid() != 0 {
				return
			}
			require.NoError(t, os.Chown(own.Path, 12345, -1))
			pipe, words = start(t, h, src, order, stage.Options{Installed: own})
			require.Equal(t, append([]string{"--hash", src.native.Hash}, order...), words[2:])
			roundTrip(t, pipe)
		})
	}
}

// Files that another user can put in the place of an installed agent, and other
// programs of the account's, are not run, neither by the login shell nor by the script.
func TestPlantedAgents(t *testing.T) {
	for _, shell := range loginShells {
		t.Run(shell, func(t *testing.T) {
			login := strings.Fields(shell)
			if _, err := exec.LookPath(login[0]); err != nil {
				t.Skipf("skipped: shell not installed: %v", err)
			}
			for name, plant := range map[string]func(top, other string) error{
				"the file is a link": func(top, other string) error { return os.Symlink(other+"/golaunch", top+"/up/bin/golaunch") },
				"its directory is a link": func(top, other string) error {
					return errors.Join(os.Remove(top+"/up/bin"), os.Symlink(other, top+"/up/bin"))
				},
				"a directory above is a link": func(top, other string) error {
					return errors.Join(os.Rename(top+"/up/bin", top+"/bin"), os.Remove(top+"/up"), os.Symlink(top, top+"/up"), os.Link(other+"/golaunch", top+"/bin/golaunch"))
				},
				"its directory is another user's": func(top, other string) error {
					return errors.Join(os.Link(other+"/golaunch", top+"/up/bin/golaunch"), os.Chown(top+"/up/bin", 12345, -1))
				},
			} {
				if strings.Contains(name, "another user") && os.Getuid() != 0 {
					continue // only root can give a directory away
				}
				h, src, top := newHost(t), newSource(), t.TempDir()
				require.NoError(t, os.MkdirAll(top+"/up/bin", 0o700))
				ours := installedAgent(t, "touch '"+top+"/run'\n"+anotherBuild)
				other := filepath.Join(filepath.Dir(ours.Path), "golaunch")
				require.NoError(t, os.Rename(ours.Path, other))
				info, err := os.Stat(other)
				require.NoError(t, err)
				require.NoError(t, plant(top, filepath.Dir(other)), name)
				ours.Path = top + "/up/bin/golaunch"
				if !strings.Contains(name, "above") { // the script takes the way to what else is the very file
					ours.MTime = info.ModTime().Unix()
				}

				pipe, words := start(t, &loginHost{h, login}, src, nil, stage.Options{Installed: ours})
				require.Equal(t, []string{"--hash", src.native.Hash}, words[2:], name)
				roundTrip(t, pipe)
				require.NoFileExists(t, top+"/run", name)
			}
		})
	}
}

// The installed file may be another build, or another program: the error lets the
// caller try again with a copy.
func TestAnotherBuildIsInstalled(t *testing.T) {
	h := &loginHost{newHost(t), []string{"/bin/sh"}}
	for program, want := range map[string]string{
		anotherBuild: "there is another build",
		notEvenOurs:  "ended before it said a word",
	} {
		_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Installed: installedAgent(t, program)})
		wantError(t, err, false, want)
	}
}

// Accept knows the file that runs, whatever its name is.
func TestAccept(t *testing.T) {
	info, err := os.Stat("/proc/self/exe")
	require.NoError(t, err)
	var said bytes.Buffer
	size, mtime := info.Size(), info.ModTime().Unix()
	require.NoError(t, stage.Accept(&said, fmt.Sprint("ab cd ", size, " ", mtime)))
	require.Equal(t, "abcd have\n", said.String())
	said.Reset()
	require.NoError(t, stage.Accept(&said, "ab cd"), "whatever build it is")
	require.Equal(t, "abcd have\n", said.String())
	for _, stamp := range []string{fmt.Sprint(size+1, " ", mtime), fmt.Sprint(size, " ", mtime-1)} {
		said.Reset()
		require.ErrorContains(t, stage.Accept(&said, "ab cd "+stamp), "own executable is another")
		require.Equal(t, "abcd other\n", said.String())
	}
	for _, about := range []string{"", "ab", "ab cd 1", "ab cd 1 2 3"} {
		said.Reset()
		require.ErrorContains(t, stage.Accept(&said, about), "are needed")
		require.Empty(t, said.String())
	}
}
