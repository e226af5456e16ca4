package rendezvous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/link/tlslink"
)

// Caller is an agent that calls.
type Caller struct {
	Secret   tlslink.Secret
	Launcher string // address to call first, and whenever there is no parent
	Host     string // on which it runs, as the launcher names it
	// Within is the time that it tries to reach its parent.
	Within time.Duration
	// Note is told why a parent could not be reached; then the launcher is called
	// again.
	Note func(line string)
}

const (
	pauseFirst   = 50 * time.Millisecond
	pauseLongest = time.Second
)

// refusedError is the refusal of an agent.
type refusedError struct{ by, reason string }

func (e *refusedError) Error() string { return fmt.Sprintf("refused by %s: %s", e.by, e.reason) }

// Link calls the launcher, and then the agents it names, until one of them takes this
// agent for its child. It waits for as long as the launcher keeps the call. The error
// is that the launcher can't be reached, has hung up, or refuses.
func (c *Caller) Link(ctx context.Context) (net.Conn, error) {
	for {
		conn, parent, err := c.launcher(ctx)
		if err != nil || conn != nil {
			return conn, err
		}
		if conn, err = c.parent(ctx, parent); err == nil {
			return conn, nil
		}
		c.Note(fmt.Sprintf("the parent at %s is not to be had: %v", parent, err))
	}
}

// launcher calls the launcher, again and again while it can't be reached and the
// time is not up. It returns a link or the address of a parent.
func (c *Caller) launcher(ctx context.Context) (conn net.Conn, parent string, err error) {
	begin, pause := time.Now(), pauseFirst
	for {
		conn, err := c.dial(ctx, c.Launcher)
		if err == nil {
			return c.ask(ctx, conn, true)
		}
		if errors.Is(err, syscall.ECONNREFUSED) { // it listened before this agent was started
			return nil, "", fmt.Errorf("the launcher takes no calls any more: %w", err)
		}
		if errors.Is(err, tlslink.ErrSecret) || !c.again(ctx, begin, &pause) {
			return nil, "", cmp.Or(ctx.Err(), err)
		}
	}
}

// again waits before another try, and reports false if the time is up.
func (c *Caller) again(ctx context.Context, begin time.Time, pause *time.Duration) bool {
	wait := time.Duration(rand.Int64N(int64(*pause)) + 1)
	if time.Since(begin)+wait > c.Within {
		return false
	}
	*pause = min(2**pause, pauseLongest)
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// parent calls a parent, which has to be there: it wanted this agent.
func (c *Caller) parent(ctx context.Context, addr string) (net.Conn, error) {
	begin, pause := time.Now(), pauseFirst
	conn, err := c.dial(ctx, addr)
	for errors.Is(err, tlslink.ErrDropped) && c.again(ctx, begin, &pause) { // a crowd calls
		conn, err = c.dial(ctx, addr)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Within)
	defer cancel()
	link, elsewhere, err := c.ask(ctx, conn, false)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it has not answered within %v", c.Within)
	case err == nil && link == nil:
		err = fmt.Errorf("it names %s instead", elsewhere)
	}
	return link, err
}

func (c *Caller) dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Within)
	defer cancel()
	return tlslink.Dial(ctx, addr, c.Secret)
}

// ask names the caller and waits for the order. If patient, the other end may keep the
// call for as long as it likes. The connection is closed unless it is the link.
func (c *Caller) ask(ctx context.Context, conn net.Conn, patient bool) (link net.Conn, parent string, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if !stop() && err == nil {
			link, err = nil, ctx.Err()
		}
		if link == nil {
			_ = conn.Close()
		}
	}()
	by := conn.RemoteAddr().String()
	keepAlive(conn, patient)
	if _, err := conn.Write(call(c.Host)); err != nil {
		return nil, "", fmt.Errorf("call to %s: %w", by, err)
	}
	o, err := readOrder(conn)
	if err != nil {
		return nil, "", fmt.Errorf("call to %s: no order came: %w", by, err)
	}
	switch o.verb {
	case doDial:
		return nil, o.text, nil
	case doEnd:
		return nil, "", &refusedError{by, o.text}
	}
	if _, err := conn.Write([]byte{present}); err != nil {
		return nil, "", fmt.Errorf("call to %s: %w", by, err)
	}
	keepAlive(conn, false)
	return conn, "", nil
}
