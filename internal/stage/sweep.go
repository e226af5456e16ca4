package stage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// RemoveScript returns a script for a host's /bin/sh that removes directories that dead
// processes of ours have left where agents and files are staged. Their names match
// glob, in which the script's own words may stand; only the maker of such a name knew
// its end.
//
// A match is removed only if it is a directory, belongs to us and lets nobody
// else write: then others can neither have made it nor have moved it there, and
// nothing below it can be exchanged. Links are not followed.
func RemoveScript(glob string) string {
	return strings.Join(strings.Fields(`
u=$(id -u);
for c in "$XDG_RUNTIME_DIR" /dev/shm /tmp "${HOME:+$HOME/.cache}"; do
	if [ "$c" ]; then
		find "$c/" -maxdepth 1 -type d -user "$u" ! -perm -020 ! -perm -002 -name "`+glob+`"
			"(" -exec chmod -R u+rwx {} ";" -o -name "*" ")" -exec rm -rf {} ";";
	fi;
done 2> /dev/null
`), " ")
}

// sweepScript ends the remains of a start, by its magic: first its processes (the login
// shell, script, its commands, or the agent), even stopped ones, then the directory of
// an agent, or the part of one that was to be kept.
//
// Its words are the halves of the magic in the wrong order, so that it does not
// find itself. A process that becomes another one has no command line for a moment:
// only two scans in a row that find nothing are believed, and 50 are enough, for
// nobody may be left to end the script. Where read meets the zero bytes between
// words, it leaves them out, in dash, bash and busybox alike; it costs no process.
var sweepScript = sync.OnceValue(func() string {
	return strings.Join(strings.Fields(`
n=0; scans=0;
while [ $n -lt 2 ] && [ $scans -lt 50 ]; do
	n=$((n+1)); scans=$((scans+1));
	for p in /proc/[0-9]*; do
		l=;
		if [ -O "$p" ]; then read -r l < "$p/cmdline"; fi;
		case $l in *"$2"*"$1"*) kill -9 "${p#/proc/}" && n=0;; esac;
	done;
done 2> /dev/null;
`), " ") + " " + RemoveScript("golaunch-$2$1-*") + "; " + strings.Join(strings.Fields(`
for c in "$XDG_RUNTIME_DIR" /dev/shm /tmp "${HOME:+$HOME/.cache}"; do
	if [ "$c" ]; then find "$c/golaunch-$u" -maxdepth 1 -type f -user "$u" -name "part-$2$1" -exec rm -f {} ";"; fi;
done 2> /dev/null
`), " ")
})

// sweepTimeout bounds sweep.
const sweepTimeout = 5 * time.Second

// sweep ends the processes and removes the files of a start that is given up, over its
// connection, which must be open still.
//
// If the host may have no shell, the agent at agentPath does it.
func sweep(pipe bootstrap.Pipe, magic, agentPath string) {
	c, ok := pipe.(bootstrap.Companion)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if agentPath != "" {
		_ = c.Also(ctx, []string{agentPath, EndStartWord, magic[16:] + " " + magic[:16]}) // as below
		return
	}
	// If it fails, the connection is gone: processes that are not stopped have seen
	// that, and cleaned up.
	_ = c.Also(ctx, []string{"/bin/sh", "-c", sweepScript(), "golaunch", magic[16:], magic[:16]})
}

// Abandon closes the pipe of an agent that Start returned and that is given up. First
// the agent is ended, as by Sweep.
func Abandon(pipe bootstrap.Pipe) {
	Sweep(pipe)
	pipe.Close()
}

// Sweep ends the agent of a pipe that Start returned, which may be stopped and would
// not see that the pipe is closed, and removes files that it may have left: it removes
// its own file first of all. That takes five seconds at most, and is done once.
func Sweep(pipe bootstrap.Pipe) {
	if s, ok := pipe.(*staged); ok {
		s.swept.Do(func() { sweep(s.Pipe, s.magic, s.agentPath) })
	}
}

// EndStartWord is the option of an agent that is to end another one, whose start the next
// word names: the halves of its magic in the wrong order, as for sweepScript.
const EndStartWord = "--end-start"

// EndStart ends the processes of this user's with the magic of a start, as the word after
// EndStartWord has it, in their command lines.
func EndStart(word string) error {
	second, first, ok := strings.Cut(word, " ")
	if len(first) != 16 || len(second) != 16 || !ok {
		return fmt.Errorf("%s %q: two halves of the magic are needed", EndStartWord, word)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		pid, numeric := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && numeric == nil && bytes.Contains(line, []byte(first+" "+second)) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // another user's stays
		}
	}
	return nil
}
