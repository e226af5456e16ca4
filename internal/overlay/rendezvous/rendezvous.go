package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/link/tlslink"
)

// callTime is the time that an agent may take to say its host, or to answer an order.
// Its connection is proved by then.
const callTime = 5 * time.Second

// Config configures a Rendezvous.
type Config struct {
	Secret tlslink.Secret
	Addr   string   // as tlslink.Listen has it
	Hosts  []string // their agents may call
	// Together keeps all calls until each host has called or has failed. Until then
	// agents may hang up, and others call in their place.
	Together bool
	// Log is told of the first that were refused, and why, a line each, possibly from
	// several goroutines at once.
	Log func(line string)
	// HandshakeTimeout is tlslink.Options'; 0 is its default.
	HandshakeTimeout time.Duration
}

// Rendezvous takes the calls of agents and keeps them until they are wanted. It is
// safe for many goroutines.
type Rendezvous struct {
	listener *tlslink.Listener
	log      func(line string)
	ctx      context.Context // done when it is closed
	cancel   context.CancelFunc
	tasks    sync.WaitGroup

	mu       sync.Mutex
	seats    map[string]*seat // by host
	gathered bool             // calls are given to who wants them
}

// seat is the state of a host. It never has both a waiter and a caller.
type seat struct {
	called bool // at least once
	failed *bootstrap.Error
	caller chan *waiter // of the call that is kept: takes whom it is for; buffered
	waiter *waiter
}

// waiter wants a host, with an order for it. It gets one answer.
type waiter struct {
	order  order
	answer chan answer // buffered
	over   bool        // it has one, or waits no longer
}

type answer struct {
	conn net.Conn // of doLink
	err  error
}

// Pending bounds the connections that may not yet have been proved where the agents of
// so many hosts call. All of these may do so at once; the others are somebody else's.
func Pending(hosts int) int { return hosts + 64 }

// maxRefusals bounds the refused calls that are told of: anybody may call.
const maxRefusals = 8

// limitLines tells of the first of many lines.
func limitLines(log func(line string)) func(line string) {
	var told atomic.Int64
	return func(line string) {
		switch n := told.Add(1); {
		case n <= maxRefusals:
			log(line)
		case n == maxRefusals+1:
			log("of further calls that are refused nothing is said")
		}
	}
}

