package tlslink

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// DialTimeout bounds Dial as a whole where its context does not bound it closer.
const DialTimeout = 10 * time.Second

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
		return nil, fmt.Errorf("link to %s: %w", addr, err)
	}
	return conn, nil
}
