package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// guests are the clients of a service, by their users. No user can keep others out.
type guests struct {
	most int

	mu sync.Mutex
	n  int
	by map[int]map[*guest]bool // by the user's number
}

type guest struct {
	uid  int
	conn net.Conn
	said time.Time // when it last said something, or came
}

func newGuests(most int) *guests { return &guests{most: most, by: map[int]map[*guest]bool{}} }

// room reports whether one more client of a user may come. If there are as many as may
// be, one of a user with more goes: the one that has been silent for longest.
func (g *guests) room(uid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n < g.most {
		return true
	}
	crowd := uid
	for u, all := range g.by {
		if len(all) > len(g.by[crowd]) {
			crowd = u
		}
	}
	if crowd == uid {
		return false
	}
	var out *guest
	for x := range g.by[crowd] {
		if out == nil || x.said.Before(out.said) {
			out = x
		}
	}
	g.remove(out)
	_ = out.conn.Close()
	return true
}

// enter counts a client in until leave.
func (g *guests) enter(uid int, conn net.Conn) *guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := &guest{uid, conn, time.Now()}
	if g.by[uid] == nil {
		g.by[uid] = map[*guest]bool{}
	}
	g.by[uid][x] = true
	g.n++
	return x
}

func (g *guests) leave(x *guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(x)
}

// remove is called with the lock held.
func (g *guests) remove(x *guest) {
	if g.by[x.uid][x] {
		delete(g.by[x.uid], x)
		g.n--
	}
	if len(g.by[x.uid]) == 0 {
		delete(g.by, x.uid)
	}
}

// hears notes that a client has said something.
func (g *guests) hears(x *guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x.said = time.Now()
}

// errFull answers a client that finds no place.
var errFull = fmt.Errorf("%d clients are served already", maxClients)

// callBatch is the number of clients taken at a time.
const callBatch = 64

// entrance is the listener that clients come in by.
type entrance interface {
	Addr() net.Addr
	close()
	// take waits for clients, and gives those with a place to serve. It is to be called
	// again after some time.
	take(g *guests, serve func(uid int, conn net.Conn)) (rest time.Duration, err error)
}

// private is an entrance for this user alone.
type private struct{ net.Listener }

func (p private) close() { _ = p.Close() }

func (p private) take(g *guests, serve func(int, net.Conn)) (time.Duration, error) {
	conn, err := p.Accept()
	if err != nil {
		return time.Second, err
	}
	if !g.room(os.Getuid()) {
		_ = conn.SetWriteDeadline(time.Now().Add(stuck))
		fmt.Fprintf(conn, "error: %v\n", errFull)
		_ = conn.Close()
		return 0, nil
	}
	serve(os.Getuid(), conn)
	return 0, nil
}

// public is an entrance for all users of this machine.
type public struct{ *unix.Listener }

func (p public) close() { p.Close() }

func (p public) take(g *guests, serve func(int, net.Conn)) (time.Duration, error) {
	calls, rest, err := p.Take(callBatch)
	for _, c := range calls {
		switch {
		case c.UID < 0 && err == nil: // it has gone again
			unix.Close(c.FD)
		case !g.room(c.UID):
			_, _ = unix.TrySend(c.FD, []byte("error: "+errFull.Error()+"\n")) // a new connection has room for it
			unix.Close(c.FD)
		default:
			if conn, err := c.Conn(); err == nil {
				serve(c.UID, conn)
			}
		}
	}
	if len(calls) > 0 {
		err = nil // their users are not known: they count as one user
	} else if err != nil {
		rest = max(rest, time.Second)
	}
	return rest, err
}

// accept serves clients until the context ends, and returns when the last is gone.
func (s *server) accept(ctx context.Context, in entrance) {
	var group sync.WaitGroup
	defer group.Wait()
	defer context.AfterFunc(ctx, in.close)()
	for ctx.Err() == nil {
		rest, err := in.take(s.guests, func(uid int, conn net.Conn) {
			x := s.guests.enter(uid, conn)
			group.Go(func() {
				defer s.guests.leave(x)
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				defer conn.Close()
				s.client(x)
			})
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, os.ErrClosed) { // out of descriptors, mostly
			fmt.Fprintf(s.said, "golaunch: topo: a client was not accepted: %v\n", err)
		}
		if rest > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(rest):
			}
		}
	}
}
