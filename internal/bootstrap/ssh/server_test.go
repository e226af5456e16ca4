package sshboot

import (
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// server is an SSH server in this process, for what OpenSSH does not do on
// request.
type server struct {
	port    int
	hostKey ssh.Signer
}

// listen hands each connection to serve until the test ends.
func listen(t testing.TB, serve func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() { // ends when the listener is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() { // ends when the connection is closed
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().(*net.TCPAddr).Port
}

// taken returns a port that nobody listens at, or gets before the test ends.
func taken(t testing.TB) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	own, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	return own.(*syscall.SockaddrInet4).Port
}

// startServer serves SSH: it accepts all keys unless change says otherwise,
// refuses exec, and forwards to where route says.
func startServer(t testing.TB, change func(*ssh.ServerConfig), route func(host string) string) *server {
	t.Helper()
	s := &server{hostKey: newSigner(t, "ed25519")}
	conf := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	change(conf)
	conf.AddHostKey(s.hostKey)
	s.port = listen(t, func(c net.Conn) {
		conn, channels, requests, err := ssh.NewServerConn(c, conf)
		if err != nil {
			return
		}
		defer conn.Close()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { ssh.DiscardRequests(requests) })
		for ch := range channels {
			s.channel(&wg, ch, route)
		}
	})
	return s
}

func (s *server) channel(wg *sync.WaitGroup, open ssh.NewChannel, route func(string) string) {
	if open.ChannelType() == "session" {
		if _, requests, err := open.Accept(); err == nil {
			wg.Go(func() { ssh.DiscardRequests(requests) }) // says no to exec
		}
		return
	}
	var want struct {
		Host       string
		Port       uint32
		Originator string
		OriginPort uint32
	}
	if route == nil || ssh.Unmarshal(open.ExtraData(), &want) != nil {
		_ = open.Reject(ssh.Prohibited, "no forwarding")
		return
	}
	to := route(want.Host)
	if want.Host == "127.0.0.1" {
		to = net.JoinHostPort(want.Host, fmt.Sprint(want.Port))
	}
	if to == "" {
		_ = open.Reject(ssh.ConnectionFailed, "unknown host (Name or service not known)")
		return
	}
	inner, err := net.Dial("tcp", to)
	if err != nil {
		_ = open.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, requests, err := open.Accept()
	if err != nil {
		inner.Close()
		return
	}
	wg.Go(func() { ssh.DiscardRequests(requests) })
	wg.Go(func() { _, _ = io.Copy(inner, ch); inner.Close() })
	wg.Go(func() { _, _ = io.Copy(ch, inner); ch.Close() })
}

// target makes the Target of a server here.
func (s *server) target(t testing.TB, dir string) Target {
	return Target{
		Name: "n0", HostName: "127.0.0.1", Addr: "127.0.0.1", KeyName: "127.0.0.1", Port: s.port, User: "ann",
		HostKeys: [][]byte{s.hostKey.PublicKey().Marshal()}, Identities: []Identity{{dir + "/id", true}},
	}
}

func TestFaultsAreExplained(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	good := startServer(t, func(*ssh.ServerConfig) {}, nil)
	other := newSigner(t, "ed25519").PublicKey()
	ecdsa := newSigner(t, "ecdsa").PublicKey()
	unheard := taken(t)

	for _, tc := range []struct {
		name      string
		change    func(*Target)
		phase     bootstrap.Phase
		permanent bool
		want      string
		hint      string
	}{
		{name: "exec refused", change: func(*Target) {}, phase: bootstrap.Command, permanent: true, want: "refused to run a command", hint: "account"},
		{name: "unknown host key", change: func(x *Target) { x.HostKeys = nil }, phase: bootstrap.HostKey, permanent: true,
			want: "ssh-ed25519 SHA256:", hint: fmt.Sprintf("ssh-keyscan -p %d 127.0.0.1 >> ~/.ssh/known_hosts", good.port)},
		{name: "changed host key", change: func(x *Target) { x.HostKeys = [][]byte{other.Marshal()} }, phase: bootstrap.HostKey, permanent: true,
			want: "is not the one in known_hosts", hint: "ssh-keygen -R '[127.0.0.1]"},
		{name: "changed host key with accept-new", change: func(x *Target) { x.HostKeys = [][]byte{other.Marshal()}; x.Policy = AcceptNew },
			phase: bootstrap.HostKey, permanent: true, want: "is not the one"},
		{name: "host key of another type", change: func(x *Target) { x.HostKeys = [][]byte{ecdsa.Marshal()} }, phase: bootstrap.HostKey, permanent: true,
			want: "host has keys of other types (ssh-ed25519)", hint: "ssh-keyscan"},
		{name: "revoked host key", change: func(x *Target) { x.Revoked = x.HostKeys; x.Policy = AcceptAny }, phase: bootstrap.HostKey, permanent: true,
			want: "is revoked", hint: "administrator"},
		{name: "unknown host key accepted", change: func(x *Target) { x.HostKeys = nil; x.Policy = AcceptNew }, phase: bootstrap.Command, permanent: true, want: "refused to run"},
		{name: "any host key accepted", change: func(x *Target) { x.HostKeys = [][]byte{ecdsa.Marshal()}; x.Policy = AcceptAny }, phase: bootstrap.Command, permanent: true, want: "refused to run"},
		{name: "no key", change: func(x *Target) { x.Identities = []Identity{{dir + "/absent", true}} }, phase: bootstrap.Authenticate, permanent: true,
			want: "no private key to offer; not offered: " + dir + "/absent", hint: "ssh-keygen"},
		{name: "no common key exchange", change: func(x *Target) { x.Kex = listOf("diffie-hellman-group16-sha512") }, phase: bootstrap.Connect, permanent: true, want: "no common algorithm"},
		{name: "refused", change: func(x *Target) { x.Port = unheard }, phase: bootstrap.Connect, want: "connection refused", hint: "does sshd run"},
		{name: "unresolvable", change: func(x *Target) { x.Addr, x.HostName = "", "no-such-host.invalid" }, phase: bootstrap.Resolve, permanent: true, want: "name no-such-host.invalid", hint: "spelling"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			target := good.target(t, dir)
			tc.change(&target)
			_, err := dialer(t, []Target{target}, nil).Start(t.Context(), n0, []string{"true"})
			if tc.name == "unresolvable" && err != nil {
				// Without a name server at hand this is transient.
				var e *bootstrap.Error
				require.ErrorAs(t, err, &e)
				e = wantError(t, err, tc.phase, e.Permanent, tc.want)
				require.Contains(t, e.Hint, tc.hint)
				return
			}
			e := wantError(t, err, tc.phase, tc.permanent, tc.want)
			require.Contains(t, e.Hint, tc.hint)
			require.Equal(t, "n0", e.Host)
		})
	}
}

