package tlslink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// DialTimeout bounds Dial as a whole where its context does not bound it closer.
const DialTimeout = 10 * time.Second

// ErrDropped is wrapped by the error for a listener that has hung up before it was shown
// anything: others may have taken the place.
var ErrDropped = errors.New("the peer has hung up")

// Dial connects to the Listener at addr, an IP address or host name and a port,
// and returns once each side knows that the other has the secret. The error
// wraps ErrSecret if the peer turned out not to have it.
func Dial(ctx context.Context, addr string, secret Secret) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: -1} // the link has its own
	tcp, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("link: %w", err) // "dial tcp ADDR: ..."
	}
	conn := tls.Client(tcp, dialerConfig())
	if err := authenticate(ctx, conn, secret, true); err != nil {
		_ = tcp.Close()
		if !conn.ConnectionState().HandshakeComplete && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
			err = fmt.Errorf("%w: %w", ErrDropped, err)
		}
		return nil, fmt.Errorf("link to %s: %w", addr, err)
	}
	return conn, nil
}
