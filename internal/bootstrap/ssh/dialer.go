package sshboot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// The default patience with a host: for its TCP connection, and from there
// until the command is accepted. A loaded sshd may need long for the latter.
const (
	defaultConnectTimeout   = 15 * time.Second
	defaultHandshakeTimeout = 60 * time.Second
)

// DialerConfig has the hosts that a Dialer can reach, and the means to log in.
type DialerConfig struct {
	// Targets finds the Target of a host; false if it is not planned.
	Targets func(job.HostIndex) (Target, bool)
	// Keys are Authority.Keys, KeyNotes are Authority.Notes.
	Keys     []PublicKey
	KeyNotes []string
	// Sign has data signed by the private half of a key: Authority.Sign, or a
	// request to it. It must heed ctx.
	Sign func(ctx context.Context, r SignRequest) ([]byte, error)
	// PreferKey is the index of the key to offer first, where it may be
	// offered: one that worked elsewhere. Negative for none.
	PreferKey int
	// ConnectTimeout bounds a TCP connection unless the Target says
	// otherwise, 0 means 15 seconds; HandshakeTimeout bounds the rest until
	// the command is accepted, per host on the way, 0 means 60 seconds.
	ConnectTimeout   time.Duration
	HandshakeTimeout time.Duration
	// MissAfter is the time of hosts that may be missing: to answer the first packet of
	// a TCP connection, and to become reachable. 0 is the ConnectTimeout, which jump
	// hosts, and Targets with one of their own, have in any case.
	MissAfter time.Duration
	// LookUp asks elsewhere for the address of a host whose name does not resolve here;
	// nil where nobody can be asked.
	LookUp func(ctx context.Context, host job.HostIndex) (addr string, err error)
	// UseJump says to go through the Targets' jump hosts and proxies.
	UseJump bool
	// Accepted is told of each host key that was accepted without being
	// known, host's or a jump host's, as a line for known_hosts; may be nil.
	// It is called from the goroutine of Start.
	Accepted func(t *Target, line string)
}

// Dialer starts commands over SSH. It may be used from several goroutines.
type Dialer struct {
	cfg    DialerConfig
	keys   []ssh.PublicKey // parsed cfg.Keys
	worked atomic.Int64    // the key that logged in last, or PreferKey
	proven atomic.Bool     // worked has logged in somewhere
	mute   sync.Map        // names of hosts that hung up on a right key without a word
}

var _ bootstrap.LoginSheller = (*Dialer)(nil)

// New checks cfg and returns a Dialer.
func New(cfg DialerConfig) (*Dialer, error) {
	if cfg.Targets == nil || cfg.Sign == nil {
		return nil, errors.New("ssh dialer: Targets and Sign must be given")
	}
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = defaultConnectTimeout
	}
	if cfg.HandshakeTimeout <= 0 {
		cfg.HandshakeTimeout = defaultHandshakeTimeout
	}
	d := &Dialer{cfg: cfg}
	for i, k := range cfg.Keys {
		key, err := ssh.ParsePublicKey(k.Blob)
		if err != nil {
			return nil, fmt.Errorf("ssh dialer: key %d (%s): %w", i, k.Name, err)
		}
		if _, ok := signatureAlgorithms[key.Type()]; !ok {
			return nil, fmt.Errorf("ssh dialer: key %d (%s): type %s is not supported", i, k.Name, key.Type())
		}
		d.keys = append(d.keys, key)
	}
	d.worked.Store(int64(cfg.PreferKey))
	return d, nil
}

// WorkedKey returns the index of the key that logged in last, for the PreferKey of
// agents below; false before the first log-in.
func (d *Dialer) WorkedKey() (index int, ok bool) {
	return int(d.worked.Load()), d.proven.Load()
}

// Reach is Anywhere: agents have their keys' signatures from the launcher.
func (d *Dialer) Reach() bootstrap.Reach { return bootstrap.Anywhere }

// NeedsStaging is true: hosts share no files with this one, for all we know.
func (d *Dialer) NeedsStaging() bool { return true }

// Start runs argv in a session of its own connection to host, without a
// terminal, without forwarding and with the environment that sshd gives. The
// host's login shell sees one command that means argv to all shells.
func (d *Dialer) Start(ctx context.Context, host bootstrap.Host, argv []string) (bootstrap.Pipe, error) {
	command, err := bootstrap.CommandLine(argv)
	if err != nil {
		return nil, &bootstrap.Error{Host: host.Name, Phase: bootstrap.Command, Err: err, Permanent: true}
	}
	return d.StartLine(ctx, host, "exec "+command)
}

// StartLine is Start for a line that the host's login shell interprets.
func (d *Dialer) StartLine(ctx context.Context, host bootstrap.Host, line string) (bootstrap.Pipe, error) {
	fail := func(phase bootstrap.Phase, err error, permanent bool) (bootstrap.Pipe, error) {
		return nil, &bootstrap.Error{Host: host.Name, Phase: phase, Err: err, Permanent: permanent}
	}
	t, ok := d.cfg.Targets(job.HostIndex(host.Index))
	if !ok {
		return fail(bootstrap.Resolve, fmt.Errorf("host %d is not planned", host.Index), true)
	}
	if t.Addr == "" && t.HostName == host.Name {
		t.Addr = host.Addr
	}
	if err := ctx.Err(); err != nil {
		return fail(bootstrap.Connect, err, false)
	}
	p, e := d.start(ctx, host, &t, line)
	if e != nil {
		e.Host = host.Name
		return nil, e
	}
	return p, nil
}

// start connects, hop by hop, and runs the command at the last.
func (d *Dialer) start(ctx context.Context, host bootstrap.Host, t *Target, command string) (*pipe, *bootstrap.Error) {
	route := []*Target{t}
	if d.cfg.UseJump && len(t.Jump) > 0 {
		route = nil
		for i := range t.Jump {
			route = append(route, &t.Jump[i])
		}
		route = append(route, t)
	}
	base, e := d.open(ctx, host, route[0], len(route) == 1)
	if e != nil {
		return nil, throughJump(e, route, 0)
	}
	limit := d.cfg.HandshakeTimeout * time.Duration(len(route))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Closing the connection ends every wait below.
	stop := context.AfterFunc(ctx, func() { _ = base.Close() })
	defer stop()

	p := &pipe{base: base, peer: peerAddr(base, route)}
	fail := func(e *bootstrap.Error, hop int) (*pipe, *bootstrap.Error) {
		p.abandon()
		if err := ctx.Err(); err != nil {
			e = interrupted(err, e.Phase, limit)
		} else if proxy, ok := base.(*proxyConn); ok && hop == 0 {
			proxy.explain(e, route[0].Proxy)
		}
		return nil, throughJump(e, route, hop)
	}
	conn := base
	for i, hop := range route {
		c, e := d.handshake(ctx, host, hop, conn)
		if e != nil {
			conn.Close()
			return fail(e, i)
		}
		p.hops = append(p.hops, c)
		if i+1 < len(route) {
			if conn, e = c.tunnel(hop, route[i+1]); e != nil {
				return fail(e, i)
			}
		}
	}
	done := bootstrap.BeginStep(ctx, bootstrap.Command)
	e = p.run(command)
	done()
	if e != nil {
		return fail(e, len(route)-1)
	}
	if !stop() {
		return fail(&bootstrap.Error{Phase: bootstrap.Command, Err: ctx.Err()}, len(route)-1)
	}
	return p, nil
}

// open connects, by the ProxyCommand if there is one.
func (d *Dialer) open(ctx context.Context, host bootstrap.Host, t *Target, direct bool) (transport, *bootstrap.Error) {
	if t.Proxy == "" || !d.cfg.UseJump {
		c, e := d.connect(ctx, host, t, direct)
		if e != nil {
			return nil, e
		}
		return c, nil
	}
	defer bootstrap.BeginStep(ctx, bootstrap.Connect)()
	bootstrap.Detail(ctx, "by ProxyCommand %s", t.Proxy)
	p, err := runProxy(t.Proxy)
	if err != nil {
		return nil, &bootstrap.Error{Phase: bootstrap.Connect, Err: fmt.Errorf("ProxyCommand %s: %w", t.Proxy, err), Permanent: true}
	}
	return p, nil
}

// connect makes the TCP connection, to a host or to its first jump host.
func (d *Dialer) connect(ctx context.Context, host bootstrap.Host, t *Target, direct bool) (*tcpConn, *bootstrap.Error) {
	limit, missAfter := t.ConnectTimeout, time.Duration(0)
	if limit <= 0 {
		limit = d.cfg.ConnectTimeout
		if direct && d.cfg.MissAfter < limit {
			missAfter = d.cfg.MissAfter
		}
	}
	defer bootstrap.BeginStep(ctx, bootstrap.Connect)()
	dialCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	network := cmp.Or(t.Network, "tcp")
	c, err := dialTCP(dialCtx, network, t.address(), missAfter)
	if _, unknown := errors.AsType[*net.DNSError](err); unknown && d.cfg.LookUp != nil && direct {
		answer, _ := d.cfg.LookUp(dialCtx, job.HostIndex(host.Index)) // err says more than this error
		if addr, perr := netip.ParseAddr(answer); perr == nil {
			t.Addr = addr.String()
			c, err = dialTCP(dialCtx, network, t.address(), missAfter)
		}
	}
	if err == nil {
		bootstrap.Detail(ctx, "reached %v", c.RemoteAddr())
		return c, nil
	}
	bootstrap.Detail(ctx, "did not reach %s", t.address())
	e := connectError(ctx, err, t, limit)
	e.Unreached, e.Tries = direct, t.Attempts
	switch {
	case e.Absent == bootstrap.NoListener && !direct:
		e.Absent = bootstrap.Present // nothing replaces a jump host
	case errors.Is(err, errUnanswered):
		e.Err, e.Absent = &timeoutError{missAfter}, bootstrap.NoAnswer
		e.Hint = fmt.Sprintf("is the host up, and port %d open in its firewall? --connect-timeout waits longer", t.Port)
	case missAfter > 0 && (errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)):
		e.Absent = bootstrap.NoAnswer
	}
	return nil, e
}
