package sshboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

const (
	// closeGrace is the time that Close may take to say goodbye before it drops the
	// connection.
	closeGrace = 500 * time.Millisecond
	// closeWait bounds Close.
	closeWait = time.Second
	// stderrWait bounds the wait for the rest of standard error once standard output
	// has ended.
	stderrWait = 200 * time.Millisecond
	// aliveWait is the time that sshd, which does that by itself, may take to open a
	// second session: a host that is not there any more is not waited for.
	aliveWait = 1500 * time.Millisecond
)

// pipe is a command in a session: the connection of TCP or a proxy, the SSH connections over
// it (jump hosts first, the host last) and the session's channel.
type pipe struct {
	base transport
	hops []*client
	peer string

	ch     ssh.Channel
	pace   pacer // of Write
	tail   bootstrap.Tail
	ended  atomic.Bool // Read has seen the end of output
	stderr chan struct{}
	exits  sync.WaitGroup // the goroutines of run
	once   sync.Once
}

var (
	_ bootstrap.Pipe      = (*pipe)(nil)
	_ bootstrap.Companion = (*pipe)(nil)
)

// run opens the session and has the command started.
func (p *pipe) run(command string) *bootstrap.Error {
	fail := func(err error, permanent bool, hint string) *bootstrap.Error {
		return &bootstrap.Error{Phase: bootstrap.Command, Err: err, Permanent: permanent, Hint: hint}
	}
	ch, requests, err := p.hops[len(p.hops)-1].conn.OpenChannel("session", nil)
	if err != nil {
		var open *ssh.OpenChannelError
		if errors.As(err, &open) {
			return fail(fmt.Errorf("sshd opens no session: %s", open.Message), open.Reason == ssh.Prohibited, "sshd's MaxSessions may be 0")
		}
		return fail(fmt.Errorf("connection lost before the session was open: %w", err), false, "")
	}
	p.ch = ch
	// Any request does: sshd refuses those it does not know, in their turn.
	p.pace = newPacer(func() { _, _ = ch.SendRequest("keepalive@openssh.com", true, nil) })
	p.stderr = make(chan struct{})
	p.exits.Go(func() { ssh.DiscardRequests(requests) }) // exit-status and such; ends with the channel
	p.exits.Go(func() {                                  // ends with the channel
		defer close(p.stderr)
		_, _ = io.Copy(&p.tail, ch.Stderr())
	})
	ok, err := ch.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{command}))
	switch {
	case err != nil:
		return fail(fmt.Errorf("connection lost before the command was accepted: %w", err), false, "")
	case !ok:
		return fail(errors.New("sshd refused to run a command"), true, "see sshd's log on the host; the account may be restricted to a terminal or to file transfer")
	}
	return nil
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.ch.Read(b)
	if errors.Is(err, io.EOF) {
		p.ended.Store(true)
	}
	return n, err
}

// Write writes to the command's standard input, no faster than sshd passes it
// on; io.ErrClosedPipe once the command or the connection has ended. It is for
// one goroutine at a time.
func (p *pipe) Write(b []byte) (n int, err error) {
	for len(b) > burstMin && err == nil {
		var part int
		part, err = p.write(b[:burstMin])
		n, b = n+part, b[part:]
	}
	if err == nil {
		var part int
		part, err = p.write(b)
		n += part
	}
	return n, err
}

func (p *pipe) write(b []byte) (int, error) {
	n, err := p.ch.Write(b)
	p.pace.wrote(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrClosedPipe
	}
	return n, err
}

// Also runs another command in a session of its own.
func (p *pipe) Also(ctx context.Context, argv []string) error {
	command, err := bootstrap.CommandLine(argv)
	if err != nil {
		return err
	}
	alive, cancel := context.WithTimeout(ctx, aliveWait)
	defer cancel()
	ch, requests, err := p.openSecond(alive)
	if err != nil {
		return fmt.Errorf("open a second session: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.base.Close() }) // ends every wait below
	defer stop()
	p.exits.Go(func() { ssh.DiscardRequests(requests) })
	p.exits.Go(func() { _, _ = io.Copy(io.Discard, ch.Stderr()) })
	defer ch.Close()
	if ok, err := ch.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{command})); err != nil || !ok {
		return fmt.Errorf("run a second command: refused, or connection lost: %w", errors.Join(err, ctx.Err()))
	}
	_, err = io.Copy(io.Discard, ch)
	return errors.Join(err, ctx.Err())
}

// openSecond opens a session on a connection that may just have died: a channel
// that is opened in that moment is never answered, nor told of the end.
func (p *pipe) openSecond(ctx context.Context) (ssh.Channel, <-chan *ssh.Request, error) {
	type session struct {
		ch       ssh.Channel
		requests <-chan *ssh.Request
		err      error
	}
	last := p.hops[len(p.hops)-1]
	opened := make(chan session, 1)
	go func() { // ends with the answer, else with the process
		ch, requests, err := last.conn.OpenChannel("session", nil)
		opened <- session{ch, requests, err}
	}()
	select {
	case s := <-opened:
		return s.ch, s.requests, s.err
	case <-last.done:
		return nil, nil, net.ErrClosed
	case <-ctx.Done():
		_ = p.base.Close() // late answers are not heard
		return nil, nil, ctx.Err()
	}
}

// Close ends session and connections. The server hears of it in order if it
// takes our last packets within half a second.
func (p *pipe) Close() error {
	p.once.Do(func() {
		_ = p.base.SetWriteDeadline(time.Now().Add(closeGrace))
		_ = p.ch.Close()
		p.drop()
		done := make(chan struct{})
		go func() { // ends when the goroutines of the closed connections have
			p.exits.Wait()
			for _, c := range p.hops {
				<-c.done
			}
			close(done)
		}()
		wait := time.NewTimer(closeWait)
		defer wait.Stop()
		select {
		case <-done:
		case <-wait.C:
		}
	})
	return nil
}

// drop closes all connections, the last hop's first.
func (p *pipe) drop() {
	for i := len(p.hops) - 1; i >= 0; i-- {
		_ = p.hops[i].conn.Close()
	}
	_ = p.base.Close()
}

// abandon drops the parts that were set up and waits for their goroutines, which end at
// once.
func (p *pipe) abandon() {
	_ = p.base.Close()
	p.drop()
	p.exits.Wait()
	for _, c := range p.hops {
		<-c.done
	}
}

func (p *pipe) Diagnostics() string {
	if p.ended.Load() {
		wait := time.NewTimer(stderrWait)
		defer wait.Stop()
		select {
		case <-p.stderr:
		case <-wait.C:
		}
	}
	return p.tail.String()
}

func (p *pipe) PeerAddr() string { return p.peer }

// peerAddr returns the host's address, unless only a jump host knows it.
func peerAddr(base transport, route []*Target) string {
	if a, ok := base.RemoteAddr().(*net.TCPAddr); ok && len(route) == 1 {
		return a.AddrPort().Addr().Unmap().String()
	}
	return ""
}
