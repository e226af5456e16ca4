package tlslink

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// An attacker on the network speaks TLS as well as anybody. It lacks the secret.

// tlsPair returns the two ends of a TLS session, the dialer's first, over a
// connection that an attacker may sit on.
func tlsPair(t *testing.T) (dialer, listener *tls.Conn) {
	config, err := listenerConfig()
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	far, err := l.Accept()
	require.NoError(t, err)
	dialer, listener = tls.Client(near, dialerConfig()), tls.Server(far, config)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return dialer, listener
}

// handshake completes TLS on both ends.
func handshake(t *testing.T, dialer, listener *tls.Conn) {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- dialer.HandshakeContext(t.Context()) }()
	require.NoError(t, listener.HandshakeContext(t.Context()))
	require.NoError(t, <-result)
}

// judge authenticates conn in the background.
func judge(conn *tls.Conn, secret Secret, dialer bool) <-chan error {
	result := make(chan error, 1)
	go func() { result <- authenticate(context.Background(), conn, secret, dialer) }()
	return result
}

// A proof recorded on one connection, even by the listener itself, opens no
// other.
func TestReplayIsRefused(t *testing.T) {
	secret := NewSecret()
	dialer, listener := tlsPair(t)
	handshake(t, dialer, listener)
	recorded, err := proof(dialer, secret, roleDialer)
	require.NoError(t, err)

	attacker, victim := tlsPair(t)
	result := judge(victim, secret, false)
	require.NoError(t, attacker.HandshakeContext(t.Context()))
	_, err = attacker.Write(recorded)
	require.NoError(t, err)
	require.ErrorIs(t, <-result, ErrSecret)
}

// A dialer's own proof, sent back to it, does not make a listener.
func TestReflectionIsRefused(t *testing.T) {
	secret := NewSecret()
	victim, attacker := tlsPair(t)
	result := judge(victim, secret, true)
	require.NoError(t, attacker.HandshakeContext(t.Context()))
	shown := make([]byte, sha256.Size)
	_, err := io.ReadFull(attacker, shown)
	require.NoError(t, err)
	_, err = attacker.Write(shown)
	require.NoError(t, err)
	require.ErrorIs(t, <-result, ErrSecret)
}

// Somebody in the middle, with a TLS session to either side, cannot pass the
// proofs through.
func TestManInTheMiddleIsRefused(t *testing.T) {
	secret := NewSecret()
	dialer, toDialer := tlsPair(t)
	toListener, listener := tlsPair(t)
	dialed := judge(dialer, secret, true)
	accepted := judge(listener, secret, false)
	require.NoError(t, toDialer.HandshakeContext(t.Context()))
	require.NoError(t, toListener.HandshakeContext(t.Context()))
	var wg sync.WaitGroup
	for _, ends := range [][2]*tls.Conn{{toDialer, toListener}, {toListener, toDialer}} {
		wg.Go(func() {
			_, _ = io.Copy(ends[1], ends[0])
			_ = ends[1].Close()
		})
	}
	require.ErrorIs(t, <-accepted, ErrSecret)
	require.NoError(t, listener.NetConn().Close())
	require.Error(t, <-dialed)
	require.NoError(t, dialer.NetConn().Close())
	wg.Wait()
}

// A listener shows nothing to a dialer that has not proved itself.
func TestListenerSpeaksSecond(t *testing.T) {
	attacker, victim := tlsPair(t)
	result := judge(victim, NewSecret(), false)
	require.NoError(t, attacker.HandshakeContext(t.Context()))
	_, err := attacker.Write(make([]byte, sha256.Size))
	require.NoError(t, err)
	require.ErrorIs(t, <-result, ErrSecret)
	require.NoError(t, victim.NetConn().Close())
	got, _ := io.ReadAll(attacker)
	require.Empty(t, got)
}

// TLS alone, of another protocol or version, is not enough.
func TestOtherTLSIsRefused(t *testing.T) {
	for name, change := range map[string]func(*tls.Config){
		"no protocol named": func(c *tls.Config) { c.NextProtos = nil },
		"another protocol":  func(c *tls.Config) { c.NextProtos = []string{"h2"} },
		"TLS 1.2":           func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
	} {
		t.Run(name, func(t *testing.T) {
			attacker, victim := tlsPair(t)
			config := dialerConfig()
			change(config)
			attacker = tls.Client(attacker.NetConn(), config)
			result := judge(victim, NewSecret(), false)
			_ = attacker.HandshakeContext(t.Context()) // the listener's side of it counts
			err := <-result
			require.Error(t, err)
			require.NotErrorIs(t, err, ErrSecret, "refused before any proof")
		})
	}
}
