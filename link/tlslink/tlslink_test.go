package tlslink_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/link/linktest"
	"github.com/golaunch/golaunch/link/tlslink"
	"github.com/golaunch/golaunch/link/yamuxlink"
)

func TestConformance(t *testing.T) {
	linktest.Run(t, func(t testing.TB) (link.Link, link.Link) {
		secret := tlslink.NewSecret()
		l := listen(t, secret, tlslink.Options{})
		near, far := connect(t, l, secret)
		require.NoError(t, l.Close()) // accepted connections live on
		parent, err := yamuxlink.New(near, yamuxlink.Config{Parent: true, LostAfter: time.Hour})
		require.NoError(t, err)
		child, err := yamuxlink.New(far, yamuxlink.Config{LostAfter: time.Hour})
		require.NoError(t, err)
		return parent, child
	})
}

// refusals collects what a listener logs.
type refusals chan string

func (r refusals) log(line string) { r <- line }

func listen(t testing.TB, secret tlslink.Secret, opts tlslink.Options) *tlslink.Listener {
	t.Helper()
	l, err := tlslink.Listen(t.Context(), "", secret, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// connect dials l and accepts.
func connect(t testing.TB, l *tlslink.Listener, secret tlslink.Secret) (accepted, dialed net.Conn) {
	t.Helper()
	dialed, err := tlslink.Dial(t.Context(), l.Addr().String(), secret)
	require.NoError(t, err)
	accepted, err = l.Accept(t.Context())
	require.NoError(t, err)
	return accepted, dialed
}

func TestWrongSecret(t *testing.T) {
	refused := make(refusals, 1)
	l := listen(t, tlslink.NewSecret(), tlslink.Options{Log: refused.log})
	_, err := tlslink.Dial(t.Context(), l.Addr().String(), tlslink.NewSecret())
	require.ErrorContains(t, err, "link to "+l.Addr().String()+": the peer refused (is it of the same job?)")
	require.Contains(t, <-refused, tlslink.ErrSecret.Error())
}

func TestStrangersAreRefused(t *testing.T) {
	for name, greeting := range map[string]string{
		"http":    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"garbage": strings.Repeat("\x00\xff\x16\x03", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			refused := make(refusals, 1)
			secret := tlslink.NewSecret()
			l := listen(t, secret, tlslink.Options{Log: refused.log})
			conn, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			_, _ = io.WriteString(conn, greeting) // may fail once the listener has had enough
			require.Contains(t, <-refused, "refused "+conn.LocalAddr().String())
			near, far := connect(t, l, secret) // the next one is served
			require.NoError(t, near.Close())
			require.NoError(t, far.Close())
		})
	}
}

func TestStalledPeerIsDropped(t *testing.T) {
	refused := make(refusals, 1)
	l := listen(t, tlslink.NewSecret(), tlslink.Options{HandshakeTimeout: 50 * time.Millisecond, Log: refused.log})
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1)) // returns when the listener hangs up
	require.Error(t, err)
	require.Contains(t, <-refused, "no complete handshake: the peer took too long to prove itself")
}

func TestPendingPeersAreBounded(t *testing.T) {
	const pending = 2
	refused := make(refusals, pending)
	secret := tlslink.NewSecret()
	// The honest one has this time, too, on a busy machine as well.
	l := listen(t, secret, tlslink.Options{HandshakeTimeout: 3 * time.Second, MaxPending: pending, Log: refused.log})
	for range pending {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
	}
	// The honest one is behind them, and gets its turn.
	near, far := connect(t, l, secret)
	require.NoError(t, near.Close())
	require.NoError(t, far.Close())
	require.NotEmpty(t, <-refused, "a stalled peer made room")
}

func TestCloseDropsPending(t *testing.T) {
	secret := tlslink.NewSecret()
	l := listen(t, secret, tlslink.Options{HandshakeTimeout: time.Hour})
	silent, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer silent.Close()
	proved, err := tlslink.Dial(t.Context(), l.Addr().String(), secret) // nobody accepts it
	require.NoError(t, err)
	defer proved.Close()
	require.NoError(t, l.Close())
	for _, conn := range []net.Conn{silent, proved} {
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
	}
	_, err = l.Accept(t.Context())
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, l.Close(), "again")
	_, err = tlslink.Dial(t.Context(), l.Addr().String(), secret)
	require.Error(t, err)
}

func TestContextsEndWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := tlslink.Listen(ctx, "", tlslink.NewSecret(), tlslink.Options{})
	require.NoError(t, err)

	short, stop := context.WithCancel(t.Context())
	stop()
	_, err = l.Accept(short)
	require.ErrorIs(t, err, context.Canceled)

	accept := make(chan error, 1)
	go func() {
		_, err := l.Accept(t.Context())
		accept <- err
	}()
	cancel() // of the listener
	require.ErrorIs(t, <-accept, net.ErrClosed)
	require.NoError(t, l.Close())

	// A listener that takes the connection and says nothing.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel = context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := silent.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1)) // the dialer has begun
		cancel()
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	})
	_, err = tlslink.Dial(ctx, silent.Addr().String(), tlslink.NewSecret())
	require.ErrorIs(t, err, context.Canceled)
	wg.Wait()
}

func TestListenAddress(t *testing.T) {
	for addr, loopback := range map[string]bool{"": true, ":0": true, "127.0.0.1:0": true, "0.0.0.0:0": false} {
		l, err := tlslink.Listen(t.Context(), addr, tlslink.NewSecret(), tlslink.Options{})
		require.NoError(t, err)
		require.Equal(t, loopback, l.Addr().(*net.TCPAddr).IP.IsLoopback(), "listening at %q", addr)
		require.NoError(t, l.Close())
	}
	_, err := tlslink.Listen(t.Context(), "no port", tlslink.NewSecret(), tlslink.Options{})
	require.ErrorContains(t, err, `listen address "no port"`)
	_, err = tlslink.Listen(t.Context(), "", tlslink.NewSecret(), tlslink.Options{MaxPending: -1})
	require.ErrorContains(t, err, "negative")
	var addrErr *net.OpError
	_, err = tlslink.Dial(t.Context(), "127.0.0.1:1", tlslink.NewSecret())
	require.True(t, errors.As(err, &addrErr), "%v", err)
}