func TestServersThatMisbehave(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	for _, tc := range []struct {
		name  string
		serve func(net.Conn)
		limit time.Duration // of the handshake; 0: the usual
		want  string
		hint  string
	}{
		{name: "reset before the version", serve: func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, want: "connection lost during the ssh handshake", hint: "MaxStartups"},
		{name: "hangs up after the version", serve: func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n"); _, _ = c.Read(make([]byte, 1)) }, want: "connection lost", hint: "MaxStartups"},
		{name: "another protocol", serve: func(c net.Conn) {
			_, _ = io.WriteString(c, "SSH-2.0-x\r\nHTTP/1.1 400 Bad Request\r\n\r\nmore than a packet length of text, certainly")
			_, _ = io.Copy(io.Discard, c)
		}, want: "ssh handshake: ", hint: "port"},
		{name: "silent", serve: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, limit: 300 * time.Millisecond, want: "no answer within 300ms", hint: "overloaded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &server{port: listen(t, tc.serve), hostKey: newSigner(t, "ed25519")}
			d := dialer(t, []Target{s.target(t, dir)}, func(cfg *DialerConfig) { cfg.HandshakeTimeout = tc.limit })
			_, err := d.Start(t.Context(), n0, []string{"true"})
			e := wantError(t, err, bootstrap.Connect, false, tc.want)
			require.Contains(t, e.Hint, tc.hint)
		})
	}
}

