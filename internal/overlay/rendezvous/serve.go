package rendezvous

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"
)

// run takes connections whose peers know the secret.
func (r *Rendezvous) run() {
	for {
		conn, err := r.listener.Accept(r.ctx)
		if err != nil {
			return
		}
		r.tasks.Go(func() { r.serve(conn) }) // ends with the call, or when r is closed
	}
}

// serve handles one call, from its first message until somebody has it.
func (r *Rendezvous) serve(conn net.Conn) {
	stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(callTime)) // of a TCP connection
	host, err := readCall(conn)
	if err != nil {
		r.log(fmt.Sprintf("refused an agent at %v: %v", conn.RemoteAddr(), err))
		_ = conn.Close()
		return
	}
	s, caller, err := r.park(host)
	if err != nil {
		r.log(fmt.Sprintf("refused an agent at %v that calls itself that of host %.60q: %v", conn.RemoteAddr(), host, err))
		_, _ = conn.Write(order{doEnd, err.Error()}.encode()) // a refused caller may be gone
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	keepAlive(conn, true)
	said := make(chan error, 1)
	go func() { // ends with the connection, or with the answer to an order
		var b [1]byte
		_, err := io.ReadFull(conn, b[:])
		if err == nil && b[0] != present {
			err = fmt.Errorf("answer %q is not known", b[0])
		}
		said <- err
	}()
	select {
	case w := <-caller:
		r.tell(s, w, conn, said, stop)
	case <-said: //nolint:errcheck // it hung up or broke the rules, or r is closed: all the same
		_ = conn.Close()
		r.leave(s, caller)
	}
}

// tell gives an agent its order, and a waiter the agent. An agent that is gone by
// now will call again, or nobody will. stop keeps the connection when r is closed.
func (r *Rendezvous) tell(s *seat, w *waiter, conn net.Conn, said <-chan error, stop func() bool) {
	_ = conn.SetDeadline(time.Now().Add(callTime))
	_, err := conn.Write(w.order.encode())
	link := w.order.verb == doLink
	if link && err == nil {
		if err = <-said; err == nil && !stop() {
			err = net.ErrClosed
		}
	}
	if err != nil || !link {
		_ = conn.Close()
		conn = nil
	} else {
		_ = conn.SetDeadline(time.Time{})
		keepAlive(conn, false) // the link has its own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		s.again(w)
		return
	}
	w.tell(answer{conn: conn})
}

// keepAlive has the kernel find out whether the other end of a call that is kept
// is there still.
func keepAlive(conn net.Conn, on bool) {
	if t, ok := conn.(*tls.Conn); ok {
		if tcp, ok := t.NetConn().(*net.TCPConn); ok {
			// A system that does not know these times has others.
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: on, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3})
		}
	}
}
