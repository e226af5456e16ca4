package yamuxlink_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
)

// inBubble marks the process that runs TestLivenessInFakeTime's body: yamux
// shares timers between sessions, so that a process in which one bubble used it
// may use it nowhere else.
const inBubble = "GOLAUNCH_TEST_IN_BUBBLE"

func TestLivenessInFakeTime(t *testing.T) {
	if os.Getenv(inBubble) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLivenessInFakeTime$", "-test.v", "-test.timeout=1m")
		cmd.Env = append(os.Environ(), inBubble+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
		return
	}
	synctest.Test(t, func(t *testing.T) {
		idleLinksLive(t)
		silenceIsNoticed(t)
		silenceIsToldFirst(t)
		refusedBytesAreNoticed(t)
		unopenedStreamsAreNoticed(t)
		suspensionIsForgiven(t)
	})
}

// idle lets fake time pass.
func idle(d time.Duration) { <-time.After(d) }

func pipe(t *testing.T) (p, c *yamuxlink.Link) {
	near, far := net.Pipe()
	return connect(t, near, far, 0)
}

func speak(t *testing.T, from, to link.Link) {
	t.Helper()
	require.NoError(t, from.Send(link.Control, []byte("hello")))
	f, err := to.Recv(link.Control)
	require.NoError(t, err)
	require.Equal(t, "hello", string(f))
}

// lossOf returns how long l lives on until it is lost, and why.
func lossOf(t *testing.T, l link.Link) (time.Duration, error) {
	t.Helper()
	start := time.Now()
	_, err := l.Recv(link.Stdio)
	require.ErrorIs(t, err, link.ErrLost)
	return time.Since(start), err
}

func requireNoticed(t *testing.T, after time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, after, yamuxlink.DefaultLostAfter*9/10)
	require.LessOrEqual(t, after, yamuxlink.DefaultLostAfter*12/10)
}

func idleLinksLive(t *testing.T) {
	p, c := pipe(t)
	speak(t, p, c)
	idle(2 * time.Hour)
	speak(t, p, c)
	speak(t, c, p)
	require.NoError(t, p.Close())
	require.NoError(t, c.Close())
}

func silenceIsNoticed(t *testing.T) {
	near, far := net.Pipe()
	gate := newGate(near)
	p, c := connect(t, gate, far, 0)
	speak(t, p, c)
	gate.set(swallow) // as a network does that has lost the way
	after, err := lossOf(t, c)
	require.ErrorContains(t, err, "nothing was heard of the peer for 10s")
	requireNoticed(t, after)
	require.NoError(t, p.Close())
	require.NoError(t, c.Close())
}

// openConn tells whether it was closed.
type openConn struct {
	net.Conn
	closed atomic.Bool
}

func (o *openConn) Close() error {
	o.closed.Store(true)
	return o.Conn.Close()
}

func silenceIsToldFirst(t *testing.T) {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }() // ends with far
	conn, told := &openConn{Conn: near}, make(chan error, 1)
	l, err := yamuxlink.New(conn, yamuxlink.Config{Parent: true, Silent: func(cause error) {
		if !conn.closed.Load() {
			told <- cause
		}
	}})
	require.NoError(t, err)
	_, lost := lossOf(t, l)
	require.EqualError(t, <-told, lost.Error())
	require.ErrorContains(t, lost, "nothing was heard of the peer for 10s")
	require.NoError(t, l.Close())
	require.True(t, conn.closed.Load())
	require.NoError(t, far.Close())
}

func refusedBytesAreNoticed(t *testing.T) {
	near, far := net.Pipe()
	p, err := yamuxlink.New(near, yamuxlink.Config{Parent: true})
	require.NoError(t, err)
	stop := make(chan struct{})
	go func() { // says that it lives, and reads nothing
		ping := []byte{0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0} // an answer to no ping
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				_, _ = far.Write(ping)
			}
		}
	}()
	after, err := lossOf(t, p)
	require.ErrorContains(t, err, "the peer took no bytes for 10s")
	requireNoticed(t, after)
	close(stop)
	require.NoError(t, p.Close())
	require.NoError(t, far.Close())
}

func unopenedStreamsAreNoticed(t *testing.T) {
	near, far := net.Pipe()
	c, err := yamuxlink.New(near, yamuxlink.Config{})
	require.NoError(t, err)
	after, err := lossOf(t, c)
	require.ErrorContains(t, err, "nothing was heard of the peer for 10s")
	requireNoticed(t, after)
	require.ErrorIs(t, c.Send(link.Control, nil), link.ErrLost)
	require.NoError(t, c.Close())
	require.NoError(t, far.Close())
}

func suspensionIsForgiven(t *testing.T) {
	near, far := net.Pipe()
	gate := newGate(near)
	p, c := connect(t, gate, far, 0)
	speak(t, p, c)
	require.NoError(t, p.Suspend(true))
	speak(t, c, p)
	gate.set(shut) // the parent is stopped: nothing of it gets out
	idle(6 * time.Hour)
	gate.set(open)
	require.NoError(t, p.Suspend(false))
	speak(t, p, c)
	speak(t, c, p)
	idle(10 * time.Minute)
	speak(t, p, c)

	// Silence counts again.
	gate.set(shut)
	after, err := lossOf(t, c)
	require.ErrorContains(t, err, "nothing was heard")
	requireNoticed(t, after)
	gate.set(open)
	require.NoError(t, p.Close())
	require.NoError(t, c.Close())

	// An end of the connection counts during a suspension, too.
	p, c = pipe(t)
	speak(t, p, c)
	require.NoError(t, p.Suspend(true))
	speak(t, p, c) // behind the announcement
	require.NoError(t, p.Close())
	after, _ = lossOf(t, c)
	require.Zero(t, after)
	require.NoError(t, c.Close())
}
