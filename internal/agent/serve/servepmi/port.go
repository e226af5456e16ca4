package servepmi

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
)

// callTimeout is how long a connection to PMI_PORT may take to say whose it
// is, before it is closed.
const callTimeout = 10 * time.Second

// OnPort is the PMI server of ranks that connect to a port of the loopback
// interface, as they are not handed a descriptor (--pmi-port). It takes connections of
// this user only, one for each local rank, and stops listening when all are in.
type OnPort struct {
	*Server
	door    *serve.Door // nil until Open
	waiting int         // local ranks that have not called
	callers map[*caller]bool
}

// caller is a connection to the port, and once it has said whose it is a rank's.
type caller struct {
	s    *OnPort
	fd   int
	said pmi.Caller
	late *time.Timer // until it is closed if it has not said whose it is
	rank *conn       // nil until then
}

// Open listens for the local ranks.
func (s *OnPort) Open(ready func(error)) {
	var err error
	s.waiting, s.callers = len(s.w.Ranks), map[*caller]bool{}
	s.door, err = serve.OpenDoor(s.w, "PMI_PORT", s.enter)
	ready(err)
}

// Env says where that is, and which connection is whose.
func (s *OnPort) Env(r *serve.Rank) []string {
	if r != nil {
		return []string{"PMI_ID=" + strconv.Itoa(int(r.Number))}
	}
	return []string{"PMI_PORT=" + s.door.At.String()}
}

// Files are the ranks' connections, the sockets that they were started with, the
// listener, and connections that have not yet said whose they are.
func (s *OnPort) Files() (perRank, more int) { return 3, serve.DoorFiles }

// Socket keeps the socket that the rank was started with, over which nothing is said: it
// tells the warden when the rank ended.
func (s *OnPort) Socket(r *serve.Rank, fd int) (taken bool, err error) {
	s.conns[r.Number].kept = fd
	return true, nil
}

// Shut ends listening, and what has not yet said whose it is.
func (s *OnPort) Shut() {
	s.door.Close()
	for c := range s.callers {
		c.end()
	}
}

// Close ends everything.
func (s *OnPort) Close() {
	s.Shut()
	s.Server.Close()
}

// enter takes a connection of this user's, or says why not.
func (s *OnPort) enter(fd int, sure bool) error {
	most := len(s.w.Ranks) + serve.MoreCallers
	if !sure {
		return errors.New("it was closed before it could be seen whose it is")
	}
	if len(s.callers) >= most {
		return fmt.Errorf("%d others have not yet said whose they are", most)
	}
	c := &caller{s: s, fd: fd}
	if err := s.w.Watch(fd, c); err != nil {
		return err
	}
	s.callers[c] = true
	c.late = time.AfterFunc(callTimeout, func() {
		s.w.Post(func() {
			if s.callers[c] {
				c.refuse(fmt.Errorf("it did not say whose it is within %v", callTimeout))
			}
		})
	})
	return nil
}

// Ready serves the connection.
func (c *caller) Ready(on unix.Ready, buf []byte) {
	if c.rank != nil {
		c.rank.Ready(on, buf)
	} else if c.s.callers[c] {
		c.read(buf)
	}
}

// read reads whose connection it is.
func (c *caller) read(buf []byte) {
	n, err := unix.TryRecv(c.fd, buf)
	if err == unix.EAGAIN {
		return
	}
	if err != nil {
		c.refuse(fmt.Errorf("it did not say whose it is: %w", err))
		return
	}
	answer, known, err := c.said.Receive(buf[:n])
	switch {
	case err != nil:
		c.refuse(err)
	case known:
		c.s.called(c)
	default:
		_, _ = unix.TrySend(c.fd, []byte(answer)) // of few bytes; reading shows who has gone
	}
}

// refuse tells the caller and the user.
func (c *caller) refuse(why error) {
	_, _ = unix.TrySend(c.fd, []byte(pmi.RefuseInitack)) // who cannot read it is refused all the same
	c.end()
	c.s.door.Refuse(why)
}

// end closes a connection of which is not known whose it is.
func (c *caller) end() {
	c.late.Stop()
	delete(c.s.callers, c)
	c.s.w.CloseFD(c.fd)
}

// called gives a rank its connection.
func (s *OnPort) called(c *caller) {
	if err := s.pmi.Attach(&c.said, &s.out); err != nil {
		c.refuse(err)
		return
	}
	c.late.Stop()
	delete(s.callers, c)
	c.rank = s.conns[c.said.Rank]
	c.rank.fd = c.fd
	if s.waiting--; s.waiting == 0 {
		s.Shut()
	}
	s.Settle()
}
