package proc

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// atTerminal starts a script as rank 0, at a terminal, beside a rank without one.
func (f *fixture) atTerminal(script string) {
	f.t.Helper()
	s := Spec{Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/sh", "-c", script}}}}
	require.NoError(f.t, f.Launch(s, []Child{{Rank: 0, Terminal: &unix.Window{Rows: 33, Columns: 132}}, {Rank: 1}}))
}

func TestTerminal(t *testing.T) {
	f := begin(t, Options{})
	f.atTerminal(`tty; test -t 0 && test -t 1 && test -t 2 && stty size <&1 && read line </dev/tty && echo got $line >&2; ls /proc/self/fd | wc -l; exit 3`)
	f.until("start", func() bool { return len(f.started) == 2 })
	assert.Equal(t, -1, f.started[0].Stderr)
	_, err := f.stdin[0].WriteString("hello\n")
	require.NoError(t, err)
	f.ends(2)
	assert.Regexp(t, `^(hello\r\n)?/dev/pts/\d+\r\n(hello\r\n)?33 132\r\n(hello\r\n)?got hello\r\n5\r\n$`, f.output(0))
	assert.Equal(t, exitStatus(3), f.exited[0].Status)
	assert.Equal(t, "not a tty\n5\n", f.output(1))
	f.finishes()
}

// Ctrl-C at the terminal interrupts the program in its foreground.
func TestTerminalInterrupts(t *testing.T) {
	f := begin(t, Options{})
	f.atTerminal(`test -t 0 || exit 0; trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done`)
	f.says(0, func(s string) bool { return strings.Contains(s, "ready") })
	_, err := f.stdin[0].Write([]byte{'C' & 0x1f})
	require.NoError(t, err)
	f.ends(2)
	assert.Equal(t, exitStatus(9), f.exited[0].Status)
	f.finishes()
}

// A shell at a terminal lives through SIGTERM, not through the terminal's end.
func TestTerminalHangsUp(t *testing.T) {
	f := begin(t, Options{})
	f.atTerminal(`trap '' TERM; trap 'exit 8' HUP; echo ready; while test -t 0; do sleep 0.01; done`)
	f.says(0, func(s string) bool { return strings.Contains(s, "ready") })
	require.NoError(t, f.Kill(time.Hour))
	f.ends(2)
	assert.Equal(t, exitStatus(8), f.exited[0].Status)
	f.finishes()
}

func TestTerminalAndPipeAreRefused(t *testing.T) {
	f := begin(t, Options{})
	err := f.Launch(Spec{Apps: []App{{Argv: []string{"true"}}}}, []Child{{StdinPipe: true, Terminal: &unix.Window{}}})
	require.ErrorContains(t, err, "rank 0: standard input is a terminal and a pipe")
	f.finishes()
}

// A rank that is unbuffered has a raw terminal for standard output alone, which controls
// nothing, and it goes on until the last process that has it lets go.
func TestUnbuffered(t *testing.T) {
	f := begin(t, Options{})
	script := `test -t 1 && ! test -t 0 && ! test -t 2 && ! (: </dev/tty) 2>/dev/null && stty size <&1
		printf 'a\n\003\004\r\t\377'; echo err >&2; (printf heir) & exit 3`
	s := Spec{Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Apps: []App{{Argv: []string{"/bin/sh", "-c", script}}}}
	require.NoError(t, f.Launch(s, []Child{{Rank: 0, Unbuffered: true, StdinPipe: true}, {Rank: 1, Unbuffered: true}}))
	f.until("start", func() bool { return len(f.started) == 2 })
	f.ends(2)
	for rank := range job.Rank(2) {
		<-f.stdout[rank].done
		<-f.stderr[rank].done
		assert.Equal(t, "24 80\na\n\x03\x04\r\t\xffheir", f.stdout[rank].String())
		assert.Equal(t, "err\n", f.stderr[rank].String())
		assert.Equal(t, exitStatus(3), f.exited[rank].Status)
	}
	f.finishes()
}