// addresses returns those of hosts whose names resolve in time.
func addresses(ctx context.Context, hosts []string) (addrs []netip.Addr) {
	questions := make([]bootstrap.Question, len(hosts))
	for i, h := range hosts {
		questions[i] = bootstrap.Question{Network: "ip", Name: h}
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	defer cancel()
	answers, _ := bootstrap.LookUp(ctx, questions, net.DefaultResolver.LookupNetIP) // its error is that the time is up
	for _, text := range answers {
		if a, err := netip.ParseAddr(text); err == nil {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// Listen takes calls until Close, or until ctx is done.
func Listen(ctx context.Context, c Config) (*Rendezvous, error) {
	log := limitLines(c.Log)
	l, err := tlslink.Listen(ctx, c.Addr, c.Secret, tlslink.Options{
		Log: log, HandshakeTimeout: c.HandshakeTimeout, MaxPending: Pending(len(c.Hosts)),
		Expected: func(ctx context.Context) []netip.Addr { return addresses(ctx, c.Hosts) },
	})
	if err != nil {
		return nil, err
	}
	r := &Rendezvous{listener: l, log: log, gathered: !c.Together, seats: make(map[string]*seat, len(c.Hosts))}
	for _, h := range c.Hosts {
		r.seats[h] = &seat{}
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.tasks.Go(r.run) // ends when the listener is closed
	return r, nil
}

// Flood names callers that may have kept agents from calling; see tlslink.Listener.
func (r *Rendezvous) Flood() string { return r.listener.Flood() }

// Addr returns the address to call.
func (r *Rendezvous) Addr() string { return r.listener.Addr().String() }

// Close refuses all calls from now on, and hangs up on those that are kept: their
// agents end. Connections that were taken for links live on.
func (r *Rendezvous) Close() {
	r.cancel()
	_ = r.listener.Close() // of a listener that accepts no more
	r.tasks.Wait()
}

// Link waits until the agent of a host calls, and takes its connection for the link.
func (r *Rendezvous) Link(ctx context.Context, host string) (net.Conn, error) {
	return r.want(ctx, host, order{verb: doLink})
}

// Send waits until the agent of a host calls, and has it call addr instead.
func (r *Rendezvous) Send(ctx context.Context, host, addr string) error {
	_, err := r.want(ctx, host, order{verb: doDial, text: addr})
	return err
}

// Fail gives the reason for which no agent of a host will call any more.
func (r *Rendezvous) Fail(host string, err *bootstrap.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.seats[host]; s != nil && s.failed == nil {
		s.fail(err)
	}
	r.gather()
}

// gather releases calls to their waiters once each host has called or failed. It is
// called with the lock held.
func (r *Rendezvous) gather() {
	if r.gathered {
		return
	}
	for _, s := range r.seats {
		if s.caller == nil && s.failed == nil {
			return
		}
	}
	r.gathered = true
	for _, s := range r.seats {
		s.match()
	}
}

// FailMissing says the same of all hosts whose agents have not called yet, or, while not
// all are together, whose calls are not kept.
func (r *Rendezvous) FailMissing(why func(host string) *bootstrap.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for host, s := range r.seats {
		gone := !r.gathered && s.caller == nil // nobody can have wanted it
		if s.failed == nil && (gone || !s.called) {
			s.fail(why(host))
		}
	}
	r.gather()
}

// Failed returns the error that Fail gave a host, or nil.
func (r *Rendezvous) Failed(host string) *bootstrap.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.seats[host]; s != nil {
		return s.failed
	}
	return nil
}

// fail is called with the lock held, as are the others of seat and waiter.
func (s *seat) fail(err *bootstrap.Error) {
	s.failed = err
	if s.waiter != nil {
		s.waiter.tell(answer{err: err})
		s.waiter = nil
	}
}

// tell gives a waiter its answer.
func (w *waiter) tell(a answer) {
	if !w.over {
		w.over = true
		w.answer <- a
		return
	}
	if a.conn != nil {
		_ = a.conn.Close() // nobody has it
	}
}

var errSuperseded = errors.New("it was wanted by another parent")

// want waits for the call of a host and gives it an order. Of two waiters for the same
// host the later one gets it: the other has been given up.
func (r *Rendezvous) want(ctx context.Context, host string, o order) (net.Conn, error) {
	w := &waiter{order: o, answer: make(chan answer, 1)}
	r.mu.Lock()
	s := r.seats[host]
	if s == nil {
		r.mu.Unlock()
		return nil, fmt.Errorf("host %s is not expected to call", host)
	}
	if s.waiter != nil {
		s.waiter.tell(answer{err: errSuperseded})
	}
	s.waiter = w
	if r.gathered || s.caller == nil {
		s.match()
	}
	r.mu.Unlock()

	select {
	case a := <-w.answer:
		return a.conn, a.err
	case <-ctx.Done():
	case <-r.ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.waiter == w {
		s.waiter = nil
	}
	err := ctx.Err()
	if r.ctx.Err() != nil {
		err = net.ErrClosed
	}
	w.tell(answer{err: err})
	a := <-w.answer // perhaps another that came first
	return a.conn, a.err
}

// match brings who waits and who called together.
func (s *seat) match() {
	switch {
	case s.waiter == nil:
	case s.caller != nil:
		s.caller <- s.waiter
		s.caller, s.waiter = nil, nil
	case s.failed != nil:
		s.fail(s.failed)
	}
}

// park keeps a call. The error refuses it.
func (r *Rendezvous) park(host string) (*seat, chan *waiter, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seats[host]
	switch {
	case s == nil:
		return nil, nil, errors.New("that host is not expected to call")
	case s.failed != nil:
		return nil, nil, fmt.Errorf("that host was given up: %w", s.failed.Err)
	case s.caller != nil:
		return nil, nil, errors.New("an agent of that host waits already")
	}
	caller := make(chan *waiter, 1)
	s.called, s.caller = true, caller
	if r.gathered {
		s.match()
	}
	r.gather()
	return s, caller, nil
}

// leave forgets a call that was kept. If it was given to a waiter just now, that
// one waits on.
func (r *Rendezvous) leave(s *seat, caller chan *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.caller == caller {
		s.caller = nil
		return
	}
	select {
	case w := <-caller:
		s.again(w)
	default: // it was told before
	}
}

// again puts a waiter back whose caller was gone.
func (s *seat) again(w *waiter) {
	switch {
	case w.over:
	case s.waiter != nil:
		w.tell(answer{err: errSuperseded})
	default:
		s.waiter = w
		s.match()
	}
}
