package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/link/tlslink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits for what comes at once on an idle machine.
const patience = 2 * time.Minute

// place is a Rendezvous with what it has logged.
type place struct {
	*Rendezvous
	secret tlslink.Secret
	mu     sync.Mutex
	log    []string
}

func listen(t *testing.T, secret tlslink.Secret, hosts ...string) *place {
	t.Helper()
	return listenFor(t, 0, secret, hosts...)
}

// listenFor gives those who call only so long to prove themselves.
func listenFor(t *testing.T, handshake time.Duration, secret tlslink.Secret, hosts ...string) *place {
	t.Helper()
	p := &place{secret: secret}
	var err error
	p.Rendezvous, err = Listen(t.Context(), Config{
		Secret: secret, Addr: "127.0.0.1:0", Hosts: hosts, HandshakeTimeout: handshake,
		Log: func(line string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.log = append(p.log, line)
		},
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// logged waits for a line of the log that has some words.
func (p *place) logged(t *testing.T, words ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.log {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return true
			}
		}
		return false
	}, patience, time.Millisecond, "%q in the log", words)
}

// called is the outcome of an agent's call.
type called struct {
	conn net.Conn
	err  error
}

// call has an agent of host call p.
func (p *place) call(t *testing.T, host string) <-chan called {
	done := make(chan called, 1)
	c := Caller{Secret: p.secret, Launcher: p.Addr(), Host: host, Within: patience, Note: func(string) {}}
	go func() { // ends with the call: at the latest when p is closed
		conn, err := c.Link(t.Context())
		done <- called{conn, err}
	}()
	return done
}

// waits waits until a call of host is kept.
func (p *place) waits(t *testing.T, host string) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.Rendezvous.mu.Lock()
		defer p.Rendezvous.mu.Unlock()
		return p.seats[host].caller != nil
	}, patience, time.Millisecond)
}

// empty waits until no call of host is kept.
func (p *place) empty(t *testing.T, host string) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.Rendezvous.mu.Lock()
		defer p.Rendezvous.mu.Unlock()
		return p.seats[host].caller == nil
	}, patience, time.Millisecond)
}

// linked checks that two ends are one connection, and closes it.
func linked(t *testing.T, near, far net.Conn) {
	t.Helper()
	for _, c := range [][2]net.Conn{{near, far}, {far, near}} {
		_, err := c[0].Write([]byte("word"))
		require.NoError(t, err)
		got := make([]byte, 4)
		_, err = io.ReadFull(c[1], got)
		require.NoError(t, err)
		require.Equal(t, "word", string(got))
	}
	_ = near.Close()
	_ = far.Close()
}

// An agent is linked whether it calls before or after somebody wants it.
func TestLink(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "early", "late")
	early := p.call(t, "early")
	p.waits(t, "early")
	near, err := p.Link(t.Context(), "early")
	require.NoError(t, err)
	linked(t, near, (<-early).conn)

	wanted := make(chan called, 1)
	go func() {
		conn, err := p.Link(t.Context(), "late")
		wanted <- called{conn, err}
	}()
	late := p.call(t, "late")
	w := <-wanted
	require.NoError(t, w.err)
	p.Close() // links live on
	linked(t, w.conn, (<-late).conn)
}

// An agent is sent from one to the next; where that is not there it calls the
// launcher again, and is sent elsewhere.
func TestSend(t *testing.T) {
	secret := tlslink.NewSecret()
	launcher, parent, gone := listen(t, secret, "n1"), listen(t, secret, "n1"), listen(t, secret, "n1")
	gone.Close()
	other := listen(t, tlslink.NewSecret(), "n1") // of another job
	agent := launcher.call(t, "n1")
	for _, to := range []*place{gone, other} {
		require.NoError(t, launcher.Send(t.Context(), "n1", to.Addr()))
		launcher.waits(t, "n1")
	}
	require.NoError(t, launcher.Send(t.Context(), "n1", parent.Addr()))
	near, err := parent.Link(t.Context(), "n1")
	require.NoError(t, err)
	linked(t, near, (<-agent).conn)
	other.logged(t, "does not know this job's secret")
}