func TestAuthenticationBeyondKeys(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	password := func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return nil, nil }
	for _, tc := range []struct {
		name   string
		change func(*ssh.ServerConfig)
		want   string
	}{
		{"passwords only", func(c *ssh.ServerConfig) { c.PublicKeyCallback, c.PasswordCallback = nil, password }, "accepts only password"},
		{"key and password", func(c *ssh.ServerConfig) {
			c.PublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
				return nil, &ssh.PartialSuccessError{Next: ssh.ServerAuthCallbacks{PasswordCallback: password}}
			}
		}, "wants more than a key (password)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := startServer(t, tc.change, nil)
			_, err := dialer(t, []Target{s.target(t, dir)}, nil).Start(t.Context(), n0, []string{"true"})
			wantError(t, err, bootstrap.Authenticate, true, tc.want)
		})
	}
}

// A server that hangs up on a right key is not asked again if it says why, and
// once more if it does not.
func TestHungUpOnARightKey(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	for _, tc := range []struct {
		name, says string
		want       []bool // by try: the error is permanent
		text       string
	}{
		{name: "with a reason", says: "Access denied by pam_slurm_adopt:\r\nno active jobs\n", want: []bool{true},
			text: "user ann: the key " + dir + "/id (ssh-ed25519) is right, but the host hung up: Access denied by pam_slurm_adopt: no active jobs"},
		{name: "without a word", want: []bool{false, true}, text: "hung up without a word: EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key := newSigner(t, "ed25519")
			port := listen(t, func(c net.Conn) {
				var pre ssh.ServerPreAuthConn
				conf := &ssh.ServerConfig{
					BannerCallback:      func(ssh.ConnMetadata) string { return "Authorised users only\n" },
					PreAuthConnCallback: func(conn ssh.ServerPreAuthConn) { pre = conn },
					PublicKeyCallback:   func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil },
					VerifiedPublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey, *ssh.Permissions, string) (*ssh.Permissions, error) {
						if tc.says != "" {
							assert.NoError(t, pre.SendAuthBanner(tc.says))
						}
						return nil, c.Close()
					},
				}
				conf.AddHostKey(key)
				_, _, _, _ = ssh.NewServerConn(c, conf)
			})
			s := &server{port: port, hostKey: key}
			d := dialer(t, []Target{s.target(t, dir)}, nil)
			for _, permanent := range tc.want {
				_, err := d.Start(t.Context(), n0, []string{"true"})
				e := wantError(t, err, bootstrap.Authenticate, permanent, tc.text)
				require.Contains(t, e.Hint, "pam_slurm_adopt")
			}
		})
	}
}

// Of a server that talks without end only the beginning is kept.
func TestServerThatTalksWithoutEnd(t *testing.T) {
	a := &attempt{signedBy: 0}
	for range 2 * maxSaid {
		require.NoError(t, a.banner("go\r\n  away "))
	}
	require.Len(t, a.said, maxSaid)
	require.Contains(t, a.said, "go away go away ")
}

func TestHostCertificates(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	ca := newSigner(t, "ed25519")
	key := newSigner(t, "ed25519")
	certify := func(principal string, kind uint32, before uint64) ssh.Signer {
		cert := &ssh.Certificate{Key: key.PublicKey(), CertType: kind, ValidPrincipals: []string{principal}, ValidBefore: before}
		require.NoError(t, cert.SignCert(zeroes{}, ca))
		s, err := ssh.NewCertSigner(cert, key)
		require.NoError(t, err)
		return s
	}
	for _, tc := range []struct {
		name string
		cert ssh.Signer
		want string // of the failure; exec is refused by the server anyway
	}{
		{"good", certify("127.0.0.1", ssh.HostCert, ssh.CertTimeInfinity), "refused to run a command"},
		{"pattern", certify("127.*", ssh.HostCert, ssh.CertTimeInfinity), "refused to run a command"},
		{"another host", certify("other", ssh.HostCert, ssh.CertTimeInfinity), "principal"},
		{"expired", certify("127.0.0.1", ssh.HostCert, 1), "expired"},
		{"for users", certify("127.0.0.1", ssh.UserCert, ssh.CertTimeInfinity), "not for hosts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := startServer(t, func(c *ssh.ServerConfig) { c.AddHostKey(tc.cert) }, nil)
			target := s.target(t, dir)
			target.HostKeys, target.CAs = nil, [][]byte{ca.PublicKey().Marshal()}
			_, err := dialer(t, []Target{target}, nil).Start(t.Context(), n0, []string{"true"})
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// zeroes is a source of nonces that need not be random here.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }
