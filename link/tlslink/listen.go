package tlslink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Options tunes a Listener. The zero value is right outside of tests.
type Options struct {
	// HandshakeTimeout is how long a peer may take to prove itself; 0 means
	// 5 s.
	HandshakeTimeout time.Duration
	// MaxPending bounds the connections that have not been proved and
	// accepted; further ones wait in the kernel's queue. 0 means 64.
	MaxPending int
	// Log is told why a connection was refused, a line at a time, possibly
	// from several goroutines at once; nil discards it.
	Log func(line string)
}

func (o Options) withDefaults() (Options, error) {
	if o.HandshakeTimeout < 0 || o.MaxPending < 0 {
		return o, fmt.Errorf("link: negative HandshakeTimeout %v or MaxPending %d", o.HandshakeTimeout, o.MaxPending)
	}
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = 5 * time.Second
	}
	if o.MaxPending == 0 {
		o.MaxPending = 64
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o, nil
}

// Listener accepts connections of those who know the job's secret.
type Listener struct {
	opts   Options
	secret Secret
	tcp    net.Listener
	config *tls.Config
	ctx    context.Context // done when the listener is closed
	cancel context.CancelFunc
	slots  chan struct{} // one element per pending connection
	proved chan net.Conn
	wg     sync.WaitGroup
}

var errTooSlow = errors.New("the peer took too long to prove itself")

// Listen listens at addr, "HOST:PORT". An empty host, or an empty addr, is this
// machine's loopback address: to be reached from other machines the address has
// to be named, 0.0.0.0 or [::] for all. An empty or 0 port is chosen by the
// kernel. The listener lives until Close, or until ctx is done.
func Listen(ctx context.Context, addr string, secret Secret, opts Options) (*Listener, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if addr == "" {
		addr = ":0"
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("link: listen address %q: %w", addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	config, err := listenerConfig()
	if err != nil {
		return nil, fmt.Errorf("link: certificate: %w", err)
	}
	lc := net.ListenConfig{KeepAlive: -1} // the link has its own
	tcp, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("link: %w", err) // "listen tcp ADDR: ..."
	}
	l := &Listener{
		opts:   opts,
		secret: secret,
		tcp:    tcp,
		config: config,
		slots:  make(chan struct{}, opts.MaxPending),
		proved: make(chan net.Conn),
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	context.AfterFunc(l.ctx, func() { _ = tcp.Close() })
	l.wg.Go(l.run) // ends when the listener is closed
	return l, nil
}

// Addr is the address that the listener is bound to.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Accept waits for the next connection whose peer proved that it knows the
// secret. It returns net.ErrClosed once the listener is closed.
func (l *Listener) Accept(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-l.proved:
		return conn, nil
	case <-l.ctx.Done():
		return nil, fmt.Errorf("link: listener at %v: %w", l.Addr(), net.ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("link: listener at %v: %w", l.Addr(), ctx.Err())
	}
}

// Close stops listening and drops the connections that were not accepted yet.
// Those that were live on.
func (l *Listener) Close() error {
	l.cancel()
	err := l.tcp.Close()
	l.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil // the context's end, or an earlier Close
	}
	return err
}

// run takes connections as long as there are slots for them.
func (l *Listener) run() {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.ctx.Done():
			return
		}
		conn, err := l.tcp.Accept()
		if err == nil {
			// Ends with the handshake timeout, or when the connection is
			// accepted or the listener is closed.
			l.wg.Go(func() {
				l.serve(conn)
				<-l.slots
			})
			continue
		}
		<-l.slots
		if l.ctx.Err() != nil {
			return
		}
		// Such as no free descriptor: passing, so that the listener stays.
		l.opts.Log(fmt.Sprintf("listener at %v: %v", l.Addr(), err))
		select {
		case <-time.After(100 * time.Millisecond):
		case <-l.ctx.Done():
			return
		}
	}
}

// serve lets one peer prove itself and hands its connection to Accept.
func (l *Listener) serve(tcp net.Conn) {
	ctx, cancel := context.WithTimeoutCause(l.ctx, l.opts.HandshakeTimeout, errTooSlow)
	defer cancel()
	conn := tls.Server(tcp, l.config)
	if err := authenticate(ctx, conn, l.secret, false); err != nil {
		_ = tcp.Close()
		if l.ctx.Err() == nil {
			l.opts.Log(fmt.Sprintf("listener at %v: refused %v: %v", l.Addr(), tcp.RemoteAddr(), err))
		}
		return
	}
	select {
	case l.proved <- conn:
	case <-l.ctx.Done():
		_ = tcp.Close()
	}
}
