package yamuxlink_test

import (
	"io"
	"sync"
)

// gatedConn is a connection whose writes pass, wait or vanish.
type gatedConn struct {
	io.ReadWriteCloser
	mu     sync.Mutex
	change sync.Cond
	state  gateState
}

type gateState int

const (
	open    gateState = iota
	shut              // writes wait until the gate is no longer shut
	swallow           // writes succeed and arrive nowhere
)

func newGate(conn io.ReadWriteCloser) *gatedConn {
	g := &gatedConn{ReadWriteCloser: conn}
	g.change.L = &g.mu
	return g
}

func (g *gatedConn) set(s gateState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = s
	g.change.Broadcast()
}

func (g *gatedConn) Write(p []byte) (int, error) {
	g.mu.Lock()
	for g.state == shut {
		g.change.Wait()
	}
	lost := g.state == swallow
	g.mu.Unlock()
	if lost {
		return len(p), nil
	}
	return g.ReadWriteCloser.Write(p)
}

// Close opens the gate, as closing unblocks any connection's writes.
func (g *gatedConn) Close() error {
	err := g.ReadWriteCloser.Close()
	g.set(open)
	return err
}