// Whoever does not know the secret, or calls for a host that is not expected, is
// refused and named; so is a second call for one that waits, and one that comes too
// late.
func TestStrangers(t *testing.T) {
	// Honest callers have this time, too, on a busy machine as well.
	p := listenFor(t, 3*time.Second, tlslink.NewSecret(), "n1", "n2", "n3")
	_, err := tlslink.Dial(t.Context(), p.Addr(), tlslink.NewSecret())
	require.ErrorContains(t, err, "refused", "by a wrong secret")
	p.logged(t, "refused 127.0.0.1", "does not know this job's secret")

	require.ErrorContains(t, (<-p.call(t, "n9")).err, "that host is not expected to call")
	p.logged(t, `host "n9"`, "not expected")
	require.ErrorContains(t, (<-p.call(t, "")).err, "no order came")
	p.logged(t, "does not say on which host")

	first := p.call(t, "n1")
	p.waits(t, "n1")
	require.ErrorContains(t, (<-p.call(t, "n1")).err, "waits already")
	p.logged(t, `host "n1"`, "waits already")

	p.FailMissing(func(host string) *bootstrap.Error { return &bootstrap.Error{Host: host, Err: errors.New("too slow")} })
	require.ErrorContains(t, (<-p.call(t, "n2")).err, "that host was given up: too slow")

	// All that goes on while strangers hold connections open, silent or talking.
	for _, says := range []string{"", "GET / HTTP/1.0\r\n\r\n", strings.Repeat("\x16\x03\x01", 1000)} {
		c, err := net.Dial("tcp", p.Addr())
		require.NoError(t, err)
		_, _ = io.WriteString(c, says) // it may be refused before all of it is written
		defer c.Close()
	}
	near, err := p.Link(t.Context(), "n1")
	require.NoError(t, err)
	linked(t, near, (<-first).conn)
	p.logged(t, "refused 127.0.0.1", "too long to prove itself")
	p.logged(t, "refused 127.0.0.1", "first record does not look like a TLS handshake")
}

// One who knows the secret and then breaks the rules harms nobody but itself.
func TestCallersThatMisbehave(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "n1")
	dial := func(says string) net.Conn {
		c, err := tlslink.Dial(t.Context(), p.Addr(), p.secret)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, says)
		require.NoError(t, err)
		return c
	}
	dial("\xff\xff")
	p.logged(t, "a text of 65535 bytes")
	hasty := dial(string(call("n1")) + "l") // it answers before it was asked
	_, err := io.ReadAll(hasty)
	require.NoError(t, err)
	p.empty(t, "n1")

	wrong := dial(string(call("n1")))
	p.waits(t, "n1")
	wanted := make(chan called, 1)
	go func() {
		conn, err := p.Link(t.Context(), "n1")
		wanted <- called{conn, err}
	}()
	o, err := readOrder(wrong)
	require.NoError(t, err)
	require.Equal(t, doLink, o.verb)
	_, err = wrong.Write([]byte("?"))
	require.NoError(t, err)
	agent := p.call(t, "n1")
	w := <-wanted
	require.NoError(t, w.err)
	linked(t, w.conn, (<-agent).conn)
}

// A call that ends while it is kept makes place for the next.
func TestAgentsThatGo(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "n1")
	ctx, cancel := context.WithCancel(t.Context())
	c := Caller{Secret: p.secret, Launcher: p.Addr(), Host: "n1", Within: patience}
	done := make(chan error, 1)
	go func() {
		_, err := c.Link(ctx)
		done <- err
	}()
	p.waits(t, "n1")
	cancel()
	require.Error(t, <-done)
	p.empty(t, "n1")
	agent := p.call(t, "n1")
	near, err := p.Link(t.Context(), "n1")
	require.NoError(t, err)
	linked(t, near, (<-agent).conn)
}

// Waiting ends with the context, with the place, with the news that nobody will
// call, and when somebody else wants the same host.
func TestWaitingEnds(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "n1", "n2")
	ctx, cancel := context.WithCancel(t.Context())
	want := func(ctx context.Context, host string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := p.Link(ctx, host)
			done <- err
		}()
		require.Eventually(t, func() bool {
			p.Rendezvous.mu.Lock()
			defer p.Rendezvous.mu.Unlock()
			return p.seats[host].waiter != nil
		}, patience, time.Millisecond)
		return done
	}
	first := want(ctx, "n1")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)

	second := want(t.Context(), "n1")
	third := make(chan error, 1)
	go func() { third <- p.Send(t.Context(), "n1", "127.0.0.1:1") }()
	require.ErrorIs(t, <-second, errSuperseded)
	dead := &bootstrap.Error{Host: "n1", Phase: bootstrap.Command, Err: errors.New("no room")}
	p.Fail("n1", dead)
	p.Fail("n1", &bootstrap.Error{Err: errors.New("later news")})
	p.Fail("elsewhere", dead)
	require.ErrorIs(t, <-third, dead)
	require.Equal(t, dead, p.Failed("n1"))
	require.Nil(t, p.Failed("n2"))
	require.Nil(t, p.Failed("elsewhere"))
	_, err := p.Link(t.Context(), "n1")
	require.ErrorIs(t, err, dead)
	_, err = p.Link(t.Context(), "elsewhere")
	require.EqualError(t, err, "host elsewhere is not expected to call")

	last := want(t.Context(), "n2")
	p.Close()
	require.ErrorIs(t, <-last, net.ErrClosed)
	_, err = p.Link(t.Context(), "n2")
	require.ErrorIs(t, err, net.ErrClosed)
}

