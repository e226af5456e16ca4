package stage_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/bootstrap"
	"github.com/golaunch/golaunch/stage"
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

// What an agent of this build, or of another, does for its starter.
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

// A login shell of any kind runs an installed agent that is the account's own
// without the script, and the script where there is none, or one of somebody
// else.
func TestLoginShellRunsItsOwnAgent(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "dash", "bash", "busybox sh", "ksh", "mksh", "zsh", "csh", "tcsh", "fish"} {
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

// What stands there may be another build, or another program: the error lets
// the caller try again with a copy.
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
	for _, stamp := range []string{fmt.Sprint(size+1, " ", mtime), fmt.Sprint(size, " ", mtime-1)} {
		said.Reset()
		require.ErrorContains(t, stage.Accept(&said, "ab cd "+stamp), "own executable is another")
		require.Equal(t, "abcd other\n", said.String())
	}
	for _, about := range []string{"", "ab cd", "ab cd 1", "ab cd 1 2 3"} {
		said.Reset()
		require.ErrorContains(t, stage.Accept(&said, about), "are needed")
		require.Empty(t, said.String())
	}
}
