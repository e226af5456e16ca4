package linktest

import (
	"fmt"
	"io"
	"sync"
)

// ConnFaults says at which written byte a FaultConn breaks. Bytes are counted
// from 1; 0 means never.
type ConnFaults struct {
	CutAt    int // in place of this byte the connection is closed
	GarbleAt int // this byte arrives inverted
	StallAt  int // this byte and all that follow wait until Close
}

// FaultConn is a byte pipe that breaks the bytes written to it.
type FaultConn struct {
	conn   io.ReadWriteCloser
	faults ConnFaults

	mu      sync.Mutex // held by one Write at a time
	written int

	once   sync.Once
	closed chan struct{}
}

// NewFaultConn returns conn broken as f says; it owns conn.
func NewFaultConn(conn io.ReadWriteCloser, f ConnFaults) *FaultConn {
	return &FaultConn{conn: conn, faults: f, closed: make(chan struct{})}
}

// Read implements io.Reader.
func (c *FaultConn) Read(p []byte) (int, error) { return c.conn.Read(p) }

// Write implements io.Writer.
func (c *FaultConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, ok := c.index(c.faults.GarbleAt, p); ok {
		garbled := append([]byte(nil), p...)
		garbled[i] = ^garbled[i]
		p = garbled
	}
	if i, ok := c.index(c.faults.CutAt, p); ok {
		n, _ := c.write(p[:i])
		_ = c.Close()
		return n, fmt.Errorf("%w: cut at byte %d", ErrInjected, c.faults.CutAt)
	}
	if at := c.faults.StallAt; at > 0 && c.written+len(p) >= at {
		n, err := c.write(p[:max(0, at-1-c.written)])
		if err != nil {
			return n, err
		}
		<-c.closed
		return n, fmt.Errorf("%w: stalled at byte %d", ErrInjected, at)
	}
	return c.write(p)
}

// index finds the at-th of all written bytes in p.
func (c *FaultConn) index(at int, p []byte) (int, bool) {
	i := at - 1 - c.written
	return i, at > 0 && i >= 0 && i < len(p)
}

func (c *FaultConn) write(p []byte) (int, error) {
	n, err := c.conn.Write(p)
	c.written += n
	return n, err
}

// Written returns how many bytes were passed on.
func (c *FaultConn) Written() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written
}

// Close closes the connection below and releases stalled writes.
func (c *FaultConn) Close() error {
	err := c.conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}
