package launcher

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	ownunix "github.com/golaunch/golaunch/internal/unix"
)

// openTerminal returns a terminal of so many columns, and its user's end.
func openTerminal(t *testing.T, columns uint16) (user, tty *os.File) {
	t.Helper()
	user, tty, err := ownunix.OpenPTY()
	if err != nil {
		t.Skipf("skipped: no terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close(); tty.Close() })
	fd := int(user.Fd())
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	return user, tty
}

func TestStatusLine(t *testing.T) {
	user, tty := openTerminal(t, 30)
	t.Setenv("TERM", "xterm")
	sees := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(user, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	p := newReporter(tty, false)
	ranks := terminal{IO{Stdout: tty}, true, p}
	p.status.erase() // nothing is there
	p.status.draw("3 of 4 nodes up, and more than fits")
	sees("\r\x1b[Kgolaunch: 3 of 4 nodes up, an")
	p.status.draw("4\nof 4\x1b[2J")
	sees("\r\x1b[Kgolaunch: 4 of 4?[2J")
	p.Say("something")
	sees("\r\x1b[Kgolaunch: something\r\n")
	p.Say("again")
	sees("golaunch: again\r\n")
	p.status.draw("x")
	sees("\r\x1b[Kgolaunch: x")
	require.NoError(t, ranks.Write(stdio.Stdout, []byte("of a rank\n")))
	sees("\r\x1b[Kof a rank\r\n")
	p.status.draw("never again")
	p.Say("end")
	sees("golaunch: end\r\n")
}

func TestStatusLineOnlyForPeople(t *testing.T) {
	_, tty := openTerminal(t, 80)
	t.Setenv("TERM", "xterm")
	require.NotNil(t, newReporter(tty, false).status)
	require.Nil(t, newReporter(tty, true).status, "with --quiet")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.Nil(t, newReporter(w, false).status)
	require.Nil(t, newReporter(io.Discard, false).status)
	for _, term := range []string{"", "dumb"} {
		t.Setenv("TERM", term)
		require.Nil(t, newReporter(tty, false).status, "TERM=%s", term)
	}
}

func TestProgressLine(t *testing.T) {
	name := func(h job.HostIndex) string { return fmt.Sprint("n", h) }
	p := overlay.Progress{Host: job.NoHost}
	require.Equal(t, "0 of 1 node up, 0 of 1 rank", progressLine(p, 1, 1, name))
	p.Wait(job.NoHost, time.Hour, bootstrap.Stage)
	p.Wait(3, 4500*time.Millisecond, "")
	p.Merge(overlay.Progress{Nodes: 2, Ranks: 5, Host: 2, Age: time.Second})
	p.Merge(overlay.Progress{Nodes: 1, Host: job.NoHost, Age: time.Hour})
	require.Equal(t, "3 of 8 nodes up, 5 of 16 ranks; waiting for n3 (4 s)", progressLine(p, 8, 16, name))
	p.Merge(overlay.Progress{Host: 5, Age: 5 * time.Second, Step: bootstrap.Authenticate})
	require.Equal(t, "3 of 8 nodes up, 5 of 16 ranks; waiting for n5 (5 s: authenticate)", progressLine(p, 8, 16, name))
	p = overlay.Progress{Host: 5, Age: 2 * time.Second, Step: bootstrap.Authenticate}
	require.Equal(t, "0 of 8 nodes up, 0 of 16 ranks; waiting for n5 (2 s)", progressLine(p, 8, 16, name))
}

// A stopped terminal holds up the output of ranks there, and neither golaunch's own
// words elsewhere nor the end of its raw mode.
func TestAStoppedTerminal(t *testing.T) {
	user, tty := openTerminal(t, 80)
	var said strings.Builder
	p := newReporter(&said, false)
	written := make(chan error, 1)
	go func() { // ends with the terminal
		_, err := p.write(tty, make([]byte, 1<<20))
		written <- err
	}()
	_, err := user.Read(make([]byte, 1)) // the write has begun
	require.NoError(t, err)
	changed := make(chan bool, 1)
	go func() { // ends at once
		p.Say("told to terminate")
		_ = p.changeMode(true, func() error { return nil })
		changed <- p.raw
	}()
	select {
	case raw := <-changed:
		require.True(t, raw)
	case err := <-written:
		require.Fail(t, "the terminal has taken all", "%v", err)
	case <-time.After(time.Minute):
		require.Fail(t, "golaunch waits for the terminal")
	}
	require.Equal(t, "golaunch: told to terminate\n", said.String())
	tty.Close()
	require.Error(t, <-written)
}

// A start on more hosts shows how far it is, though one has ended before.
func TestProgressOfAJobBegunAnew(t *testing.T) {
	for _, again := range []bool{true, false} {
		t.Setenv("TERM", "xterm")
		_, tty := openTerminal(t, 80)
		r, _ := launchedRun(t)
		r.report, r.left = newReporter(tty, false), true
		r.decided, r.status = true, job.ExitTERM
		if again {
			r.wider = &wider{}
		}
		r.windUp()
		r.judge()
		require.Equal(t, !again, r.report.status.ended)
	}
}
