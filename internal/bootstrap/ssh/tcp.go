package sshboot

import (
	"bufio"
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// readBuffer is enough for the version line, which x/crypto reads byte by
// byte; reads of this size or more go around the buffer.
const readBuffer = 512

// tcpConn is a TCP connection that acknowledges at once. sshd leaves Nagle's
// algorithm on for sessions without a terminal: its second small packet waits
// for the acknowledgement of the first, which we would delay by 40 ms.
type tcpConn struct {
	*net.TCPConn
	buf      *bufio.Reader
	raw      syscall.RawConn
	quickAck func(fd uintptr)
}

// dialTCP connects to address, with neither delay (TCP_NODELAY is Go's
// default) nor TCP keepalive: links have their own. The error is errUnanswered if
// nobody has answered within missAfter; 0 waits until ctx is done.
func dialTCP(ctx context.Context, network, address string, missAfter time.Duration) (*tcpConn, error) {
	d := net.Dialer{KeepAlive: -1}
	if missAfter > 0 {
		var s sockets
		d.Control = s.add
		dialing, stop := context.WithCancelCause(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { watch(dialing, missAfter, time.Now, s.unanswered, func() { stop(errUnanswered) }) })
		defer watching.Wait()
		defer stop(nil) // ends the watch
		ctx = dialing
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		if context.Cause(ctx) == errUnanswered {
			err = errUnanswered
		}
		return nil, err
	}
	c := &tcpConn{TCPConn: conn.(*net.TCPConn)}
	if c.raw, err = c.SyscallConn(); err != nil {
		conn.Close()
		return nil, err
	}
	c.quickAck = func(fd uintptr) {
		// It only saves time, so it may fail.
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	}
	c.buf = bufio.NewReaderSize(armedReader{c}, readBuffer)
	return c, nil
}

// Read reads through the buffer.
func (c *tcpConn) Read(p []byte) (int, error) { return c.buf.Read(p) }

// armedReader reads from the socket and asks again for quick acknowledgement,
// which the kernel takes back when it sees fit (tcp(7)).
type armedReader struct{ c *tcpConn }

func (a armedReader) Read(p []byte) (int, error) {
	n, err := a.c.TCPConn.Read(p)
	if err == nil {
		_ = a.c.raw.Control(a.c.quickAck)
	}
	return n, err
}
