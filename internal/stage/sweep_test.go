package stage_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/stage"
)

// killer returns a command that does its work and then, the first time, kills the
// script that called it, directly or in a subshell.
func killer(work string, h *host, subshell bool) string {
	who := "kill -9 $PPID"
	if subshell {
		who = "read -r a b c script rest < /proc/$PPID/stat; kill -9 $script $PPID"
	}
	return fmt.Sprintf("mark='%s/killed'\n%s\n/bin/mkdir $mark 2> /dev/null || exit 0\n%s", h.inside, work, who)
}

// slowMkdir kills the script first, and does its work so late that a sweep that
// did not wait for it would be over.
const slowMkdir = `if /bin/mkdir $mark 2> /dev/null; then
	read -r a b c script rest < /proc/$PPID/stat; kill -9 $script; sleep 1
	/bin/mkdir "$@"; exec /bin/mkdir $mark/done
fi
exec /bin/mkdir "$@"`

// knows has dd tell the script that it can do what is wanted.
const knows = `case "$*" in *" count=0") exit 0;; esac; `

// Whenever the script is killed, what it has made is removed over the connection
// that is left.
func TestAKilledScriptLeavesNothing(t *testing.T) {
	for _, x := range []struct {
		name, command, work string
		subshell            bool
	}{
		{name: "when it made the directory", command: "mkdir", work: `/bin/mkdir "$@"`, subshell: true},
		{name: "while a slow command of it lives", command: "mkdir", work: slowMkdir, subshell: true},
		{name: "when it made the file", command: "chmod", work: `/bin/chmod "$@"`, subshell: true},
		{name: "while it copies", command: "dd", work: knows + `/usr/bin/head -c 1000`},
		{name: "when it has copied", command: "dd", work: knows + `/usr/bin/dd "$@"`},
	} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprint(x.name, ", keep ", keep), func(t *testing.T) {
				h := newHost(t)
				if keep {
					namespace(t, h, "mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /dev/shm")
				}
				h.command(t, x.command, killer(x.work, h, x.subshell))
				_, err := stage.Start(t.Context(), h, here, newSource(), nil, stage.Options{Keep: keep})
				wantError(t, err, false)
				require.DirExists(t, h.dir+"/killed")
				if x.work == slowMkdir {
					require.Eventually(t, func() bool { return slices.Contains(list(t, h.dir), "killed/done") }, patience, time.Millisecond)
				}
				require.Empty(t, list(t, h.run))
				for _, left := range list(t, h.home) {
					require.Contains(t, []string{".cache", fmt.Sprintf(".cache/golaunch-%d", uid(h))}, left)
				}
			})
		}
	}
}

// An agent that dies before it has removed its file is abandoned, and its file
// with it.
func TestAKilledAgentLeavesNothing(t *testing.T) {
	h, src := newHost(t), newSource()
	src.native = src.image("linux", src.native.Arch, "#!/bin/sh\nkill -9 $$\n")
	pipe, err := stage.Start(t.Context(), h, here, src, nil, stage.Options{})
	require.NoError(t, err)
	_, err = io.ReadAll(pipe)
	require.NoError(t, err)
	require.Len(t, list(t, h.run), 2, "the agent has not removed it")
	stage.Abandon(pipe)
	require.Empty(t, list(t, h.run))
}

// Names of directories end in what nobody can know: neither those for files, nor
// that of the agent, of which its command line tells the beginning.
func TestNamesCannotBeGuessed(t *testing.T) {
	seen := map[string]bool{}
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1")
	for range 2 {
		for _, dir := range stage.ScratchDirs("3.job") {
			secret, found := strings.CutPrefix(filepath.Base(dir), stage.ScratchPrefix+"3.job-")
			require.True(t, found, dir)
			require.GreaterOrEqual(t, len(secret), 26, "128 bits in base 32")
			seen[secret] = true
		}
	}
	require.Len(t, seen, 8)

	h, src := newHost(t), newSource()
	record := filepath.Join(h.dir, "words")
	h.prelude = `printf "%s\n" "$@" > ` + record
	_, words := start(t, h, src, nil, stage.Options{})
	name := filepath.Base(filepath.Dir(words[1]))
	told, err := os.ReadFile(record)
	require.NoError(t, err)
	parts := strings.SplitN(name, "-", 3)
	require.Len(t, parts, 3)
	require.Contains(t, string(told), parts[1][:16])
	require.Len(t, parts[2], 36, "a UUID")
	require.NotContains(t, string(told), parts[2])
}