// When a place is closed the agents that wait there end, and so do those that call
// it later.
func TestCloseEndsAgents(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "n1", "n2")
	agent := p.call(t, "n1")
	p.waits(t, "n1")
	p.Close()
	require.ErrorContains(t, (<-agent).err, "no order came")
	require.ErrorContains(t, (<-p.call(t, "n2")).err, "the launcher takes no calls any more")
}

// Many calls at once, each wanted once.
func TestMany(t *testing.T) {
	var hosts []string
	for i := range 200 {
		hosts = append(hosts, fmt.Sprintf("n%d", i))
	}
	p := listen(t, tlslink.NewSecret(), hosts...)
	piper := &Piper{Here: p.Rendezvous, Within: patience}
	var tasks sync.WaitGroup
	for i, h := range hosts {
		agent := p.call(t, h)
		tasks.Go(func() {
			pipe, err := piper.Start(t.Context(), bootstrap.Host{Index: i, Name: h}, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer pipe.Close()
			if a := <-agent; a.err != nil || pipe.PeerAddr() != "127.0.0.1" || a.conn.Close() != nil {
				t.Error(h, a.err, pipe.PeerAddr())
			}
		})
	}
	tasks.Wait()
}

// A Piper's errors about hosts that do not come.
func TestPiperErrors(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "n1", "n2")
	host := bootstrap.Host{Name: "n1"}
	start := func(piper *Piper) *bootstrap.Error {
		_, err := piper.Start(t.Context(), host, []string{"agent"})
		var be *bootstrap.Error
		require.ErrorAs(t, err, &be)
		require.True(t, be.Permanent)
		return be
	}
	piper := &Piper{Here: p.Rendezvous, Within: time.Millisecond}
	require.EqualError(t, start(piper), "host n1: connect: its agent has not called within 1ms")
	piper.Summon = func(_ context.Context, h bootstrap.Host, addr string) error {
		require.Equal(t, host, h)
		require.Equal(t, p.Addr(), addr)
		return nil
	}
	be := start(piper)
	require.EqualError(t, be, "host n1: connect: its agent was told to call "+p.Addr()+", and has not within 1ms")
	require.Contains(t, be.Hint, "connect to each other")
	piper.Summon = func(context.Context, bootstrap.Host, string) error { return errors.New("no room") }
	require.EqualError(t, start(piper), "host n1: connect: no room")
	dead := &bootstrap.Error{Host: "n1", Phase: bootstrap.Command, Err: errors.New("exit status 1"), Permanent: true}
	p.Fail("n1", dead)
	require.Equal(t, dead, start(&Piper{Here: p.Rendezvous, Within: patience}))
}

// Where a host does not call while a crowd does, it is told from where that came.
func TestFloodsAreNamed(t *testing.T) {
	p := listen(t, tlslink.NewSecret(), "n1")
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.9")}}
	for range 2*Pending(1) + 1 {
		c, err := d.Dial("tcp", p.Addr())
		require.NoError(t, err)
		defer c.Close()
	}
	require.Eventually(t, func() bool { return p.Flood() != "" }, patience, time.Millisecond)
	_, err := (&Piper{Here: p.Rendezvous, Within: time.Millisecond}).Start(t.Context(), bootstrap.Host{Name: "n1"}, nil)
	require.ErrorContains(t, err, "host n1: connect: its agent has not called within 1ms, while ")
	require.ErrorContains(t, err, " connections from 127.0.0.9 did not prove that they know the job's secret")
	p.mu.Lock()
	defer p.mu.Unlock()
	require.LessOrEqual(t, len(p.log), maxRefusals+1)
}
