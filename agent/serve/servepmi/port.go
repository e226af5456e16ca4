package servepmi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/golaunch/golaunch/agent/serve"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
)

// callTimeout is how long a connection to PMI_PORT may take to say whose it
// is, before it is closed.
const callTimeout = 10 * time.Second

// pmiPort is the listener on the loopback interface where ranks connect that
// are not handed a descriptor (--pmi-port). It takes connections of this user
// only, one for each local rank, and closes when all are in.
type pmiPort struct {
	listener net.Listener
	server   *OnPort
	most     int // connections that may not yet have said whose they are

	// The event loop's.
	waiting  int // local ranks that have not called
	refusals serve.Refusals

	mu      sync.Mutex
	callers map[net.Conn]bool // that have not said whose they are; nil after close
}

// openPMIPort listens for n ranks.
func openPMIPort(n int, s *OnPort) (*pmiPort, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for ranks: %w", err)
	}
	p := &pmiPort{listener: l, server: s, most: n + serve.MoreCallers, waiting: n, callers: map[net.Conn]bool{}}
	go p.accept() // ends with close
	return p, nil
}

func (p *pmiPort) address() string { return p.listener.Addr().String() }

func (p *pmiPort) accept() {
	for {
		c, err := p.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, or the caller has gone again
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // nothing tells when there are descriptors again
			continue
		}
		uid, err := unix.PeerUID(c)
		switch {
		case err != nil:
			p.refuse(c, err)
		case uid != os.Getuid():
			p.refuse(c, fmt.Errorf("it is of user %d", uid))
		case !p.hold(c):
			p.refuse(c, fmt.Errorf("%d others have not yet said whose they are", p.most))
		default:
			go p.greet(c.(*net.TCPConn)) // ends with callTimeout at the latest
		}
	}
}

// refuse closes a connection and has that told.
func (p *pmiPort) refuse(c net.Conn, err error) {
	c.Close()
	p.server.w.Post(func() { p.server.refused(fmt.Errorf("a connection to PMI_PORT was refused: %w", err)) })
}

// hold counts a connection in until release, if there is room.
func (p *pmiPort) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.callers == nil || len(p.callers) >= p.most {
		return false
	}
	p.callers[c] = true
	return true
}

// release reports whether the port is still open.
func (p *pmiPort) release(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := p.callers != nil
	delete(p.callers, c)
	return open
}

// greet reads whose connection this is.
func (p *pmiPort) greet(c *net.TCPConn) {
	caller, err := identify(c)
	if !p.release(c) {
		c.Close()
		return
	}
	if err != nil {
		_, _ = c.Write([]byte(pmi.RefuseInitack)) // who cannot read it is refused all the same
		p.refuse(c, err)
		return
	}
	fd, err := unix.Detach(c)
	if err != nil {
		p.refuse(c, err)
		return
	}
	p.server.w.Post(func() { p.server.called(caller, fd) })
}

// identify reads until a connection has said whose it is.
func identify(c net.Conn) (*pmi.Caller, error) {
	if err := c.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return nil, err
	}
	caller := new(pmi.Caller)
	buf := make([]byte, 4<<10)
	for {
		n, err := c.Read(buf)
		answer, known, cerr := caller.Receive(buf[:n])
		switch {
		case cerr != nil:
			return nil, cerr
		case known:
			return caller, nil
		case err != nil:
			return nil, fmt.Errorf("it did not say whose it is: %w", err)
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return nil, err
		}
	}
}

// close ends listening, and what has not yet said whose it is.
func (p *pmiPort) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.callers {
		c.Close()
	}
	p.callers = nil
}

// OnPort is the PMI server of ranks that connect to a port of the loopback
// interface.
type OnPort struct {
	*Server
	port *pmiPort // nil until Open
	over bool
}

// Open listens for the local ranks.
func (s *OnPort) Open(ready func(error)) {
	var err error
	s.port, err = openPMIPort(len(s.w.Ranks), s)
	ready(err)
}

// Env says where that is, and which connection is whose.
func (s *OnPort) Env(r *serve.Rank) []string {
	if r != nil {
		return []string{"PMI_ID=" + strconv.Itoa(int(r.Number))}
	}
	return []string{"PMI_PORT=" + s.port.address()}
}

// Files are the ranks' connections, the listener, and connections that have not yet
// said whose they are.
func (s *OnPort) Files() (perRank, more int) { return 2, serve.MoreCallers + 1 }

// Shut ends listening.
func (s *OnPort) Shut() {
	if s.port != nil {
		s.port.close()
	}
}

// Close ends everything.
func (s *OnPort) Close() {
	s.Shut()
	s.Server.Close()
	s.over = true
}

// called gives a rank its connection.
func (s *OnPort) called(caller *pmi.Caller, fd int) {
	if s.over {
		unix.Close(fd)
		return
	}
	if err := s.pmi.Attach(caller, &s.out); err != nil {
		_, _ = unix.TrySend(fd, []byte(pmi.RefuseInitack))
		unix.Close(fd)
		s.refused(fmt.Errorf("a connection to PMI_PORT was refused: %w", err))
		return
	}
	if s.port.waiting--; s.port.waiting == 0 {
		s.port.close()
	}
	if err := s.attach(s.conns[caller.Rank].rank, fd); err != nil {
		s.w.FailNode("start", err)
	}
	s.Settle()
}

// refused tells the user why a connection was refused.
func (s *OnPort) refused(err error) {
	s.w.Note(s.port.refusals.Level(), "%v", err)
}
