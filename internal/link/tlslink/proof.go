package tlslink

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
)

// ErrSecret is wrapped by the error for a peer that does not know the job's
// secret.
var ErrSecret = errors.New("the peer does not know this job's secret")

const (
	protocol      = "golaunch-link/1"        // ALPN
	exporterLabel = "EXPORTER-golaunch-link" // RFC 8446, section 7.5
	roleDialer    = "dialer"
	roleListener  = "listener"
)

// proof returns the proof of the given role on conn, whose TLS handshake is complete.
func proof(conn *tls.Conn, secret Secret, role string) ([]byte, error) {
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protocol {
		return nil, fmt.Errorf("the peer does not speak %s", protocol)
	}
	exporter, err := state.ExportKeyingMaterial(exporterLabel, nil, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("tls exporter: %w", err)
	}
	mac := hmac.New(sha256.New, secret[:])
	mac.Write([]byte(role + "\x00")) // roles are told apart by more than length
	mac.Write(exporter)
	return mac.Sum(nil), nil
}

// authenticate does the TLS handshake and exchanges proofs, the dialer's first.
// Its waiting ends with ctx, which then has closed conn.
func authenticate(ctx context.Context, conn *tls.Conn, secret Secret, dialer bool) (err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("no complete handshake: %w", context.Cause(ctx))
		}
	}()
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	ours, theirs := roleListener, roleDialer
	if dialer {
		ours, theirs = roleDialer, roleListener
	}
	show, err := proof(conn, secret, ours)
	if err != nil {
		return err
	}
	want, err := proof(conn, secret, theirs)
	if err != nil {
		return err
	}
	if dialer {
		if _, err := conn.Write(show); err != nil {
			return err
		}
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		if dialer {
			err = fmt.Errorf("the peer refused (is it of the same job?): %w", err)
		}
		return err
	}
	if !hmac.Equal(got, want) {
		return ErrSecret
	}
	if !dialer {
		_, err = conn.Write(show)
	}
	return err
}

// listenerConfig makes the certificate that TLS asks of a listener. Peers are not known
// by it.
func listenerConfig() (*tls.Config, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		SessionTicketsDisabled: true,
	}, nil
}

func dialerConfig() *tls.Config {
	return &tls.Config{
		// The certificate is not looked at: the proofs, which are bound to
		// this TLS session, authenticate both sides.
		InsecureSkipVerify:     true,
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		SessionTicketsDisabled: true,
	}
}
