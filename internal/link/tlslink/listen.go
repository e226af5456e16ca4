package tlslink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// Options tunes a Listener. The zero value is right outside of tests.
type Options struct {
	// HandshakeTimeout is the time that a peer has to prove itself; 0 means 5 s.
	HandshakeTimeout time.Duration
	// MaxPending bounds the connections that have not been proved; for a further one
	// another has to go (places.leaves). 0 means 64.
	MaxPending int
	// Expected finds addresses of peers that are expected to call: they are the last to
	// go. It is called once at most, when all places are taken; nil finds none.
	Expected func(context.Context) []netip.Addr
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

// Listener accepts connections of peers that know the job's secret.
type Listener struct {
	opts   Options
	secret Secret
	tcp    *unix.Listener
	config *tls.Config
	ctx    context.Context // done when the listener is closed
	cancel context.CancelFunc
	proved chan net.Conn
	wg     sync.WaitGroup

	mu     sync.Mutex
	places *places
	hands  *hands
	asked  bool // for those who are expected
	known  bool // they are, or nobody can be asked
	crowd  crowd
}

// callBatch is the number of connections taken at a time.
const callBatch = 64

var (
	errTooSlow = errors.New("the peer took too long to prove itself")
	errCrowded = errors.New("the peer had not proved itself when its place was needed")
	errSlow    = errors.New("the peer had not proved itself while others waited for their turn")
	errGone    = errors.New("the peer has gone again")
)

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
		config: config,
		proved: make(chan net.Conn),
		places: newPlaces(opts.MaxPending),
		crowd:  crowd{},
	}
	l.hands = newHands(l.places.expected)
	l.known = opts.Expected == nil
	if l.tcp, err = unix.NewListener(tcp.(*net.TCPListener)); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	context.AfterFunc(l.ctx, func() { // so that nobody waits for those who are silent
		l.tcp.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.places.clear()
	})
	l.wg.Go(l.run) // ends when the listener is closed
	return l, nil
}

// Addr returns the address that the listener is bound to.
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
	l.wg.Wait()
	return nil
}

// run takes connections, many at a time, and never waits for those that came before.
func (l *Listener) run() {
	for {
		calls, rest, err := l.tcp.Take(callBatch)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if len(calls) == 0 { // such as no free descriptor: passing, so that the listener stays
			l.opts.Log(fmt.Sprintf("listener at %v: %v", l.Addr(), err))
			rest = max(rest, 100*time.Millisecond)
		}
		for _, c := range calls {
			l.take(c)
		}
		if rest > 0 {
			select {
			case <-time.After(rest):
			case <-l.ctx.Done():
				return
			}
		}
	}
}

// take gives a connection a place, unless it is another user's, or nobody's any more.
func (l *Listener) take(c unix.Call) {
	switch from := c.Peer.Addr(); {
	case c.UID > 0 && c.UID != os.Geteuid():
		unix.Close(c.FD)
		l.refused(c.Peer, fmt.Sprintf("%v (user %d of this machine)", from, c.UID), fmt.Errorf("it is of user %d of this machine", c.UID))
		return
	case c.UID < 0 && c.Here:
		unix.Close(c.FD)
		l.refused(c.Peer, from.String(), errGone)
		return
	}
	conn, err := c.Conn()
	if err != nil {
		l.refused(c.Peer, c.Peer.Addr().String(), err)
		return
	}
	p := &peer{addr: c.Peer, conn: conn, turn: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		_ = conn.Close()
		return
	}
	if gone := l.places.enter(p); gone != nil {
		l.hands.leave(gone)
		l.turn()
		l.askExpected()
	}
	// Ends with the handshake timeout, when its place is needed, or when the connection is
	// accepted or the listener is closed.
	l.wg.Go(func() { l.serve(p) })
}

// askExpected asks once for the expected addresses. The lock is held.
func (l *Listener) askExpected() {
	if !l.asked && l.opts.Expected != nil {
		l.asked = true
		l.wg.Go(func() { l.expect(l.opts.Expected(l.ctx)) }) // ends with the listener
	}
}

// expect has peers of some addresses go last.
func (l *Listener) expect(addrs []netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range addrs {
		l.places.expect(a)
	}
	l.known = true
	l.turn()
}

// serve lets one peer prove itself and hands its connection to Accept.
func (l *Listener) serve(p *peer) {
	conn := tls.Server(p.conn, l.config)
	err := l.prove(p, conn)
	l.mu.Lock()
	l.places.leave(p)
	l.hands.leave(p)
	if p.why != nil { // it was sent away
		err = p.why
	} else if err == nil {
		l.places.expect(p.addr.Addr())
	}
	l.turn()
	l.mu.Unlock()
	if err != nil {
		_ = p.conn.Close()
		if l.ctx.Err() == nil {
			l.refused(p.addr, p.addr.Addr().String(), err)
		}
		return
	}
	select {
	case l.proved <- conn:
	case <-l.ctx.Done():
		_ = p.conn.Close()
	}
}

// prove waits until a peer says something, which costs little, and then whether it can prove
// that it knows the secret.
func (l *Listener) prove(p *peer, conn *tls.Conn) error {
	if err := p.conn.SetReadDeadline(time.Now().Add(l.opts.HandshakeTimeout)); err != nil {
		return err
	}
	if err := unix.AwaitInput(p.conn); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("no complete handshake: %w", errTooSlow)
		}
		return err
	}
	if err := p.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := l.awaitHand(p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(l.ctx, l.opts.HandshakeTimeout, errTooSlow)
	defer cancel()
	return authenticate(ctx, conn, l.secret, false)
}

// awaitHand waits until a peer that has spoken is to prove itself, or is sent away.
func (l *Listener) awaitHand(p *peer) error {
	l.mu.Lock()
	l.places.speaks(p)
	if p.why == nil {
		l.hands.wait(p)
		l.turn()
	}
	why := p.why
	l.mu.Unlock()
	if why != nil {
		return why
	}
	look := time.NewTicker(crowdedPatience)
	defer look.Stop()
	for {
		select {
		case <-p.turn: // or it was sent away
			return nil
		case <-look.C: // at those who take long
			l.mu.Lock()
			l.turn()
			l.mu.Unlock()
		case <-l.ctx.Done():
			return l.ctx.Err()
		}
	}
}

// turn lets waiting peers have their hands. The lock is held.
func (l *Listener) turn() {
	now := time.Now()
	l.hands.turn(now)
	slow := l.hands.slow(now)
	if len(slow) > 0 && !l.known { // some of them may be expected
		l.askExpected()
		return
	}
	for _, x := range slow {
		x.why = errSlow
		_ = x.conn.Close() // then it leaves
	}
}

// refused tells of a connection that was refused, and counts where it came from.
func (l *Listener) refused(peer netip.AddrPort, from string, why error) {
	l.mu.Lock()
	l.crowd.add(from)
	l.mu.Unlock()
	l.opts.Log(fmt.Sprintf("listener at %v: refused %v: %v", l.Addr(), peer, why))
}

// Flood says from where more connections were refused than there are places, or "".
func (l *Listener) Flood() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, n := l.crowd.most()
	if n <= l.places.max {
		return ""
	}
	return fmt.Sprintf("%d connections from %s did not prove that they know the job's secret", n, from)
}
