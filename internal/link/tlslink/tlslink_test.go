package tlslink_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/linktest"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
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

// silent are connections from an address that stay open and say nothing.
func silent(t *testing.T, l *tlslink.Listener, from string, n int, set func(fd int) error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if cerr := raw.Control(func(fd uintptr) { err = set(int(fd)) }); cerr != nil {
			return cerr
		}
		return err
	}}
	for range n {
		c, err := d.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
	}
}

// Nobody waits for those who are silent, though their time is never up: not for many
// from another address, nor for many from one's own. They are known afterwards.
func TestASilentCrowdHoldsNobodyUp(t *testing.T) {
	for _, from := range []string{"127.0.0.9", "127.0.0.1"} {
		t.Run(from, func(t *testing.T) {
			secret := tlslink.NewSecret()
			l := listen(t, secret, tlslink.Options{HandshakeTimeout: time.Hour, MaxPending: 8})
			require.Empty(t, l.Flood())
			for range 3 {
				silent(t, l, from, 50, func(int) error { return nil })
				near, far := connect(t, l, secret)
				require.NoError(t, near.Close())
				require.NoError(t, far.Close())
			}
			require.Eventually(t, func() bool {
				return strings.HasSuffix(l.Flood(), " connections from "+from+" did not prove that they know the job's secret")
			}, time.Minute, time.Millisecond)
		})
	}
}

// Nor for those who say one byte, and then nothing: not for many from another address, nor for
// some from each of many, who have all hands between them.
func TestATalkingCrowdHoldsNobodyUp(t *testing.T) {
	for name, addresses := range map[string]int{"one address": 1, "many addresses": 100} {
		t.Run(name, func(t *testing.T) {
			const talkers = 200
			secret := tlslink.NewSecret()
			l := listen(t, secret, tlslink.Options{HandshakeTimeout: time.Hour, MaxPending: 2 * talkers})
			for i := range talkers {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%addresses))}}
				c, err := d.Dial("tcp", l.Addr().String())
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				_, err = c.Write([]byte{22})
				require.NoError(t, err)
			}
			for range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				far, err := tlslink.Dial(ctx, l.Addr().String(), secret)
				cancel()
				require.NoError(t, err)
				near, err := l.Accept(t.Context())
				require.NoError(t, err)
				require.NoError(t, near.Close())
				require.NoError(t, far.Close())
			}
		})
	}
}

// Another user of this machine gets no place at all, and is named.
func TestOtherUsersAreRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can give a socket to another user")
	}
	const others = 100
	refused := make(refusals, others)
	secret := tlslink.NewSecret()
	l := listen(t, secret, tlslink.Options{HandshakeTimeout: time.Hour, MaxPending: others - 1, Log: refused.log})
	silent(t, l, "127.0.0.1", others, func(fd int) error { return syscall.Fchown(fd, 65534, -1) })
	for range others {
		require.Contains(t, <-refused, "it is of user 65534 of this machine")
	}
	require.Equal(t, "100 connections from 127.0.0.1 (user 65534 of this machine) did not prove that they know the job's secret", l.Flood())
	near, far := connect(t, l, secret)
	require.NoError(t, near.Close())
	require.NoError(t, far.Close())
}

// Those who are expected go last: one of them who is slow keeps its place.
func TestExpectedCallersKeepTheirPlaces(t *testing.T) {
	secret := tlslink.NewSecret()
	asked := make(chan struct{})
	l := listen(t, secret, tlslink.Options{HandshakeTimeout: time.Hour, MaxPending: 16, Expected: func(context.Context) []netip.Addr {
		defer close(asked)
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}})
	silent(t, l, "127.0.0.9", 17, func(int) error { return nil })
	<-asked
	slow, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer slow.Close()
	silent(t, l, "127.0.0.9", 100, func(int) error { return nil })
	near, far := connect(t, l, secret) // after all of them were seen
	require.NoError(t, near.Close())
	require.NoError(t, far.Close())
	require.NoError(t, slow.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = slow.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it was not sent away")
}

// BenchmarkSilentStranger measures a silent stranger that is given a place, and loses
// it to the next.
func BenchmarkSilentStranger(b *testing.B) {
	refused := make(refusals, 64+b.N)
	l := listen(b, tlslink.NewSecret(), tlslink.Options{HandshakeTimeout: time.Hour, Log: refused.log})
	for range 64 {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(b, err)
		defer c.Close()
	}
	call := func(to net.Addr, n int) {
		for range n {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			require.NoError(b, err)
			require.NoError(b, syscall.Connect(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: to.(*net.TCPAddr).Port}))
			b.Cleanup(func() { syscall.Close(fd) })
		}
	}
	nobody, err := net.Listen("tcp", "127.0.0.1:0") // takes no call
	require.NoError(b, err)
	defer nobody.Close()
	const sample = 1000
	began := usage(b)
	call(nobody.Addr(), sample)
	own := (usage(b) - began) / sample
	b.ResetTimer()
	began = usage(b)
	call(l.Addr(), b.N)
	for range b.N {
		<-refused
	}
	b.ReportMetric(float64(own), "its-cpu-ns/op")
	b.ReportMetric(float64(usage(b)-began)/float64(b.N)-float64(own), "our-cpu-ns/op")
}

// usage returns the processor time that was used.
func usage(b *testing.B) time.Duration {
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
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
